//! Keys that are refused because they would have no effect.

/// A key without effect on this device. The check refuses it, so that no user takes the setting for effective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The key.
    pub path: &'static str,
    /// True if the description sets it.
    pub is_set: bool,
    /// The reason why it has no effect.
    pub why: &'static str,
    /// The remedy.
    pub remedy: &'static str,
}

impl Idle {
    /// A key to leave out if the description sets it.
    #[must_use]
    pub const fn new(path: &'static str, is_set: bool, why: &'static str) -> Self {
        Self { path, is_set, why, remedy: "leave it out" }
    }

    /// Replaces the remedy.
    #[must_use]
    pub const fn remedy(mut self, remedy: &'static str) -> Self {
        self.remedy = remedy;
        self
    }
}
