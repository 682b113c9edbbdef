//! Keys that are refused because they would do nothing.

/// A key that would have no effect on this device: it is refused, so that nobody takes a setting for what ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The key.
    pub path: &'static str,
    /// Whether it says something here.
    pub is_set: bool,
    /// Why that has no effect.
    pub why: &'static str,
    /// What to do.
    pub remedy: &'static str,
}

impl Idle {
    /// A key to leave out if it says something.
    #[must_use]
    pub const fn new(path: &'static str, is_set: bool, why: &'static str) -> Self {
        Self { path, is_set, why, remedy: "leave it out" }
    }

    /// With something else to do about it.
    #[must_use]
    pub const fn remedy(mut self, remedy: &'static str) -> Self {
        self.remedy = remedy;
        self
    }
}
