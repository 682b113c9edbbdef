//! Charts as data: `assets/charts.js` draws them on a page.

use serde::{Serialize, Serializer};

use study::metric::Dimension;

/// Number of colours in the palette; a series takes the colour of its number, modulo this.
pub const COLOURS: usize = 8;

/// One chart of a page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The subject of the chart.
    pub heading: String,
    /// How to read the chart, in a sentence.
    pub note: String,
    /// The chart.
    #[serde(flatten)]
    pub chart: Chart,
}

impl Figure {
    /// A chart with its heading and a note on how to read it.
    pub fn new(heading: impl Into<String>, note: impl Into<String>, chart: Chart) -> Self {
        Self { heading: heading.into(), note: note.into(), chart }
    }
}

/// The kinds of charts, with their data.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "chart", rename_all = "kebab-case")]
pub enum Chart {
    /// Lines over a numeric axis.
    Lines {
        /// The horizontal axis.
        x: Axis,
        /// The vertical axis.
        y: Axis,
        /// The lines.
        lines: Vec<Line>,
    },
    /// Lines over an axis of names.
    Courses {
        /// The horizontal axis.
        x: Names,
        /// The vertical axis.
        y: Axis,
        /// The lines, with a value for each name.
        lines: Vec<Course>,
        /// Values that a source states, to be compared with those of the lines.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        marks: Vec<Mark>,
    },
    /// A bar for each row, divided into parts.
    Stacks {
        /// What the bars measure.
        x: Axis,
        /// The rows, from the top.
        rows: Vec<Stack>,
    },
    /// Shares over time: rows from pale (0) to full colour (1).
    Heat {
        /// The horizontal axis.
        x: Axis,
        /// The left edge of each column, and the right edge of the last.
        edges: Vec<Number>,
        /// The rows, from the top.
        rows: Vec<HeatRow>,
    },
    /// Shares by two names, on a scale from 0 to the largest share.
    Grid {
        /// The names from left to right.
        x: Names,
        /// The names from the top.
        y: Names,
        /// The values of each row, one for each column.
        values: Vec<Vec<Number>>,
    },
    /// Activity over time: a row for each resource, a slice for each of its activities.
    Lanes {
        /// The horizontal axis.
        x: Axis,
        /// The rows, from the top.
        lanes: Vec<Lane>,
    },
    /// A bar for each range of numbers.
    Bars {
        /// The horizontal axis.
        x: Axis,
        /// The vertical axis.
        y: Axis,
        /// Lower bound, upper bound (exclusive) and height of each bar.
        bars: Vec<[Number; 3]>,
    },
}

/// An axis of numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// The quantity on the axis.
    pub label: String,
    /// The unit of measure of its numbers.
    pub unit: Dimension,
    /// How the axis maps numbers to positions.
    pub scale: Scale,
    /// The end of the axis; if missing, it follows from the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Number>,
    /// The least and the greatest number of all panels that are to be compared, so that their axes are alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cover: Option<[Number; 2]>,
}

impl Axis {
    /// An axis that spans all of its data.
    pub fn new(label: impl Into<String>, unit: Dimension, scale: Scale) -> Self {
        Self { label: label.into(), unit, scale, to: None, cover: None }
    }
}

/// How an axis maps numbers to positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Linear, from zero.
    Linear,
    /// Logarithmic, base ten.
    Log,
    /// By nines: 0.9, 0.99 and 0.999 are equally far apart.
    Nines,
}

/// An axis of names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Names {
    /// What the names denote.
    pub label: String,
    /// The names in order.
    pub names: Vec<String>,
    /// True for quantities in order, whose values a line may join. Other names have nothing between them.
    pub ordered: bool,
}

impl Names {
    /// An axis of names; quantities of one kind, such as `1` and `2` or `25MB/s` and `50MB/s`, are in order.
    pub fn new(label: impl Into<String>, names: Vec<String>) -> Self {
        let ordered = names.len() > 1 && names.iter().all(|name| is_quantity(name));
        Self { label: label.into(), names, ordered }
    }
}

/// True for a number, alone or with a unit of measure behind it.
fn is_quantity(name: &str) -> bool {
    let number = name.trim_start_matches(['-', '+']);
    let end = number.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',' | '_')).unwrap_or(number.len());
    let unit = number[end..].strip_prefix(' ').unwrap_or(&number[end..]);
    number.starts_with(|c: char| c.is_ascii_digit())
        && unit.len() <= 6
        && unit.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '%' | '/'))
}

/// One line over a numeric axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// The number of its colour.
    pub colour: usize,
    /// Its points from left to right; a value that is no number makes a gap.
    pub points: Vec<[Number; 2]>,
    /// The spread of its values: horizontal position, from and to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spread: Vec<[Number; 3]>,
}

impl Line {
    /// A line without a spread.
    pub fn new(name: impl Into<String>, colour: usize, points: Vec<[Number; 2]>) -> Self {
        Self { name: name.into(), colour, points, spread: Vec::new() }
    }
}

/// One line over an axis of names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Course {
    /// Its name in the legend.
    pub name: String,
    /// The number of its colour.
    pub colour: usize,
    /// A value for each name; a value that is no number makes a gap.
    pub values: Vec<Number>,
    /// The spread of each value, from and to, if it is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spread: Vec<Option<[Number; 2]>>,
}

/// A value that a source states, or the range in which it lies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// Its name in the legend: whose value it is.
    pub name: String,
    /// The number of the name on the horizontal axis.
    pub at: usize,
    /// The colour of the line that it is about.
    pub colour: usize,
    /// The value, or the least.
    pub low: Number,
    /// The value, or the greatest.
    pub high: Number,
    /// The value as text, with its source.
    pub says: String,
}

/// One row of a stacked bar chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stack {
    /// The name of the row.
    pub name: String,
    /// Its parts from left to right.
    pub parts: Vec<Part>,
    /// The label behind the bar; by default the sum of its parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// One part of a bar.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The name of the part.
    pub name: String,
    /// The number of its colour.
    pub colour: usize,
    /// Its length.
    pub value: Number,
}

/// One row of a heat map.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeatRow {
    /// The name of the row.
    pub name: String,
    /// A share for each column.
    pub shares: Vec<Number>,
}

/// One row of a chart of lanes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lane {
    /// The resource.
    pub name: String,
    /// Its activities.
    pub slices: Vec<LaneSlice>,
}

/// One activity of a resource.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaneSlice {
    /// Start.
    pub from: Number,
    /// End.
    pub to: Number,
    /// The number of its colour.
    pub colour: usize,
    /// The cause that the colour stands for.
    pub cause: &'static str,
    /// The name of the activity.
    pub name: String,
}

/// A number of a chart. It is written with six digits, more than a screen shows, which keeps pages small; NaN and
/// infinities are `null` in JSON.
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
    /// The number rounded to the digits that are written; `None` if it is not finite.
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
            // Whole numbers are written without a fraction: a count of 3 is not 3.0.
            Some(value) if value.fract() == 0.0 && value.abs() < 1e15 => serializer.serialize_i64(value as i64),
            value => value.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_a_missing_one_is_null() {
        let json = |value: f64| serde_json::to_string(&Number(value)).expect("a number");
        assert_eq!([1.0 / 3.0, 3.0, -0.0, 123_456_789.0].map(json), ["0.333333", "3", "0", "123457000"]);
        assert_eq!([f64::NAN, f64::INFINITY, 1e-12].map(json), ["null", "null", "1e-12"]);
    }

    #[test]
    fn quantities_are_in_order_and_names_are_not() {
        let ordered = |names: &[&str]| Names::new("x", names.iter().map(ToString::to_string).collect()).ordered;
        for names in
            [&["1", "2", "16"][..], &["25MB/s", "50MB/s"], &["0", "1 MiB", "15 MiB"], &["7%", "20%"], &["65,536", "4"]]
        {
            assert!(ordered(names), "{names:?}");
        }
        for names in
            [&["1x1", "1x2"][..], &["greedy", "random"], &["256 MB", "none"], &["5"], &["4 units", "8 banks in all"]]
        {
            assert!(!ordered(names), "{names:?}");
        }
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
