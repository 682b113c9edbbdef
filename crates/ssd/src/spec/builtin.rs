//! The devices that come with Flashloom.

const BUILTIN: &[(&str, &str)] = &[("fmmu-16x8", include_str!("../../../../devices/fmmu-16x8.toml"))];

/// The name and the text of every device file under `devices/`, by name.
#[must_use]
pub const fn builtin() -> &'static [(&'static str, &'static str)] {
    BUILTIN
}
