//! Faults of configuration files: the place, the fault and the remedy.

use std::fmt;
use std::path::{Path, PathBuf};

use super::shown::shortened;

/// One fault of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    /// The file; `None` for a value from the command line.
    pub path: Option<PathBuf>,
    /// The line, counted from one, if known.
    pub line: Option<usize>,
    /// The key with its tables, joined by dots; empty for the whole file.
    pub key: String,
    /// A sentence that states the fault.
    pub message: String,
    /// A sentence that says how to correct the fault.
    pub remedy: String,
}

impl fmt::Display for ConfigFault {
    /// Writes `file:line: key: message; remedy` without the unknown parts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.path, self.line) {
            (Some(path), Some(line)) => write!(f, "{}:{line}: ", path.display())?,
            (Some(path), None) => write!(f, "{}: ", path.display())?,
            (None, _) => f.write_str("--set: ")?,
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", shortened(&self.key, 200))?;
        }
        f.write_str(&self.message)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

/// All faults of a configuration, in the order of their lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(pub Vec<ConfigFault>);

impl fmt::Display for Faults {
    /// Writes one line per fault.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, fault) in self.0.iter().enumerate() {
            write!(f, "{}{fault}", if i == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

impl Faults {
    /// Adds a note that there are `more` faults than those listed.
    pub(super) fn and_more(mut self, path: &Path, more: usize) -> Self {
        if more > 0 {
            self.0.push(ConfigFault {
                path: Some(path.to_owned()),
                line: None,
                key: String::new(),
                message: format!("has {more} more faults"),
                remedy: "correct these first".into(),
            });
        }
        self
    }
}

impl From<ConfigFault> for Faults {
    fn from(fault: ConfigFault) -> Self {
        Self(vec![fault])
    }
}
