//! Values of options that are more than a number or a name.

use std::fmt;
use std::str::FromStr;

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

/// One step of bringing a disk into a state before a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Precondition {
    /// Write everything once, in order.
    Fill,
    /// Overwrite at random.
    Random {
        /// How many capacities.
        times: f64,
    },
    /// Overwrite at random until write amplification no longer changes.
    Steady,
}

impl fmt::Display for Precondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fill => f.write_str("fill"),
            Self::Random { times } => write!(f, "random:x{times}"),
            Self::Steady => f.write_str("steady"),
        }
    }
}

impl From<Precondition> for ssd::Precondition {
    fn from(step: Precondition) -> Self {
        match step {
            Precondition::Fill => Self::Fill,
            Precondition::Random { times } => Self::RandomOverwrite(times),
            Precondition::Steady => Self::Steady,
        }
    }
}

impl FromStr for Precondition {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let wrong = || {
            BadValue(format!("`{text}` is no way to prepare a disk: write fill, random:xN (e.g. random:x2) or steady"))
        };
        match text {
            "fill" => Ok(Self::Fill),
            "steady" => Ok(Self::Steady),
            _ => {
                let times = text.strip_prefix("random:x").and_then(|times| positive(times).ok()).ok_or_else(wrong)?;
                Ok(Self::Random { times })
            }
        }
    }
}

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
    fn steps_are_read() {
        assert_eq!("random:x0.5".parse(), Ok(Precondition::Random { times: 0.5 }));
        assert_eq!("steady".parse(), Ok(Precondition::Steady));
        for wrong in ["", "random", "random:2", "random:x0", "random:xinf", "random:x-1", "Fill"] {
            assert!(wrong.parse::<Precondition>().is_err(), "{wrong}");
        }
    }
}
