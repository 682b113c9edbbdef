//! Alternative keys: a file may give only one key of a group, and a later change replaces an earlier one.

use toml::{Table, Value};

use super::document::{Document, Rank};
use super::place::{PathSegment, split};

impl Document {
    /// Removes keys that a later change replaces: of each group of alternatives, only the keys of the latest layer are
    /// kept. The layers are the file, a study's `set`, its axes, and the command line. Two keys of one layer are both
    /// kept, and the check of the description refuses them. Returns a sentence about each replaced key.
    pub fn replace_alternatives(&mut self, groups: &[&[&str]]) -> Vec<String> {
        let mut notes = Vec::new();
        for group in groups {
            let present = || group.iter().copied().filter(|key| at(self.table(), &split(key)).is_some());
            let Some(latest) = present().map(|key| self.rank(key)).max() else { continue };
            let (kept, replaced): (Vec<&str>, Vec<&str>) = present().partition(|key| self.rank(key) == latest);
            for key in replaced {
                notes.extend(self.replace(key, kept[0]));
            }
        }
        notes
    }

    /// Removes the value at `key` because a later change sets `by` instead.
    pub(crate) fn replace(&mut self, key: &str, by: &str) -> Option<String> {
        let steps = split(key);
        let (PathSegment::Key(last), way) = steps.split_last()? else { return None };
        let value = table_at(self.table_mut(), way)?.remove(last)?;
        let value = match value {
            Value::Table(_) | Value::Array(_) => String::new(),
            value => format!(" = {value}"),
        };
        Some(format!("{by}, which is set here, replaces {key}{value} of {}", self.path().display()))
    }

    /// True if a later layer sets `key` than sets `other`.
    pub(crate) fn is_later(&self, key: &str, other: &str) -> bool {
        at(self.table(), &split(key)).is_some() && self.rank(key) > self.rank(other)
    }

    /// The latest layer that sets the value at `key`, a table around it, or a value in it.
    fn rank(&self, key: &str) -> Rank {
        self.ranks(key).max().unwrap_or(Rank::File)
    }
}

fn at<'a>(table: &'a Table, steps: &[PathSegment]) -> Option<&'a Value> {
    let (PathSegment::Key(first), rest) = steps.split_first()? else { return None };
    rest.iter().try_fold(table.get(first)?, |value, step| match step {
        PathSegment::Key(key) => value.get(key),
        PathSegment::Item(index) => value.get(index),
    })
}

fn table_at<'a>(table: &'a mut Table, way: &[PathSegment]) -> Option<&'a mut Table> {
    way.iter().try_fold(table, |table, step| match step {
        PathSegment::Key(key) => table.get_mut(key)?.as_table_mut(),
        PathSegment::Item(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const GROUPS: &[&[&str]] = &[&["ftl.a", "ftl.b"], &["c", "d"]];

    fn parse(text: &str) -> Document {
        Document::parse(Path::new("f.toml"), text.to_owned()).expect("TOML")
    }

    #[test]
    fn the_latest_of_several_alternatives_stays_and_the_note_names_both() {
        let mut document = parse("c = 1\n[ftl]\na = \"5%\"\n");
        assert_eq!(document.replace_alternatives(GROUPS), [""; 0], "nothing was set");
        document.set("ftl.b=7").expect("a key");
        let notes = document.replace_alternatives(GROUPS);
        assert_eq!(notes, ["ftl.b, which is set here, replaces ftl.a = \"5%\" of f.toml"]);
        assert_eq!(document.table()["ftl"].as_table().expect("a table").len(), 1);
        assert_eq!(document.table()["c"].as_integer(), Some(1));
    }

    #[test]
    fn an_axis_is_later_than_the_set_of_its_study_and_the_command_line_later_than_both() {
        let study = parse("");
        let changes = |text: &str| text.parse::<Table>().expect("TOML");
        let mut document = parse("");
        document.merge(&changes("ftl.a = 1"), &study, "set.device", false);
        document.merge(&changes("ftl.b = 2"), &study, "axis[0].values[1]", true);
        let notes = document.clone().replace_alternatives(GROUPS);
        assert_eq!(notes, ["ftl.b, which is set here, replaces ftl.a = 1 of f.toml"]);
        document.set("ftl={ a = 3 }").expect("a key");
        document.set("c=1").expect("a key");
        assert_eq!(document.replace_alternatives(GROUPS), [""; 0], "the table has one of them");
    }

    #[test]
    fn two_alternatives_of_one_layer_both_stay() {
        let mut file = parse("c = 1\nd = 2\n");
        assert_eq!(file.replace_alternatives(GROUPS), [""; 0]);
        let mut set = parse("");
        set.set("c=1").and_then(|()| set.set("d=2")).expect("keys");
        assert_eq!(set.replace_alternatives(GROUPS), [""; 0]);
        assert!(file.table().len() == 2 && set.table().len() == 2);
    }
}
