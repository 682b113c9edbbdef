//! Charts as data: what a page shows, and `assets/charts.js` draws.

use serde::{Serialize, Serializer};

use study::metric::Dimension;

/// Colours of the palette; a series has the colour of its number, counted around.
pub const COLOURS: usize = 8;

/// One chart of a page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What it is about.
    pub heading: String,
    /// How to read it, in a sentence.
    pub note: String,
    /// What it shows.
    #[serde(flatten)]
    pub chart: Chart,
}

impl Figure {
    /// A chart with its heading and how to read it.
    pub fn new(heading: impl Into<String>, note: impl Into<String>, chart: Chart) -> Self {
        Self { heading: heading.into(), note: note.into(), chart }
    }
}

/// What a chart shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "chart", rename_all = "kebab-case")]
pub enum Chart {
    /// Lines over numbers.
    Lines {
        /// From left to right.
        x: Axis,
        /// Upwards.
        y: Axis,
        /// The lines.
        lines: Vec<Line>,
    },
    /// Lines over names.
    Courses {
        /// From left to right.
        x: Names,
        /// Upwards.
        y: Axis,
        /// The lines, with a value for each name.
        lines: Vec<Course>,
    },
    /// A bar for each row, divided into its parts.
    Stacks {
        /// What the bars measure.
        x: Axis,
        /// The rows, from the top.
        rows: Vec<Stack>,
    },
    /// Shares over time: rows from pale (0) to full colour (1).
    Heat {
        /// From left to right.
        x: Axis,
        /// Where each column begins, and where the last one ends.
        edges: Vec<Number>,
        /// The rows, from the top.
        rows: Vec<HeatRow>,
    },
    /// Shares by two names, on a scale from 0 to the greatest.
    Grid {
        /// From left to right.
        x: Names,
        /// From the top.
        y: Names,
        /// For each row, its columns.
        values: Vec<Vec<Number>>,
    },
    /// What happened when: a row for each thing that works, a piece for each thing it did.
    Lanes {
        /// From left to right.
        x: Axis,
        /// From the top.
        lanes: Vec<Lane>,
    },
    /// A bar for each range of numbers.
    Bars {
        /// From left to right.
        x: Axis,
        /// Upwards.
        y: Axis,
        /// From, to (not included) and height of each bar.
        bars: Vec<[Number; 3]>,
    },
}

/// An axis of numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// The unit of its numbers.
    pub unit: Dimension,
    /// How numbers are mapped to places.
    pub scale: Scale,
    /// Where it ends, if that does not follow from what it shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Number>,
}

impl Axis {
    /// An axis over all of what it shows.
    pub fn new(label: impl Into<String>, unit: Dimension, scale: Scale) -> Self {
        Self { label: label.into(), unit, scale, to: None }
    }
}

/// How an axis maps numbers to places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Evenly, from zero.
    Linear,
    /// By powers of ten.
    Log,
    /// By nines: 0.9, 0.99 and 0.999 are equally far apart.
    Nines,
}

/// An axis of names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Names {
    /// What they name.
    pub label: String,
    /// The names in order.
    pub names: Vec<String>,
}

/// One line over numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// What it shows.
    pub name: String,
    /// Number of its colour.
    pub colour: usize,
    /// Its points from left to right; a value that is none makes a gap.
    pub points: Vec<[Number; 2]>,
}

/// One line over names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Course {
    /// What it shows.
    pub name: String,
    /// Number of its colour.
    pub colour: usize,
    /// A value for each name; one that is none makes a gap.
    pub values: Vec<Number>,
}

/// One row of a stacked bar chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stack {
    /// What it is called.
    pub name: String,
    /// Its parts from left to right.
    pub parts: Vec<Part>,
    /// What stands behind it; the sum of its parts if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// A part of a bar.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// What it is called.
    pub name: String,
    /// Number of its colour.
    pub colour: usize,
    /// How long it is.
    pub value: Number,
}

/// One row of a heat map.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeatRow {
    /// What it is called.
    pub name: String,
    /// A share for each column.
    pub shares: Vec<Number>,
}

/// One row of a chart of lanes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lane {
    /// What works.
    pub name: String,
    /// What it did.
    pub slices: Vec<LaneSlice>,
}

/// Something that took some time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaneSlice {
    /// From when.
    pub from: Number,
    /// Until when.
    pub to: Number,
    /// Number of its colour.
    pub colour: usize,
    /// What it was.
    pub name: String,
}

/// A number of a chart: six digits, which is more than a screen shows and keeps pages small; `null` in JSON if it is
/// none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(pub f64);

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self(value)
    }
}

impl From<Option<f64>> for Number {
    fn from(value: Option<f64>) -> Self {
        Self(value.unwrap_or(f64::NAN))
    }
}

impl Number {
    /// The number as it is written.
    fn rounded(self) -> Option<f64> {
        if self.0 == 0.0 || !self.0.is_finite() {
            return self.0.is_finite().then_some(0.0);
        }
        format!("{:.5e}", self.0).parse().ok()
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.rounded() {
            // What is whole is written so: a count of 3 is no 3.0.
            Some(value) if value.fract() == 0.0 && value.abs() < 1e15 => serializer.serialize_i64(value as i64),
            value => value.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_what_is_none_is_null() {
        let json = |value: f64| serde_json::to_string(&Number(value)).expect("a number");
        assert_eq!([1.0 / 3.0, 3.0, -0.0, 123_456_789.0].map(json), ["0.333333", "3", "0", "123457000"]);
        assert_eq!([f64::NAN, f64::INFINITY, 1e-12].map(json), ["null", "null", "1e-12"]);
    }

    #[test]
    fn a_figure_is_one_flat_object() {
        let x = Axis::new("time", Dimension::Time, Scale::Linear);
        let bars = Chart::Bars { y: x.clone(), x, bars: vec![[0.0, 1.0, 2.5].map(Number)] };
        let json = serde_json::to_value(Figure::new("h", "n", bars)).expect("JSON");
        assert_eq!((&json["chart"], &json["heading"]), (&"bars".into(), &"h".into()));
        assert_eq!((&json["x"]["unit"], &json["x"]["scale"]), (&"time".into(), &"linear".into()));
        assert_eq!(json["bars"], serde_json::json!([[0, 1, 2.5]]));
    }
}
