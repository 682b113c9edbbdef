//! The sharpness of an expectation: the width of its band.
//!
//! A band that is open on one side, or an order without a margin, can hardly fail. Such an expectation is called loose,
//! unless the study cites words of the paper that ask for no more.

use schemars::JsonSchema;
use serde::Serialize;

use super::judge::change;
use super::{
    AscendingOrder, BoundedRange, Condition, DifferenceExpectation, Equal, ExpectSpec, Linear, Monotonic,
    RatioExpectation, Saturates,
};
use crate::metric::Dimension;

/// A band whose ends are further apart than this factor counts as open above.
const OPEN: f64 = 5.0;

/// The sharpness of an expectation: the kind of its condition, and the width of its band.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Sharpness {
    /// The band as a short text, e.g. `at most +10%`, `at least 98.0%`, `10% apart`.
    pub band: String,
    /// Half the width of a band with two ends, as a share of its middle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<f64>,
    /// True if the band has only one end or no margin, and the study cites no words of the paper to justify this.
    pub loose: bool,
}

/// A band, before the words of the paper are considered.
struct Band {
    text: String,
    width: Option<f64>,
    is_open: bool,
}

/// A share of a whole as a short text in percent.
fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}

impl Band {
    const fn one_sided(text: String) -> Self {
        Self { text, width: None, is_open: true }
    }

    const fn of(text: String, width: Option<f64>) -> Self {
        Self { text, width, is_open: false }
    }

    /// The band between two numbers.
    fn between(low: f64, high: f64, show: impl Fn(f64) -> String) -> Self {
        // A band with zero in its middle means that there is no difference.
        let is_centred = low < 0.0 && (low + high).abs() <= 1e-9 * high;
        if low >= high {
            Self::of("exact".into(), Some(0.0))
        } else if is_centred {
            Self::of(format!("\u{b1}{}", show(high)), None)
        } else if low <= 0.0 {
            Self::one_sided(format!("at most {}", show(high)))
        } else if high >= OPEN * low {
            Self::one_sided(format!("at least {}", show(low)))
        } else {
            let half = (high - low) / (high + low);
            let text = if half < 0.0005 { "exact".to_owned() } else { format!("\u{b1}{}", percent(half)) };
            Self::of(text, Some(half))
        }
    }
}

impl ExpectSpec {
    /// The sharpness of the expectation.
    ///
    /// # Panics
    ///
    /// If the expectation was not checked before: see `plan::Plan::new`.
    #[must_use]
    pub fn sharpness(&self) -> Sharpness {
        let Band { text, width, is_open } = self.band();
        let band = if self.beyond_spread { format!("{text}, beyond the spread") } else { text };
        Sharpness { band, width, loose: is_open && self.asks_no_more.is_none() }
    }

    /// True if the band has one end or no margin.
    pub(super) fn is_open(&self) -> bool {
        self.band().is_open
    }

    fn band(&self) -> Band {
        let unit = self.dimension();
        let show = |value: f64| unit.show(value);
        match self.condition().expect("it was checked to have one") {
            Condition::Within(within) => {
                let (low, high) = within.bounds(unit).expect("they were checked");
                Band::between(low, high, show)
            }
            Condition::Ratio(RatioExpectation { between: [low, high], .. }) => Band::between(*low, *high, change),
            Condition::Difference(difference) => difference.band(unit),
            Condition::Bounded(bounded) => bounded.band(unit),
            Condition::Equal(Equal { within, .. }) => {
                Band::of(format!("within {}", percent(within.get())), Some(within.get() / 2.0))
            }
            Condition::Saturates(Saturates { within, .. }) => {
                Band::of(format!("flat \u{b1}{}", percent(within.get())), Some(within.get()))
            }
            Condition::Linear(Linear { within, .. }) => {
                Band::of(format!("line \u{b1}{}", percent(within.get())), Some(within.get()))
            }
            Condition::Monotonic(monotonic) => monotonic.band(),
            Condition::Order(AscendingOrder { by, .. }) => match by.get() {
                // The spread over the seeds is a margin.
                0.0 if self.beyond_spread => Band::of("order".into(), None),
                0.0 => Band::one_sided("order".into()),
                by => Band::of(format!("{} apart", percent(by)), None),
            },
        }
    }
}

impl DifferenceExpectation {
    fn band(&self, unit: Dimension) -> Band {
        let (low, high) = self.bounds(unit).expect("they were checked");
        Band::between(low, high, |value| unit.show(value))
    }
}

impl BoundedRange {
    fn band(&self, unit: Dimension) -> Band {
        let number = |bound: &super::Bound| bound.number(unit).expect("it was checked");
        match (self.least.as_ref().map(number), self.most.as_ref().map(number)) {
            (Some(low), Some(high)) => Band::between(low, high, |value| unit.show(value)),
            (Some(low), None) => Band::one_sided(format!("at least {}", unit.show(low))),
            // No number is below zero, so "at most zero" means exactly zero.
            (None, Some(high)) if high <= 0.0 => Band::of("exact".into(), Some(0.0)),
            (None, high) => Band::one_sided(format!("at most {}", unit.show(high.unwrap_or_default()))),
        }
    }
}

impl Monotonic {
    fn band(&self) -> Band {
        match (self.by.get(), self.slack.get()) {
            // Every step must have the direction.
            (0.0, 0.0) => Band::of("each step".into(), None),
            // Numbers that do not change at all are within the slack, too.
            (0.0, slack) => Band::one_sided(format!("slack {}", percent(slack))),
            (by, _) => Band::of(format!("{} in all", percent(by)), None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parse;

    #[test]
    fn the_width_of_every_kind_of_band_is_said() {
        let bands = [
            ("within = { value = \"2ms\", tolerance = \"10%\" }", "\u{b1}10%", Some(0.1), false),
            ("within = { between = [\"2ms\", \"2ms\"] }", "exact", Some(0.0), false),
            ("within = { between = [\"0ms\", \"2ms\"] }", "at most 2.00ms", None, true),
            ("bounded = { most = \"2ms\" }", "at most 2.00ms", None, true),
            ("bounded = { least = \"2ms\" }", "at least 2.00ms", None, true),
            ("bounded = { most = \"0ms\" }", "exact", Some(0.0), false),
            ("bounded = { least = \"2ms\", most = \"6ms\" }", "\u{b1}50%", Some(0.5), false),
            ("ratio = { at = { b = 1 }, to = { b = 2 }, between = [0.9, 1.1] }", "\u{b1}10%", Some(0.1), false),
            ("ratio = { at = { b = 1 }, to = { b = 2 }, between = [0, 0.95] }", "at most -5.0%", None, true),
            ("ratio = { at = { b = 1 }, to = { b = 2 }, between = [1.25, 10] }", "at least +25%", None, true),
            (
                "per = { b = 1 }\ndifference = { at = { b = 1 }, to = { b = 2 }, between = [-0.1, 0.1] }",
                "\u{b1}0.10",
                None,
                false,
            ),
            (
                "difference = { at = { b = 1 }, to = { b = 2 }, between = [\"0ms\", \"1ms\"] }",
                "at most 1.00ms",
                None,
                true,
            ),
            ("equal = { within = \"5%\" }", "within 5%", Some(0.025), false),
            ("saturates = { along = \"b\", from = 4, within = \"5%\" }", "flat \u{b1}5%", Some(0.05), false),
            (
                "linear = { along = \"b\", direction = \"falls\", within = \"2.5%\" }",
                "line \u{b1}2.5%",
                Some(0.025),
                false,
            ),
            ("monotonic = { along = \"b\", direction = \"falls\" }", "each step", None, false),
            ("monotonic = { along = \"b\", direction = \"falls\", slack = \"1%\" }", "slack 1%", None, true),
            (
                "monotonic = { along = \"b\", direction = \"falls\", slack = \"1%\", by = \"25%\" }",
                "25% in all",
                None,
                false,
            ),
            ("order = { of = [{ b = 1 }, { b = 2 }], by = \"10%\" }", "10% apart", None, false),
            ("order = { of = [{ b = 1 }, { b = 2 }] }", "order", None, true),
        ];
        for (text, band, width, is_open) in bands {
            let sharp = parse(text).sharpness();
            assert_eq!((sharp.band.as_str(), sharp.loose), (band, is_open), "{text}");
            let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
            assert!(sharp.width.zip(width).map_or(sharp.width == width, |(a, b)| near(a, b)), "{text}: {sharp:?}");
            let cited = parse(&format!("asks-no-more = \"the words\"\n{text}"));
            assert!(!cited.sharpness().loose, "{text}");
        }
    }
}
