//! The parts of a study that change keys: its table `set` and the points of its axes.

use toml::Table;

use super::Changes;
use crate::config::Document;

/// A part of the study with changes: its key, true if the key holds one value, and the changes.
pub(super) struct PlanPart<'a> {
    pub(super) key: String,
    pub(super) whole: bool,
    pub(super) set: &'a Changes,
}

impl PlanPart<'_> {
    /// Applies the part's changes to a document of this `kind`.
    pub(super) fn apply(&self, kind: &str, changes: &Table, to: &mut Document, study: &Document) {
        let key = if self.whole { self.key.clone() } else { format!("{}.{kind}", self.key) };
        to.merge(changes, study, &key, self.whole);
    }
}
