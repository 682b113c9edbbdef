//! Values of options that are more than a number or a name.

use std::fmt;

use workload::trace::{Event, ExtentRule, Format};

/// A value that an option does not take, and those that it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadValue(String);

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadValue {}

/// The rule of this name.
pub(crate) fn extent(text: &str) -> Result<ExtentRule, BadValue> {
    ExtentRule::ALL.into_iter().find(|rule| rule.name() == text).ok_or_else(|| {
        let names = ExtentRule::ALL.map(ExtentRule::name).join(", ");
        BadValue(format!("`{text}` is no rule for addresses beyond the disk: choose one of {names}"))
    })
}

/// The event of this name.
pub(crate) fn event(text: &str) -> Result<Event, BadValue> {
    Event::ALL.into_iter().find(|event| event.name() == text).ok_or_else(|| {
        let names = Event::ALL.map(Event::name).join(", ");
        BadValue(format!("`{text}` is no event of a block trace: choose one of {names}"))
    })
}

/// The trace format of this name.
pub(crate) fn format(text: &str) -> Result<Format, BadValue> {
    Format::from_name(text).ok_or_else(|| {
        let names: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
        BadValue(format!("`{text}` is no known format: choose one of {}", names.join(", ")))
    })
}

/// A number above zero.
pub(crate) fn positive(text: &str) -> Result<f64, BadValue> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        _ => Err(BadValue(format!("`{text}` is not a number above zero"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_above_zero_are_read() {
        assert_eq!(positive("0.5"), Ok(0.5));
        for wrong in ["", "0", "-1", "inf", "NaN", "x"] {
            assert!(positive(wrong).is_err(), "{wrong}");
        }
    }
}
