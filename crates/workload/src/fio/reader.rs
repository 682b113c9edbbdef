//! The options of a job as values, with faults and notes about them.

use super::Note;
use super::file::{Job, Setting};
use super::value::boolean;
use crate::fault::Faults;

pub(super) fn note(setting: &Setting, reason: impl Into<String>) -> Note {
    Note { line: setting.line, job: setting.section.clone(), option: setting.written.clone(), reason: reason.into() }
}

/// Reads the options of a job.
pub(super) struct Reader<'a> {
    pub(super) job: &'a Job,
    pub(super) notes: &'a mut Vec<Note>,
    pub(super) faults: &'a mut Faults,
    pub(super) kb_base: u64,
}

impl Reader<'_> {
    pub(super) fn fault(&mut self, key: &str, message: impl Into<String>, remedy: impl Into<String>) {
        self.faults.add(self.job.path_of(key), message, remedy);
    }

    /// Adds a note about the first of `keys` that is given, or about the job.
    pub(super) fn remark(&mut self, keys: &[&str], reason: &str) {
        let made = match keys.iter().find_map(|key| self.job.get(key)) {
            Some(setting) => note(setting, reason),
            None => Note {
                line: self.job.line,
                job: self.job.name.clone(),
                option: keys[0].to_owned(),
                reason: reason.to_owned(),
            },
        };
        self.notes.push(made);
    }

    /// The value of `key`, or `default`; a value that does not parse is a fault.
    pub(super) fn value<T>(&mut self, key: &str, what: &str, parse: impl Fn(&str) -> Option<T>, default: T) -> T {
        // A value that fio would compute has a fault already.
        let Some(setting) = self.job.get(key).filter(|setting| !setting.is_computed()) else { return default };
        match setting.value.as_deref().and_then(parse) {
            Some(value) => value,
            None => {
                self.wrong(setting, what);
                default
            }
        }
    }

    fn wrong(&mut self, setting: &Setting, what: &str) {
        let message = match &setting.value {
            Some(value) => format!("`{value}` is not {what}"),
            None => "the option has no value".to_owned(),
        };
        self.faults.add(setting.path(), message, format!("write {what}"));
    }

    pub(super) fn flag(&mut self, key: &str) -> bool {
        let Some(setting) = self.job.get(key).filter(|setting| !setting.is_computed()) else { return false };
        boolean(setting.value.as_deref()).unwrap_or_else(|| {
            self.wrong(setting, "0 or 1");
            false
        })
    }
}
