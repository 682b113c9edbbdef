//! Parts that a description defines itself: written out, or as another part with changes.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use base::units::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use toml::{Table, Value};

use super::{Bus, Electrical, ErrorTable, Features, Geometry, Part, Timing};

/// The key that names the part from which values are inherited.
const LIKE: &str = "like";

/// Values of a part that keys of the array can give instead, each with a value that stands in until the array's key is
/// read.
const OF_ARRAY: [(&str, &str, &str); 5] = [
    ("geometry", "pages_per_block", "1"),
    ("geometry", "blocks_per_plane", "1"),
    ("geometry", "planes_per_die", "1"),
    ("geometry", "dies_per_chip", "1"),
    ("bus", "rate", "\"1MB/s\""),
];

/// A NAND part that a description writes out, or describes by its difference from a preset: with `like`, every missing
/// value is taken from the named part.
#[derive(Clone)]
pub struct CustomPart {
    part: Part,
    like: Option<String>,
    changed: Vec<String>,
    missing: Vec<String>,
    inherits: bool,
    /// True if a program made it from a whole part: keys of the array may then replace its values.
    is_sheet: bool,
}

impl CustomPart {
    /// The name of the preset from which missing values are inherited; none if the part is written out.
    #[must_use]
    pub fn like(&self) -> Option<&str> {
        self.like.as_deref()
    }

    /// The keys to which the description gives a value, e.g. `timing.read`; empty if nothing is inherited.
    #[must_use]
    pub fn changed(&self) -> &[String] {
        &self.changed
    }

    /// The keys whose values are inherited; a whole table is listed by its name.
    #[must_use]
    pub fn inherited(&self) -> Vec<String> {
        if self.like.is_none() {
            return Vec::new();
        }
        let mut keys = Vec::new();
        for (key, value) in required() {
            let inside = |one: &String| one.strip_prefix(&*key).is_some_and(|rest| rest.starts_with('.'));
            match value {
                Value::Table(inner) if self.changed.iter().any(inside) => {
                    let names = inner.keys().map(|name| format!("{key}.{name}"));
                    keys.extend(names.filter(|name| !self.changed.contains(name)));
                }
                _ if !self.changed.contains(&key) && !["name", "source"].contains(&&*key) => keys.push(key),
                _ => {}
            }
        }
        keys
    }

    /// True if the description itself gives the value of this key, e.g. `bus.rate`.
    #[must_use]
    pub fn gives(&self, key: &str) -> bool {
        let listed = |keys: &[String]| keys.iter().any(|one| one == key);
        if self.like.is_some() { listed(&self.changed) } else { !self.is_sheet && !self.is_missing(key) }
    }

    /// True if the value of this key is neither given nor inherited, so that a key of the array has to give it.
    #[must_use]
    pub fn is_missing(&self, key: &str) -> bool {
        self.missing.iter().any(|one| one == key)
    }

    /// True if any value is inherited from the preset.
    #[must_use]
    pub const fn inherits(&self) -> bool {
        self.inherits
    }

    /// This part with the values of `part`; which keys were given stays the same.
    #[must_use]
    pub fn with(self, part: Part) -> Self {
        Self { part, missing: Vec::new(), ..self }
    }
}

/// Makes a part of a program, whose values hold unless keys of the array give others.
impl From<Part> for CustomPart {
    fn from(part: Part) -> Self {
        Self { part, like: None, changed: Vec::new(), missing: Vec::new(), inherits: false, is_sheet: true }
    }
}

impl Deref for CustomPart {
    type Target = Part;

    fn deref(&self) -> &Part {
        &self.part
    }
}

impl DerefMut for CustomPart {
    fn deref_mut(&mut self) -> &mut Part {
        &mut self.part
    }
}

/// Prints the values only: their origin is no property of a drive, and a written description does not have it.
impl fmt::Debug for CustomPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.part, f)
    }
}

/// Two parts are equal if their values are, whatever their origins.
impl PartialEq for CustomPart {
    fn eq(&self, other: &Self) -> bool {
        self.part == other.part
    }
}

/// Writes all values, so that a result does not depend on the presets of the program that reads it.
impl Serialize for CustomPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = Table::try_from(&self.part).map_err(ser::Error::custom)?;
        for key in &self.missing {
            let Some((table_of, key)) = key.split_once('.') else { continue };
            table.get_mut(table_of).and_then(Value::as_table_mut).and_then(|inner| inner.remove(key));
        }
        table.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CustomPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut given = Table::deserialize(deserializer)?;
        let like = match given.remove(LIKE) {
            None => None,
            Some(Value::String(name)) => Some(name),
            Some(other) => {
                return Err(de::Error::custom(format!("`{other}` is no name of a part: write like = \"NAME\"")));
            }
        };
        let changed = keys(&given);
        let own = given.clone();
        let mut missing = Vec::new();
        let table = match &like {
            Some(name) => inherited(name, given, &changed).map_err(de::Error::custom)?,
            None => {
                complete(&changed).map_err(de::Error::custom)?;
                with_stand_ins(given, &mut missing)
            }
        };
        let part = Part::deserialize(Value::Table(table)).map_err(|error| de::Error::custom(error.message()))?;
        let inherits = like.is_some() && !is_whole(own, &part);
        let changed = if like.is_some() { changed } else { Vec::new() };
        Ok(Self { part, like, changed, missing, inherits, is_sheet: false })
    }
}

/// The reason why a part is refused: the fault, a colon, and the remedy.
struct PartRefusal(String);

impl fmt::Display for PartRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The values of the preset, replaced by those that are given.
fn inherited(name: &str, given: Table, changed: &[String]) -> Result<Table, PartRefusal> {
    let Some(preset) = Part::preset(name) else {
        let known: Vec<&str> = Part::presets().map(|part| part.name.as_str()).collect();
        let meant = base::suggest::did_you_mean(name, known.iter().copied());
        return Err(PartRefusal(format!("no part is called `{name}`: {meant}use one of {}", known.join(", "))));
    };
    let mut all = Table::try_from(&preset).expect("a part has a form in TOML");
    if !given.contains_key("name") {
        all.insert("name".into(), format!("{name}, changed").into());
    }
    if !given.contains_key("source") {
        let source = format!("{}Changed in the description: {}.\n", preset.source, changed.join(", "));
        all.insert("source".into(), source.into());
    }
    for (key, value) in given {
        match (all.get_mut(&key), value) {
            (Some(Value::Table(inner)), Value::Table(new)) => inner.extend(new),
            (_, value) => drop(all.insert(key, value)),
        }
    }
    Ok(all)
}

/// True if the values that are given are all values of `part`.
fn is_whole(mut given: Table, part: &Part) -> bool {
    for (key, text) in [("name", &part.name), ("source", &part.source)] {
        given.entry(key).or_insert_with(|| text.clone().into());
    }
    Part::deserialize(Value::Table(given)).is_ok_and(|whole| whole == *part)
}

/// Fills missing values that the array can give with their stand-ins, and lists their keys in `missing`.
fn with_stand_ins(mut given: Table, missing: &mut Vec<String>) -> Table {
    for (table, key, stand_in) in OF_ARRAY {
        let Some(inner) = given.get_mut(table).and_then(Value::as_table_mut) else { continue };
        if !inner.contains_key(key) {
            let stand_in = format!("value = {stand_in}").parse::<Table>().expect("TOML");
            inner.extend(stand_in.into_iter().map(|(_, value)| (key.to_owned(), value)));
            missing.push(format!("{table}.{key}"));
        }
    }
    given
}

/// Refuses a part with missing values that no key of the array gives.
fn complete(given: &[String]) -> Result<(), PartRefusal> {
    let of_array = |key: &str| OF_ARRAY.iter().any(|(table, of, _)| key.strip_prefix(table) == Some(&format!(".{of}")));
    let missing: Vec<String> =
        keys(&required()).into_iter().filter(|key| !given.contains(key) && !of_array(key)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let quoted: Vec<String> = missing.iter().map(|key| format!("`{key}`")).collect();
    let verb = if missing.len() == 1 { "is" } else { "are" };
    let remedy = "add them, or name a part whose values hold where they are missing, e.g. like = \"dirik-2009\"";
    Err(PartRefusal(format!("{} {verb} missing: {remedy}", quoted.join(", "))))
}

/// The keys of a table; keys of inner tables follow the table's name and a dot.
fn keys(table: &Table) -> Vec<String> {
    let of = |(key, value): (&String, &Value)| match value {
        Value::Table(inner) => inner.keys().map(|name| format!("{key}.{name}")).collect(),
        _ => vec![key.clone()],
    };
    table.iter().flat_map(of).collect()
}

/// A part with only the values that every part must have.
fn required() -> Table {
    let mut part = Part::presets().next().expect("there are presets").clone();
    (part.cost_per_gib, part.slc_mode) = (None, None);
    let Bus { change_column, t_ccs, t_adl, t_rhw, t_wb, status, .. } = &mut part.bus;
    for span in [change_column, t_ccs, t_adl, t_rhw, t_wb, status] {
        *span = Span::ZERO;
    }
    Table::try_from(&part).expect("a part has a form in TOML")
}

impl JsonSchema for CustomPart {
    fn schema_name() -> Cow<'static, str> {
        "CustomPart".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Changes::<Part>::json_schema(generator);
        let inner = [
            ("geometry", generator.subschema_for::<Changes<Geometry>>()),
            ("timing", generator.subschema_for::<Changes<Timing>>()),
            ("bus", generator.subschema_for::<Changes<Bus>>()),
            ("features", generator.subschema_for::<Changes<Features>>()),
            ("electrical", generator.subschema_for::<Changes<Electrical>>()),
            ("errors", generator.subschema_for::<Changes<ErrorTable>>()),
        ];
        if let Some(properties) = schema.get_mut("properties").and_then(|all| all.as_object_mut()) {
            for (key, schema) in inner {
                let (mut new, about) = (schema.to_value(), properties[key]["description"].clone());
                new["description"] = about;
                properties.insert(key.to_owned(), new);
            }
            let like = schemars::json_schema!({
                "type": ["string", "null"],
                "description": "The preset that this part is like: each value that is missing here is that of the preset. \
                                `flash.part` beside this table names it as well. Without it all values must be here.",
                "examples": ["dirik-2009", "K9XXG08"],
            });
            properties.insert(LIKE.to_owned(), like.to_value());
        }
        schema
    }
}

/// The schema of the part of an SLC array, without errors of reads and differences between blocks.
pub(crate) struct SlcArrayPart;

impl JsonSchema for SlcArrayPart {
    fn schema_name() -> Cow<'static, str> {
        "SlcArrayPart".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = CustomPart::json_schema(generator);
        if let Some(properties) = schema.get_mut("properties").and_then(|all| all.as_object_mut()) {
            properties.remove("errors");
            properties.remove("endurance_spread");
        }
        schema
    }
}

/// The schema of a table whose keys may all be missing.
struct Changes<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for Changes<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Changes", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        schema.remove("required");
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<CustomPart, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn a_part_is_another_one_with_changes() {
        let own = read("like = \"kioxia-wd-128l-tlc\"\nendurance = 5\ntiming = { erase = \"5ms\" }\n").expect("sound");
        let preset = Part::preset("kioxia-wd-128l-tlc").expect("a preset");
        assert_eq!((own.endurance, own.timing.erase), (5, Span::from_ms(5)));
        assert_eq!((&own.timing.read, &own.geometry, &own.bus), (&preset.timing.read, &preset.geometry, &preset.bus));
        assert_eq!(own.name, "kioxia-wd-128l-tlc, changed");
        assert!(own.source.starts_with(&preset.source) && own.source.contains("timing.erase"), "{}", own.source);
        assert_eq!(own.changed(), ["endurance", "timing.erase"]);
        let inherited = own.inherited();
        for wanted in ["cell", "geometry", "timing.read", "bus", "electrical"] {
            assert!(inherited.iter().any(|key| key == wanted), "{wanted}: {inherited:?}");
        }
        assert!(!inherited.iter().any(|key| ["timing", "timing.erase", "endurance", "name"].contains(&&**key)));
        // The written part has all values and names no preset.
        let written = toml::to_string(&own).expect("it can be written");
        let again = read(&written).expect("it reads back");
        assert!(own == again && again.like().is_none() && again.inherited().is_empty(), "{written}");
    }

    #[test]
    fn a_part_says_which_values_it_gives_and_which_the_array_has_to_give() {
        let own = read("like = \"dirik-2009\"\nbus = { rate = \"9MB/s\" }\n").expect("sound");
        assert!(own.gives("bus.rate") && !own.gives("geometry.dies_per_chip") && own.inherits());
        let preset = Table::try_from(Part::preset("dirik-2009").expect("a preset")).expect("TOML");
        let whole = read(&preset.to_string()).expect("sound");
        assert!(whole.gives("bus.rate") && !whole.inherits() && !whole.is_missing("bus.rate"));
        // If all values are given beside the name of a preset, none is inherited.
        let beside = read(&format!("like = \"K9XXG08\"\n{preset}")).expect("sound");
        assert!(beside.gives("bus.rate") && !beside.inherits());
        let mut short = preset;
        for (table, key, _) in OF_ARRAY {
            drop(short[table].as_table_mut().expect("a table").remove(key));
        }
        let short = read(&short.to_string()).expect("sound");
        for (table, key, _) in OF_ARRAY {
            let key = format!("{table}.{key}");
            assert!(short.is_missing(&key) && !short.gives(&key), "{key}");
        }
        assert!(short.gives("timing.erase"));
    }

    #[test]
    fn a_part_without_values_is_refused_with_all_that_are_missing() {
        let error = read("name = \"x\"\nsource = \"y\"\ncell = \"slc\"\n").expect_err("incomplete").to_string();
        for wanted in ["`endurance`", "`timing.read`", "`electrical.bus_pj_per_byte`", "are missing", "like = "] {
            assert!(error.contains(wanted), "{error}");
        }
        assert!(!error.contains("cost_per_gib") && !error.contains("t_ccs"), "{error}");
        let error = read("like = \"kioxia\"\n").expect_err("unknown").to_string();
        assert!(error.contains("no part is called `kioxia`"), "{error}");
        assert!(read("like = 3\n").is_err() && read("like = \"K9XXG08\"\ntiming = { reed = [] }\n").is_err());
    }
}
