//! The file that reproduces one loss.

use std::path::PathBuf;

use base::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::check::Check;
use crate::cut::Cut;
use crate::replay::Honesty;
use crate::spec::{checking, minute};

/// One cut of a recorded run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LossSpec {
    /// The journal: a file beside this one, or its path.
    pub journal: PathBuf,
    /// Whether the drive does what it promises.
    #[serde(default)]
    pub drive: Honesty,
    /// The user's check, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The time that it may take.
    #[serde(default = "minute")]
    pub check_limit: Span,
    /// The moment.
    pub cut: Cut,
}

impl LossSpec {
    /// The user's check with its time limit, if there is one.
    #[must_use]
    pub fn checking(&self) -> Option<Check> {
        checking(self.check.as_ref(), self.check_limit)
    }
}
