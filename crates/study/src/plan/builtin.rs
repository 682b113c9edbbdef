//! The studies that come with Flashloom.

/// One file per study. A new study is a new file and a line here; its name begins with that of its paper.
const BUILTIN: &[(&str, &str)] = &[];

/// The name and the text of every study under `studies/`, by name.
#[must_use]
pub const fn builtin() -> &'static [(&'static str, &'static str)] {
    BUILTIN
}
