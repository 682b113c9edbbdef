//! The columns of a CSV: a description of a file that has no known format.

use std::fmt;
use std::str::FromStr;

use super::units::{SizeUnit, TimeUnit, Units};
use crate::SourceError;

/// An example of a description, for messages.
pub(crate) const EXAMPLE: &str = "time=ts:us,op=rw,offset=lba:512B,size=len:B";

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ColumnPlace {
    /// By its name in the header line.
    Named(String),
    /// By its number from the left, counted from zero.
    Numbered(usize),
}

/// The character between two columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Delimiter {
    #[default]
    Comma,
    Semicolon,
    Tab,
    Bar,
    Colon,
    /// Any run of blanks.
    Blanks,
}

impl Delimiter {
    pub(crate) const ALL: [Self; 6] = [Self::Comma, Self::Semicolon, Self::Tab, Self::Bar, Self::Colon, Self::Blanks];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Comma => "comma",
            Self::Semicolon => "semicolon",
            Self::Tab => "tab",
            Self::Bar => "bar",
            Self::Colon => "colon",
            Self::Blanks => "blanks",
        }
    }

    /// The delimiter's byte; a blank for runs of blanks.
    pub(crate) const fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Semicolon => b';',
            Self::Tab => b'\t',
            Self::Bar => b'|',
            Self::Colon => b':',
            Self::Blanks => b' ',
        }
    }
}

/// The columns of a CSV: `time=COLUMN:UNIT,op=COLUMN,offset=COLUMN:UNIT,size=COLUMN:UNIT`, and optional keys.
///
/// A column is a name in the header line, or a number counted from 1. Units of time are s, ms, us, 100ns, ns and ps;
/// those of offset and size are B, 512B, 4KiB and other powers of two. The optional keys are:
///
/// - `volume=COLUMN`: the volume;
/// - `placement=COLUMN`: the placement identifiers of writes;
/// - `read=` and `write=`: the words for a read and a write (several with `/` between them: `read=28/88`);
/// - `delimiter=`: comma, semicolon, tab, bar, colon or blanks;
/// - `decimal=comma`: decimal commas;
/// - `header=yes` or `no`: by default `yes` if a column has a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Columns {
    text: String,
    pub(crate) time: ColumnPlace,
    pub(crate) op: ColumnPlace,
    pub(crate) offset: ColumnPlace,
    pub(crate) size: ColumnPlace,
    pub(crate) volume: Option<ColumnPlace>,
    pub(crate) placement: Option<ColumnPlace>,
    pub(crate) units: Units,
    pub(crate) delimiter: Delimiter,
    pub(crate) decimal_comma: bool,
    pub(crate) header: bool,
    pub(crate) reads: Vec<String>,
    pub(crate) writes: Vec<String>,
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Default for Columns {
    /// Columns `time` in seconds, `op`, `offset` and `size` in bytes.
    fn default() -> Self {
        "time=time:s,op=op,offset=offset:B,size=size:B".parse().expect("it is sound")
    }
}

fn refuse(what: impl Into<String>, remedy: impl Into<String>) -> SourceError {
    SourceError::new(what, remedy)
}

fn place(text: &str) -> Result<ColumnPlace, SourceError> {
    match text.parse::<usize>() {
        Ok(0) => Err(refuse("a CSV has no column 0", "columns count from 1")),
        Ok(number) => Ok(ColumnPlace::Numbered(number - 1)),
        Err(_) => Ok(ColumnPlace::Named(text.to_owned())),
    }
}

impl FromStr for Columns {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        let shape = || format!("write e.g. {EXAMPLE}; a column is a name in the header line or a number from 1");
        let mut values: Vec<(&str, &str)> = Vec::new();
        for part in text.split(',') {
            let Some((key, value)) = part.split_once('=').map(|(key, value)| (key.trim(), value.trim())) else {
                return Err(refuse(format!("`{part}` does not describe a column of a CSV"), shape()));
            };
            const KEYS: [&str; 11] = [
                "time",
                "op",
                "offset",
                "size",
                "volume",
                "placement",
                "read",
                "write",
                "delimiter",
                "decimal",
                "header",
            ];
            if !KEYS.contains(&key) {
                return Err(refuse(
                    format!("`{key}` is not a key of --columns"),
                    format!("choose among {}", KEYS.join(", ")),
                ));
            }
            if value.is_empty() {
                return Err(refuse(format!("`{key}=` has no value"), shape()));
            }
            if values.iter().any(|(other, _)| *other == key) {
                return Err(refuse(format!("`{key}` occurs twice"), "give it once"));
            }
            values.push((key, value));
        }
        let get = |key: &str| values.iter().find_map(|(other, value)| (*other == key).then_some(*value));
        let need =
            |key: &str| get(key).ok_or_else(|| refuse(format!("--columns names no column for the {key}"), shape()));
        let with_unit = |key: &str, units: &str| {
            let value = need(key)?;
            let (column, unit) = value.rsplit_once(':').filter(|(column, _)| !column.is_empty()).ok_or_else(|| {
                refuse(
                    format!("the unit of the {key} is missing in `{key}={value}`"),
                    format!("write e.g. {key}={value}:{units}"),
                )
            })?;
            Ok((place(column)?, unit))
        };
        let (time, time_unit) = with_unit("time", "us")?;
        let (offset, address_unit) = with_unit("offset", "512B")?;
        let (size, size_unit) = with_unit("size", "B")?;
        let op = place(need("op")?)?;
        let volume = get("volume").map(place).transpose()?;
        let placement = get("placement").map(place).transpose()?;
        let units = Units::new(
            time_unit.parse::<TimeUnit>()?,
            address_unit.parse::<SizeUnit>()?,
            size_unit.parse::<SizeUnit>()?,
        );
        let delimiter = match get("delimiter") {
            None => Delimiter::Comma,
            Some(name) => Delimiter::ALL.into_iter().find(|delimiter| delimiter.name() == name).ok_or_else(|| {
                let names = Delimiter::ALL.map(Delimiter::name).join(", ");
                refuse(format!("`{name}` is not a delimiter"), format!("choose one of {names}"))
            })?,
        };
        let choice = |key: &str, yes: &str, no: &str, default: bool| match get(key) {
            None => Ok(default),
            Some(value) if value == yes => Ok(true),
            Some(value) if value == no => Ok(false),
            Some(value) => {
                Err(refuse(format!("`{value}` is not a value of `{key}`"), format!("write {key}={yes} or {key}={no}")))
            }
        };
        let decimal_comma = choice("decimal", "comma", "point", false)?;
        if decimal_comma && delimiter == Delimiter::Comma {
            return Err(refuse("commas cannot separate both columns and decimals", "give delimiter=semicolon"));
        }
        let places = [&time, &op, &offset, &size].into_iter().chain(&volume).chain(&placement);
        let named = places.into_iter().any(|place| matches!(place, ColumnPlace::Named(_)));
        let header = choice("header", "yes", "no", named)?;
        if named && !header {
            return Err(refuse(
                "a CSV without a header has no column names",
                "number the columns from 1, or drop header=no",
            ));
        }
        let words = |key: &str| get(key).map_or_else(Vec::new, |words| words.split('/').map(str::to_owned).collect());
        let (reads, writes): (Vec<String>, Vec<String>) = (words("read"), words("write"));
        if let Some(both) = reads.iter().find(|word| writes.contains(word)) {
            return Err(refuse(format!("`{both}` cannot mean both a read and a write"), "give it once"));
        }
        let text = text.to_owned();
        Ok(Self {
            text,
            time,
            op,
            offset,
            size,
            volume,
            placement,
            units,
            delimiter,
            decimal_comma,
            header,
            reads,
            writes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_of_columns_prints_as_it_parses() {
        let columns: Columns = EXAMPLE.parse().unwrap();
        assert_eq!(columns.to_string(), EXAMPLE);
        assert_eq!((columns.time, columns.op), (ColumnPlace::Named("ts".into()), ColumnPlace::Named("rw".into())));
        assert_eq!(columns.units, Units::new(TimeUnit::Microsecond, SizeUnit::SECTOR, SizeUnit::BYTE));
        assert!(columns.header && !columns.decimal_comma && columns.delimiter == Delimiter::Comma);
        let columns: Columns =
            "time=5:us,op=2,offset=3:B,size=4:B,volume=1,placement=6,read=R/28,write=0,delimiter=semicolon,decimal=comma"
                .parse()
                .unwrap();
        assert_eq!((columns.time, columns.volume), (ColumnPlace::Numbered(4), Some(ColumnPlace::Numbered(0))));
        assert_eq!(columns.placement, Some(ColumnPlace::Numbered(5)));
        assert!(!columns.header && columns.decimal_comma);
        assert_eq!((columns.reads, columns.writes), (vec!["R".to_owned(), "28".to_owned()], vec!["0".to_owned()]));
        assert!(Columns::default().header);
    }

    #[test]
    fn the_error_of_a_bad_description_names_its_fault() {
        for (text, what) in [
            ("", "does not describe a column"),
            ("time", "does not describe a column"),
            ("time=ts:us", "--columns names no column for the offset"),
            ("op=rw,offset=lba:B,size=len:B", "no column for the time"),
            ("time=ts,op=rw,offset=lba:B,size=len:B", "the unit of the time is missing"),
            ("time=ts:min,op=rw,offset=lba:B,size=len:B", "not a unit of time"),
            ("time=ts:s,op=rw,offset=lba:X,size=len:B", "not a unit of size"),
            ("time=ts:s,op=,offset=lba:B,size=len:B", "`op=` has no value"),
            ("time=0:s,op=1,offset=2:B,size=3:B", "column 0"),
            ("time=ts:s,op=rw,offset=lba:B,size=len:B,op=x", "occurs twice"),
            ("time=ts:s,op=rw,offset=lba:B,size=len:B,colour=x", "not a key"),
            ("time=ts:s,op=rw,offset=lba:B,size=len:B,delimiter=x", "not a delimiter"),
            ("time=ts:s,op=rw,offset=lba:B,size=len:B,header=no", "without a header"),
            ("time=ts:s,op=rw,offset=lba:B,size=len:B,header=maybe", "is not a value"),
            ("time=ts:s,op=rw,offset=lba:B,size=len:B,decimal=comma", "cannot separate both"),
            ("time=ts:s,op=rw,offset=lba:B,size=len:B,read=1,write=1", "both a read and a write"),
        ] {
            let error = text.parse::<Columns>().unwrap_err();
            assert!(error.message().contains(what) && !error.remedy().is_empty(), "{text}: {error}");
        }
    }
}
