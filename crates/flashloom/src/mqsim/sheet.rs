//! A TOML file under construction. Each line has the origin of its value; notes list the parameters that could not be
//! converted.

use std::fmt::Write as _;

/// A file in TOML.
#[derive(Clone, Debug, Default)]
pub(super) struct Sheet {
    text: String,
    approximated: Vec<(String, String)>,
    without: Vec<(String, String)>,
}

/// The column of the comments.
const COMMENT: usize = 44;

impl Sheet {
    /// Begins a table with the header `name`, brackets included.
    pub(super) fn table(&mut self, name: &str) {
        let _ = write!(self.text, "\n{name}\n");
    }

    /// A line with a value, and the origin of the value.
    pub(super) fn line(&mut self, line: &str, from: &str) {
        let text = &mut self.text;
        let _ = match from {
            "" => writeln!(text, "{line}"),
            from => writeln!(text, "{line:<width$}  # {from}", width = COMMENT - 2),
        };
    }

    /// Notes a parameter that has no counterpart.
    pub(super) fn without(&mut self, name: &str, why: &str) {
        self.without.push((name.to_owned(), why.to_owned()));
    }

    /// Notes a parameter that has another meaning in Flashloom.
    pub(super) fn approximated(&mut self, name: &str, why: &str) {
        self.approximated.push((name.to_owned(), why.to_owned()));
    }

    pub(super) fn notes(&self) -> Vec<String> {
        let approximated = self.approximated.iter().map(|(name, why)| format!("{name} is approximated: {why}"));
        let without = self.without.iter().map(|(name, why)| format!("{name} has no counterpart: {why}"));
        approximated.chain(without).collect()
    }

    /// The text of the file, with `head` and the notes as comments at its head.
    pub(super) fn toml(&self, head: &[String]) -> String {
        let mut notes = self.notes();
        if !notes.is_empty() {
            notes.insert(0, String::new());
        }
        let comments = head.iter().chain(&notes).map(|line| format!("# {line}").trim_end().to_owned() + "\n");
        comments.collect::<String>() + &self.text
    }
}
