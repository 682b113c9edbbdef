//! Places of keys in a file.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One step on the path to a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PathSegment {
    /// A step into a table.
    Key(String),
    /// A step into an array.
    Item(usize),
}

/// The steps as a message shows them: `ftl.streams[2].name`.
pub(super) fn joined(steps: &[PathSegment]) -> String {
    let mut text = String::new();
    for step in steps {
        match step {
            PathSegment::Key(key) if text.is_empty() => text.push_str(key),
            PathSegment::Key(key) => {
                text.push('.');
                text.push_str(key);
            }
            PathSegment::Item(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

/// The steps of a key in a message or on the command line: the inverse of [`joined`].
pub(super) fn split(key: &str) -> Vec<PathSegment> {
    let mut steps = Vec::new();
    for part in key.split('.').filter(|part| !part.is_empty()) {
        let mut pieces = part.split('[');
        steps.extend(pieces.next().filter(|name| !name.is_empty()).map(|name| PathSegment::Key(name.to_owned())));
        steps.extend(pieces.filter_map(|index| index.trim_end_matches(']').parse().ok()).map(PathSegment::Item));
    }
    steps
}

/// The offsets at which a text's lines begin. One scan of the text serves many look-ups.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn new(source: &str) -> Self {
        let ends = source.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect())
    }

    /// The line, counted from one, of the byte at `offset`.
    pub(super) fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KeyPlace {
    /// The line of the key; if the text does not have the key, the line of its innermost table.
    pub(super) line: Option<usize>,
    /// True if the text has the key itself.
    pub(super) there: bool,
}

/// The places of many keys, from one scan of the text.
pub(super) fn places<'a>(source: &str, keys: impl Iterator<Item = &'a [PathSegment]>) -> Vec<KeyPlace> {
    let lines = Lines::new(source);
    let Ok(root) = DeTable::parse(source) else { return keys.map(|_| KeyPlace::default()).collect() };
    keys.map(|steps| place(root.get_ref(), &lines, steps)).collect()
}

pub(super) fn place_of(source: &str, steps: &[PathSegment]) -> KeyPlace {
    places(source, std::iter::once(steps))[0]
}

fn place(root: &DeTable<'_>, lines: &Lines, steps: &[PathSegment]) -> KeyPlace {
    let mut table = Some(root);
    let mut value: Option<&Spanned<DeValue<'_>>> = None;
    let mut offset = None;
    for step in steps {
        let next = match step {
            PathSegment::Key(key) => {
                let found = table.and_then(|table| table.get_key_value(key.as_str()));
                found.map(|(name, value)| (name.span().start, value))
            }
            PathSegment::Item(index) => {
                let items = value.and_then(|value| value.get_ref().as_array());
                items.and_then(|items| items.get(*index)).map(|item| (item.span().start, item))
            }
        };
        let line = offset.map(|offset| lines.at(offset));
        let Some((start, found)) = next else { return KeyPlace { line, there: false } };
        offset = Some(start);
        value = Some(found);
        table = found.get_ref().as_table();
    }
    KeyPlace { line: offset.map(|offset| lines.at(offset)), there: true }
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
    fn the_line_of_a_key_is_found() {
        let source = "x = 1\n\n[a]\nb = 2\n[a.c]\nd = [\n 1,\n 2]\n[[t]]\n[[t]]\nu = 1\n";
        let line = |key| place_of(source, &split(key)).line;
        assert_eq!(line("x"), Some(1));
        assert_eq!(line("a.b"), Some(4));
        assert_eq!(line("a.c.d[1]"), Some(8));
        assert_eq!(line("t[1].u"), Some(11));
        assert_eq!(line("a.missing"), line("a"));
        assert_eq!(line("missing"), None);
        assert!(place_of(source, &split("a.b")).there && !place_of(source, &split("a.missing")).there);
    }

    #[test]
    fn lines_are_counted_from_one() {
        let lines = Lines::new("a\n\nb\n");
        assert_eq!([0, 1, 2, 3, 4, 9].map(|at| lines.at(at)), [1, 1, 2, 3, 3, 4]);
    }
}
