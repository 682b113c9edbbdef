//! Values in TOML syntax: quoted texts, and quantities with their units.

use base::units::{Bytes, Exact, Rate, Span};

pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A time in TOML. A time that is too long for a device file is found when the file is read.
pub(super) fn time(ns: u64) -> String {
    let fits = ns.checked_mul(1000).is_some();
    if fits { Span::from_ns(ns).exact() } else { format!("{ns}ns") }
}

pub(super) fn size(bytes: u64) -> String {
    Bytes::new(bytes).exact()
}

pub(super) fn rate(bytes_per_s: f64) -> String {
    Rate::new((bytes_per_s.round() as u64).max(1)).exact()
}
