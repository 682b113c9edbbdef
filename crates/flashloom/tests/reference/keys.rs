//! Pages of keys: a section for each table of a kind of file, a line for each key, from the file's JSON schema.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;

use base::units::{Bytes, Current, Frequency, LaneRate, Rate, Ratio, Span, Voltage};
use serde_json::Value;
use workload::generate::{Amount, RequestRate, SizeRange};

use super::effects::Effects;
use super::fields::FieldNames;
use super::schema::{described, form_name, is, is_required, properties, tag, written};
use testkit::keys::Schema;

/// The sources of a page of keys.
pub(crate) struct Source<'a> {
    pub(crate) schema: &'a Value,
    pub(crate) fields: &'a FieldNames,
    pub(crate) effects: &'a Effects,
}

#[derive(Clone, Debug)]
struct TablePlace {
    /// The path in the header of the table, e.g. `ftl.map`.
    path: String,
    /// The path with the forms of tables, e.g. `flash.controllers(shared)`.
    name: String,
    /// True if the table is an item of a list.
    listed: bool,
}

impl TablePlace {
    fn key(&self, form: &str, key: &str) -> Self {
        let join = |before: &str| if before.is_empty() { key.to_owned() } else { format!("{before}.{key}") };
        Self { path: join(&self.path), name: join(&format!("{}{form}", self.name)), listed: false }
    }

    fn header(&self) -> String {
        if self.listed { format!("[[{}]]", self.path) } else { format!("[{}]", self.path) }
    }

    /// The anchor that mdBook gives its heading.
    fn anchor(&self) -> String {
        self.path.chars().filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-')).collect()
    }

    fn link(&self) -> String {
        format!("[`{}`](#{})", self.header(), self.anchor())
    }
}

#[derive(Debug, PartialEq)]
struct TableRow {
    key: String,
    meaning: String,
    kind: String,
    default: String,
    counts: String,
}

struct ReferencePage<'a> {
    source: &'a Source<'a>,
    text: String,
    /// The written and queued sections, by the name of their type.
    sections: BTreeMap<&'a str, TablePlace>,
    waiting: VecDeque<(TablePlace, &'a Value, Option<&'a str>)>,
    quantities: BTreeSet<&'a str>,
}

/// The sections of a kind of file.
pub(crate) fn sections(source: &Source<'_>) -> String {
    let mut page = ReferencePage {
        source,
        text: String::new(),
        sections: BTreeMap::new(),
        waiting: VecDeque::new(),
        quantities: BTreeSet::new(),
    };
    let root = TablePlace { path: String::new(), name: String::new(), listed: false };
    let name = source.schema["title"].as_str();
    page.table(&root, source.schema, name);
    while let Some((place, node, name)) = page.waiting.pop_front() {
        // Tables inside a table follow it on the page.
        let others = std::mem::take(&mut page.waiting);
        page.section(&place, node, name);
        page.waiting.extend(others);
    }
    page.written_quantities();
    page.text
}

impl<'a> ReferencePage<'a> {
    const fn schema(&self) -> Schema<'a> {
        Schema::of(self.source.schema)
    }

    fn section(&mut self, place: &TablePlace, node: &'a Value, name: Option<&'a str>) {
        let _ = write!(self.text, "\n## `{}`\n", place.header());
        let forms = self.schema().forms(node);
        let tables: Vec<&Value> = forms.iter().copied().filter(|form| properties(form).is_some()).collect();
        if tables.len() > 1 && tables.iter().all(|form| tag(form).is_some()) {
            self.tagged(place, node, &tables);
        } else {
            for form in tables {
                let form_name = form_name(&forms, form);
                let place = TablePlace { name: format!("{}{form_name}", place.name), ..place.clone() };
                let text = Some(described(form)).filter(|text| !text.is_empty()).unwrap_or_else(|| described(node));
                let _ = write!(self.text, "\n{text}\n");
                self.table(&place, form, name);
            }
        }
    }

    /// The rows of a table of one form, and the notes below it.
    fn table(&mut self, place: &TablePlace, form: &'a Value, name: Option<&'a str>) {
        let keys = self.sorted(form, name);
        let rows: Vec<TableRow> = keys.iter().map(|key| self.row(place, form, key, "", name)).collect();
        self.rows("Counts with", &rows);
        keys.iter().for_each(|key| self.values(key, &form["properties"][*key]));
        self.refusals(&keys.iter().map(|key| (*key, place.key("", key).name)).collect::<Vec<_>>());
    }

    /// A table with several forms: the values of the key that tells them apart, and one row for each of their keys.
    fn tagged(&mut self, place: &TablePlace, node: &'a Value, forms: &[&'a Value]) {
        let (by, _) = tag(forms[0]).expect("a tagged form");
        let _ = write!(self.text, "\n{} Its key `{by}` is one of:\n\n", described(node));
        let mut rows: Vec<(TableRow, Vec<&str>)> = Vec::new();
        for form in forms {
            let (_, value) = tag(form).expect("a tagged form");
            let _ = writeln!(self.text, "- `\"{value}\"`: {}", described(form));
            for key in self.sorted(form, None).into_iter().filter(|key| *key != by) {
                let row = self.row(place, form, key, &format!("({value})"), None);
                match rows.iter_mut().find(|(other, _)| *other == row) {
                    Some((_, values)) => values.push(value),
                    None => rows.push((row, vec![value])),
                }
            }
        }
        let all = forms.len();
        // Keys with the same name are put side by side.
        let first: Vec<String> = rows.iter().map(|(row, _)| row.key.clone()).collect();
        rows.sort_by_key(|(row, _)| first.iter().position(|key| *key == row.key));
        let rows: Vec<TableRow> = rows
            .into_iter()
            .map(|(row, values)| {
                let counts = if values.len() == all { "all".to_owned() } else { code(values) };
                TableRow { counts, ..row }
            })
            .collect();
        if !rows.is_empty() {
            self.rows(&format!("With `{by}`"), &rows);
        }
    }

    fn rows(&mut self, counts: &str, rows: &[TableRow]) {
        let has = rows.iter().any(|row| !row.counts.is_empty());
        let (head, line) = if has { (format!(" {counts} |"), " --- |") } else { (String::new(), "") };
        let _ = write!(self.text, "\n| Key | Meaning | Value | Default |{head}\n| --- | --- | --- | --- |{line}\n");
        for TableRow { key, meaning, kind, default, counts } in rows {
            let counts = if has { format!(" {counts} |") } else { String::new() };
            let _ = writeln!(self.text, "| `{key}` | {meaning} | {kind} | {default} |{counts}");
        }
    }

    /// The keys of a table: in the order of their type, or else the required keys first.
    fn sorted(&self, form: &'a Value, name: Option<&str>) -> Vec<&'a str> {
        let mut keys: Vec<&str> = properties(form).into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        keys.sort_by_key(|key| {
            let place = self.source.fields.place(name.unwrap_or_default(), key);
            (place, form["properties"][*key]["const"].is_null(), !is_required(form, key))
        });
        keys
    }

    fn row(
        &mut self,
        place: &TablePlace,
        form: &'a Value,
        key: &'a str,
        form_name: &str,
        of: Option<&str>,
    ) -> TableRow {
        let node = &form["properties"][key];
        let inner = place.key(form_name, key);
        let effect = self.source.effects.get(&inner.name);
        let mut meaning = described(node);
        if meaning.is_empty() {
            meaning = described(self.schema().resolve(node).0);
        }
        let mut kind = self.kind(&inner, node);
        if let Some(range) = effect.range() {
            let _ = write!(kind, ", {range}");
        }
        let counts = code(effect.counts());
        // Types with a parser of their own may take a missing value from another key, so their defaults are left out.
        let found = effect.left_out().filter(|_| of.is_some_and(|of| self.source.fields.knows(of)));
        let default = self.default(form, key, found);
        TableRow { key: key.to_owned(), meaning, kind, default, counts }
    }

    /// The kind of a key's value, as text. Tables get sections of their own.
    fn kind(&mut self, place: &TablePlace, node: &'a Value) -> String {
        let (found, name) = self.schema().resolve(node);
        if let Some(name) = name.filter(|name| quantity(name).is_some()) {
            self.quantities.insert(name);
            return format!("[{}](#quantities)", label(found));
        }
        let forms = self.schema().forms(node);
        let mut kinds: Vec<String> = Vec::new();
        for form in &forms {
            kinds.extend(self.plain(place, form));
        }
        if forms.iter().any(|form| is_section(form)) {
            kinds.push(self.announce(place, found, name));
        }
        kinds.dedup();
        kinds.join(", ")
    }

    /// A link to the section of a table; the first link queues the section.
    fn announce(&mut self, place: &TablePlace, node: &'a Value, name: Option<&'a str>) -> String {
        if let Some(other) = name.and_then(|name| self.sections.get(name)) {
            return format!("table, as {}", other.link());
        }
        if let Some(name) = name {
            self.sections.insert(name, place.clone());
        }
        self.waiting.push_back((place.clone(), node, name));
        format!("table, see {}", place.link())
    }

    /// The text for a form without a section; none if it needs a section.
    fn plain(&mut self, place: &TablePlace, form: &'a Value) -> Option<String> {
        if let Some(value) = form["const"].as_str() {
            return Some(format!("`\"{value}\"`"));
        }
        if let Some((key, inner)) = inline(form) {
            let (table, name) = self.schema().resolve(inner);
            let kind = match properties(table) {
                Some(_) => {
                    let place = place.key(&format!("({key})"), key);
                    self.announce(&place, table, name)
                }
                None => self.kind(place, inner),
            };
            return Some(format!("`{{ {key} = ... }}` ({kind})"));
        }
        if properties(form).is_some() {
            return None;
        }
        if is(form, "array") {
            let items = &form["items"];
            let (table, name) = self.schema().resolve(items);
            if self.schema().forms(items).iter().any(|form| is_section(form)) {
                let place = TablePlace { listed: true, name: format!("{}[]", place.name), ..place.clone() };
                return Some(self.announce(&place, table, name).replacen("table", "list of tables", 1));
            }
            let count = match (form["minItems"].as_u64(), form["maxItems"].as_u64()) {
                (Some(least), Some(most)) if least == most => format!("{least} "),
                _ => String::new(),
            };
            return Some(format!("list of {count}{}", plural(&self.kind(place, items))));
        }
        let known = [
            ("integer", "whole number"),
            ("number", "number"),
            ("boolean", "`true`, `false`"),
            ("string", "text"),
            ("object", "table"),
        ];
        let mut kinds: Vec<String> =
            known.iter().filter(|(kind, _)| is(form, kind)).map(|(_, name)| (*name).to_owned()).collect();
        let (of, _) = self.schema().resolve(&form["additionalProperties"]);
        if !described(of).is_empty() {
            kinds = vec![format!("table of {}", described(of).to_lowercase().trim_end_matches('.'))];
        }
        let examples: Vec<&str> = form["examples"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if !examples.is_empty() {
            kinds.push(format!("e.g. {}", code(examples.iter().map(|one| format!("\"{one}\"")))));
        }
        Some(kinds.join(", "))
    }

    fn default(&self, form: &Value, key: &str, found: Option<&str>) -> String {
        if is_required(form, key) {
            return "required".into();
        }
        let node = &form["properties"][key];
        let forms = self.schema().forms(node);
        let table = forms.iter().all(|form| is_section(form));
        match node.get("default") {
            Some(value) if !table || forms.len() > 1 => format!("`{}`", written(value)),
            Some(_) => String::new(),
            None if is_optional(node) || table => String::new(),
            None => match forms[..] {
                [form] if is(form, "boolean") => "`false`".into(),
                [form] if is(form, "array") => "`[]`".into(),
                [form, ..] if form["const"].is_string() => {
                    found.map_or_else(String::new, |name| format!("`\"{name}\"`"))
                }
                _ => match self.schema().resolve(node).1 {
                    Some("Ratio") => "`\"0%\"`".into(),
                    _ => String::new(),
                },
            },
        }
    }

    /// The meanings of a key's named values.
    fn values(&mut self, key: &str, node: &'a Value) {
        let node = if node["items"].is_null() { node } else { &node["items"] };
        let forms = self.schema().forms(node);
        let named = |form: &&Value| {
            let name = form["const"].as_str().map(|name| format!("\"{name}\""));
            name.or_else(|| inline(form).map(|(key, _)| format!("{{ {key} = ... }}")))
        };
        let named: Vec<_> = forms.iter().filter_map(|form| Some((named(form)?, described(form)))).collect();
        if !named.is_empty() && named.iter().any(|(_, text)| !text.is_empty()) {
            let _ = write!(self.text, "\n`{key}` is one of:\n\n");
            named.iter().for_each(|(name, text)| {
                let _ = writeln!(self.text, "- `{name}`: {text}");
            });
        }
    }

    /// The refusals of keys without effect: a line for each reason.
    fn refusals(&mut self, keys: &[(&str, String)]) {
        let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
        for (key, name) in keys {
            for (why, families) in self.source.effects.get(name).reasons() {
                let with = if families.is_empty() { String::new() } else { format!(" with {}", code(families)) };
                let line = format!("{with}: {why}");
                match lines.iter_mut().find(|(other, _)| *other == line) {
                    Some((_, keys)) => keys.push(key),
                    None => lines.push((line, vec![key])),
                }
            }
        }
        if !lines.is_empty() {
            self.text += "\nRefused where they would have no effect:\n\n";
            for (line, keys) in lines {
                let _ = writeln!(self.text, "- {}{line}", code(keys));
            }
        }
    }

    fn written_quantities(&mut self) {
        if self.quantities.is_empty() {
            return;
        }
        self.text += "\n## Quantities\n\nA quantity is a text of a number and a unit.\n\n";
        self.text += "| Quantity | Units | For example |\n| --- | --- | --- |\n";
        for name in std::mem::take(&mut self.quantities) {
            let node = &self.source.schema["$defs"][name];
            let examples = node["examples"].as_array().into_iter().flatten().map(written);
            let units = quantity(name).unwrap_or_default();
            let _ = writeln!(self.text, "| {} | {units} | {} |", label(node), code(examples));
        }
    }
}

/// True if a form has a section of its own: a table with keys, unless it is a name with one value.
fn is_section(form: &Value) -> bool {
    properties(form).is_some() && inline(form).is_none()
}

/// The only key of a table that is written where it is needed, and must be there: `{ shared = 4 }`.
fn inline(form: &Value) -> Option<(&str, &Value)> {
    let all = properties(form)?;
    let (key, node) = all.iter().next().filter(|_| all.len() == 1)?;
    let is_name = is_required(form, key) && described(node).is_empty() && node["const"].is_null();
    is_name.then_some((key.as_str(), node))
}

/// Whether a key may be left out, with a meaning of its own.
fn is_optional(node: &Value) -> bool {
    is(node, "null") || node["anyOf"].as_array().is_some_and(|all| all.iter().any(|one| one["type"] == "null"))
}

fn code(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    words.into_iter().map(|word| format!("`{}`", word.as_ref())).collect::<Vec<_>>().join(", ")
}

/// The plural of a kind of values, for a list of them.
fn plural(kind: &str) -> String {
    let mut kind = kind.replace("](#", "s](#");
    for one in ["number", "text", "table"] {
        kind = kind.replace(&format!("{one},"), &format!("{one}s,"));
        if kind.ends_with(one) {
            kind.push('s');
        }
    }
    kind.replace("table of", "tables of")
}

/// The name of a quantity.
fn label(node: &Value) -> String {
    let text = described(node).to_lowercase();
    let text = text.trim_start_matches("a ").trim_end_matches('.');
    text.split(", with its unit").next().unwrap_or(text).trim_end_matches(" with its unit").to_owned()
}

/// The units of measure of a quantity, from its type's error for a wrong text; none if the name names no quantity.
fn quantity(name: &str) -> Option<String> {
    fn refusal<T: std::str::FromStr<Err: std::fmt::Display>>() -> Option<String> {
        "x".parse::<T>().err().map(|error| error.to_string())
    }
    let text = match name {
        "Amount" => refusal::<Amount>(),
        "Bytes" => refusal::<Bytes>(),
        "Current" => refusal::<Current>(),
        "Frequency" => refusal::<Frequency>(),
        "LaneRate" => refusal::<LaneRate>(),
        "Rate" => refusal::<Rate>(),
        "Ratio" => refusal::<Ratio>(),
        "RequestRate" => refusal::<RequestRate>(),
        "SizeRange" => refusal::<SizeRange>(),
        "Span" => refusal::<Span>(),
        "Voltage" => refusal::<Voltage>(),
        _ => None,
    }?;
    let text = text.replace(" or a share in %", ", %");
    let units = text.split_once("one of the units ").and_then(|(_, rest)| rest.split_once(", e.g."));
    Some(units.map_or_else(|| text.clone(), |(units, _)| code(units.split(", "))))
}
