//! The cap on the power of the arrays, as a device describes it.

use base::units::{Power, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cap on the power of the arrays. At least one of `peak` and `average` is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PowerCapSpec {
    /// The most that the arrays of all dies draw together at any moment; without limit if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<Power>,
    /// The highest mean power: the energy of the operations that begin in a window, divided by the length of the
    /// window; without limit if missing. An operation that needs more than a window's share begins in a window of its
    /// own, and uses the shares of the next windows, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average: Option<Power>,
    /// The length of the windows, which follow each other; only with `average`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Span>,
}
