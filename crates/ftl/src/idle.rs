//! Keys that are refused because they would have no effect.

/// A key without effect on this device. The check of the description refuses the key, so that no user believes that the
/// setting counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The key's path in the description, as in `ftl.gc.policy`.
    pub path: &'static str,
    /// True if the description sets the key. Only then is the key refused.
    pub is_set: bool,
    /// The reason why the key has no effect, for the message.
    pub why: &'static str,
    /// The advice in the message; "leave it out" by default.
    pub remedy: &'static str,
}

impl Idle {
    /// A key that the user is told to leave out if the description sets it.
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
