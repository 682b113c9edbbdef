//! Describes a faulty value and its remedy in words. Examples and bounds come from the schema.

use base::suggest::nearest;
use serde_json::Value as Json;

use super::place::{PathSegment, joined};
use super::renamed::renamed;
use super::schema::{Schema, SchemaFault, Substitute, Wrong, keys, kinds, named, names, range, required, tag};
use super::shown::{shortened, shown};

fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

impl Schema {
    /// The fault and the remedy, as two texts.
    pub(super) fn say(&self, found: &SchemaFault<'_>) -> (String, String) {
        let steps = &found.steps;
        match &found.wrong {
            Wrong::Text(message, remedy) => (shortened_quote(message), remedy.clone()),
            Wrong::Unknown(tables) => {
                let name = match steps.last() {
                    Some(PathSegment::Key(name)) => name.as_str(),
                    _ => "",
                };
                let mut candidates: Vec<&str> = Vec::new();
                for key in tables.iter().flat_map(|table| keys(table)) {
                    if !candidates.contains(&key) {
                        candidates.push(key);
                    }
                }
                if let Some(now) = renamed(name, candidates.iter().copied()) {
                    return ("is not a known key".into(), format!("it is called `{now}` now"));
                }
                let remedy = match nearest(name, &candidates) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if candidates.is_empty() => "remove it: there are no keys here".into(),
                    None => format!("the keys here are {}", quoted(candidates)),
                };
                ("is not a known key".into(), remedy)
            }
            Wrong::Missing(schema) => {
                let example = self.assigned(steps, schema);
                ("is missing".into(), format!("add it, e.g. {example}; `flashloom schema` lists all keys"))
            }
            Wrong::Value(schema, value) => {
                let example = self.assigned(steps, schema);
                (format!("{} is not {}", shown(value), self.allowed(schema)), format!("write e.g. {example}"))
            }
            Wrong::Both(first, second) => {
                (format!("`{first}` conflicts with `{second}`"), "keep one of the two".into())
            }
            Wrong::Choice(schema, name) => self.choice(schema, name.as_deref()),
        }
    }

    fn choice(&self, schema: &Json, name: Option<&str>) -> (String, String) {
        let leaves = self.leaves(schema);
        let forms: Vec<&Json> = leaves.iter().copied().filter(|leaf| kinds(leaf) == ["object"]).collect();
        let mut choices: Vec<String> = leaves.iter().flat_map(|leaf| names(leaf)).map(ToOwned::to_owned).collect();
        match tag(&forms) {
            Some(tag) if forms.len() > 1 => {
                choices.extend(forms.iter().filter_map(|form| named(form, tag)).map(ToOwned::to_owned));
            }
            _ => choices.extend(forms.iter().map(|form| self.example(form, Substitute::First).to_string())),
        }
        let list = quoted(choices.iter().map(String::as_str));
        let Some(name) = name else { return ("no value is chosen".into(), format!("choose one of {list}")) };
        let plain: Vec<&str> = choices.iter().map(String::as_str).collect();
        let remedy = match (renamed(name, plain.iter().copied()), nearest(name, &plain)) {
            (Some(now), _) => format!("it is called `{now}` now"),
            (None, Some(near)) => format!("did you mean `{near}`? Use one of {list}"),
            (None, None) => format!("choose one of {list}"),
        };
        (format!("`{}` is not one of its values", shortened(name, 60).trim_matches('`')), remedy)
    }

    /// The values that a schema allows, in words: "a whole number from 0 to 65535".
    fn allowed(&self, schema: &Json) -> String {
        let (schema, name) = self.follow(schema);
        let about = schema.get("description").and_then(Json::as_str);
        if let Some(about) = about.filter(|_| name.is_some_and(super::texts::is_known)) {
            return lowered(about.split(": ").next().unwrap_or(about));
        }
        let mut all: Vec<String> = Vec::new();
        for leaf in self.leaves(schema) {
            let chosen: Vec<&str> = names(leaf).collect();
            for kind in kinds(leaf) {
                let words = match kind {
                    "string" if chosen.is_empty() => "a text in quotes".to_owned(),
                    "string" => quoted(chosen.iter().copied()),
                    "integer" => match range(leaf) {
                        (i64::MIN, _) => "a whole number".to_owned(),
                        (low, high) => format!("a whole number from {low} to {high}"),
                    },
                    "number" => "a number".to_owned(),
                    "boolean" => "`true` or `false`".to_owned(),
                    "array" => self.listed(leaf),
                    _ => "a table".to_owned(),
                };
                if !all.contains(&words) {
                    all.push(words);
                }
            }
        }
        match all.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
            None => "a value of the schema".into(),
        }
    }

    fn listed(&self, list: &Json) -> String {
        let bound = |key| list.get(key).and_then(Json::as_u64);
        let count = match (bound("minItems"), bound("maxItems")) {
            (Some(least), Some(most)) if least == most => format!(" of {least}"),
            (Some(least), _) => format!(" of at least {least}"),
            _ => String::new(),
        };
        let of = list.get("items").map(|items| self.allowed(items));
        of.map_or_else(|| format!("a list{count}"), |of| format!("a list{count} whose items are each {of}"))
    }

    /// A key with a valid value: `channels = 8`, or the head of a table.
    fn assigned(&self, steps: &[PathSegment], schema: &Json) -> String {
        let names: Vec<PathSegment> =
            steps.iter().filter(|step| matches!(step, PathSegment::Key(_))).cloned().collect();
        let way = joined(&names);
        let leaves = self.leaves(schema);
        let plain = |leaf: &&&Json| kinds(leaf) == ["object"] && leaf.get("properties").is_some();
        if let [leaf] = leaves[..] {
            if plain(&&leaf) {
                return headed(&format!("[{way}]"), leaf);
            }
            let items = leaf.get("items").map(|items| self.leaves(items)).unwrap_or_default();
            if let [item] = items[..]
                && plain(&&item)
                && !matches!(steps.last(), Some(PathSegment::Item(_)))
            {
                return headed(&format!("[[{way}]]"), item);
            }
        }
        let value = self.example(schema, Substitute::First);
        match steps.last() {
            Some(PathSegment::Key(name)) => format!("{} = {value}", shortened(name, 60)),
            _ => value.to_string(),
        }
    }
}

/// The head of a table, followed by the keys that it requires.
fn headed(head: &str, table: &Json) -> String {
    match quoted(required(table)) {
        none if none.is_empty() => format!("the table {head}"),
        list => format!("the table {head} with {list}"),
    }
}

/// Turns a description such as "A time with its unit." into a part of a sentence.
fn lowered(text: &str) -> String {
    let text = text.trim_end_matches('.');
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Shortens a long quotation in a message.
fn shortened_quote(message: &str) -> String {
    let mut parts = message.splitn(2, '`');
    match (parts.next(), parts.next().and_then(|rest| rest.rsplit_once('`'))) {
        (Some(before), Some((text, after))) if text.len() > 200 => format!("{before}`{}`{after}", shortened(text, 60)),
        _ => message.to_owned(),
    }
}
