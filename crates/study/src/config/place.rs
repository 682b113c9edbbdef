//! Where in a file a key stands.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One step on the way to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Into a table.
    Key(String),
    /// Into an array.
    Item(usize),
}

/// The steps as they are written in a message: `ftl.streams[2].name`.
pub(super) fn joined(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        match step {
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => {
                text.push('.');
                text.push_str(key);
            }
            Step::Item(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

/// The steps of a key written by a person or by the device: the inverse of [`joined`].
pub(super) fn split(key: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in key.split('.').filter(|part| !part.is_empty()) {
        let mut pieces = part.split('[');
        steps.extend(pieces.next().filter(|name| !name.is_empty()).map(|name| Step::Key(name.to_owned())));
        steps.extend(pieces.filter_map(|index| index.trim_end_matches(']').parse().ok()).map(Step::Item));
    }
    steps
}

/// The line of the byte at `offset`, counted from one.
pub(super) fn line_at(source: &str, offset: usize) -> usize {
    source.as_bytes()[..offset.min(source.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The line of the key that the steps lead to, or of the last one on the way that is in the file.
pub(super) fn line_of(source: &str, steps: &[Step]) -> Option<usize> {
    let root = DeTable::parse(source).ok()?;
    let mut table: Option<&DeTable<'_>> = Some(root.get_ref());
    let mut value: Option<&Spanned<DeValue<'_>>> = None;
    let mut offset = None;
    for step in steps {
        let next = match step {
            Step::Key(key) => {
                let found = table.and_then(|table| table.iter().find(|(name, _)| name.get_ref() == key));
                found.map(|(name, value)| (name.span().start, value))
            }
            Step::Item(index) => {
                let items = value.and_then(|value| value.get_ref().as_array());
                items.and_then(|items| items.get(*index)).map(|item| (item.span().start, item))
            }
        };
        let Some((start, found)) = next else { break };
        offset = Some(start);
        value = Some(found);
        table = found.get_ref().as_table();
    }
    offset.map(|offset| line_at(source, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_joined_and_split() {
        for key in ["a", "a.b", "a[0]", "a.b[3].c", "a[1][2]", ""] {
            assert_eq!(joined(&split(key)), key);
        }
    }

    #[test]
    fn a_key_is_found_at_its_line() {
        let source = "x = 1\n\n[a]\nb = 2\n[a.c]\nd = [\n 1,\n 2]\n[[t]]\n[[t]]\nu = 1\n";
        let line = |key| line_of(source, &split(key));
        assert_eq!(line("x"), Some(1));
        assert_eq!(line("a.b"), Some(4));
        assert_eq!(line("a.c.d[1]"), Some(8));
        assert_eq!(line("t[1].u"), Some(11));
        assert_eq!(line("a.missing"), line("a"));
        assert_eq!(line("missing"), None);
    }
}
