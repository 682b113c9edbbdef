//! The data of charts; `assets/charts.js` draws them on a page.

use serde::{Serialize, Serializer};

use study::metric::Dimension;

use crate::quantity;

/// The number of colours in the palette; a series takes the colour of its number, modulo this.
pub const COLOURS: usize = 8;

/// A chart of a page: heading, note and content.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The subject of the chart.
    pub heading: String,
    /// A sentence that explains how to read the chart.
    pub note: String,
    /// Kind of the chart, with its data.
    #[serde(flatten)]
    pub chart: Chart,
}

impl Figure {
    /// Creates a chart with its heading and a note that explains how to read it.
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
        /// The horizontal axis, with its label and scale.
        x: Axis,
        /// The vertical axis, with its label and scale.
        y: Axis,
        /// The lines in the order of the legend.
        lines: Vec<Line>,
    },
    /// Lines over an axis of names.
    Courses {
        /// The horizontal axis, with its label and scale.
        x: Names,
        /// The vertical axis, with its label and scale.
        y: Axis,
        /// The lines in the order of the legend, with a value for each name.
        lines: Vec<Course>,
        /// Values that a source states, for comparison with the values of the lines.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        marks: Vec<Mark>,
    },
    /// A bar for each row, divided into parts.
    Stacks {
        /// The horizontal axis, on which the length of bars is measured.
        x: Axis,
        /// The rows of the chart, from the top.
        rows: Vec<Stack>,
    },
    /// Lines over a numeric axis whose points have names, in the order of the names. An example is latency against the
    /// achieved rate.
    Paths {
        /// The horizontal axis, with its label and scale.
        x: Axis,
        /// The vertical axis, with its label and scale.
        y: Axis,
        /// The lines in the order of the legend.
        lines: Vec<Path>,
    },
    /// Parts of a whole over a numeric axis, stacked: each part has a value for each interval.
    Areas {
        /// The horizontal axis, with its label and scale.
        x: Axis,
        /// The vertical axis, with its label and scale.
        y: Axis,
        /// The left edge of each interval, and the right edge of the last.
        edges: Vec<Number>,
        /// The parts, from the bottom.
        layers: Vec<Layer>,
    },
    /// Values as colours, by row and by range of a numeric axis.
    Heat {
        /// The horizontal axis, with its label and scale.
        x: Axis,
        /// The left edge of each column, and the right edge of the last.
        edges: Vec<Number>,
        /// The quantity that the colours show; pale stands for the least number of the axis, full colour for the
        /// greatest.
        colours: Axis,
        /// The rows of the chart, from the top.
        rows: Vec<HeatRow>,
    },
    /// Shares by two names, with colours on a scale from 0 to the largest share.
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
        /// The horizontal axis, with its label and scale.
        x: Axis,
        /// The rows of the chart, from the top.
        lanes: Vec<Lane>,
    },
    /// A bar for each range of numbers.
    Bars {
        /// The horizontal axis, with its label and scale.
        x: Axis,
        /// The vertical axis, with its label and scale.
        y: Axis,
        /// Lower bound, upper bound (exclusive) and height of each bar.
        bars: Vec<[Number; 3]>,
    },
}

/// The scale and the label of an axis of numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// The quantity on the axis, as its title.
    pub label: String,
    /// The unit of measure of its numbers.
    pub unit: Dimension,
    /// The mapping of numbers to positions.
    pub scale: Scale,
    /// The end of the axis; if missing, it follows from the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Number>,
    /// The least and the greatest number of all panels of a figure, so that their axes are equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cover: Option<[Number; 2]>,
}

impl Axis {
    /// Creates an axis that spans all of its data.
    pub fn new(label: impl Into<String>, unit: Dimension, scale: Scale) -> Self {
        Self { label: label.into(), unit, scale, to: None, cover: None }
    }
}

/// The mapping of an axis from numbers to positions.
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

/// An axis with a name at each position instead of numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Names {
    /// The thing that the names denote.
    pub label: String,
    /// The names in the order of their positions.
    pub names: Vec<String>,
    /// The positions of the names, if they are quantities of one kind, whose values a line may join. Other names have
    /// equal distances and no values in between.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<Places>,
}

/// The positions of quantities on an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Places {
    /// The number of each quantity.
    pub at: Vec<Number>,
    /// The mapping of these numbers to positions.
    pub scale: Scale,
}

impl Names {
    /// Creates an axis of names.
    pub fn new(label: impl Into<String>, names: Vec<String>) -> Self {
        Self { label: label.into(), names, places: None }
    }

    /// Creates an axis of labels. Quantities of one kind, such as `1` and `2` or `25MB/s` and `50MB/s`, get the
    /// positions of their numbers.
    pub fn of_labels(label: impl Into<String>, names: Vec<String>) -> Self {
        let places = quantity::numbers(&names).map(Places::new);
        Self { places, ..Self::new(label, names) }
    }
}

impl Places {
    /// Positions of these numbers, which must be different. The scale is logarithmic if that makes the distance of the
    /// closest neighbours larger than on a linear scale.
    fn new(numbers: Vec<f64>) -> Self {
        let mut sorted = numbers.clone();
        sorted.sort_by(f64::total_cmp);
        // The least distance of two neighbours as a share of the axis.
        let least = |place: fn(f64) -> f64| {
            let whole = place(sorted[sorted.len() - 1]) - place(sorted[0]);
            sorted.windows(2).map(|two| (place(two[1]) - place(two[0])) / whole).fold(f64::MAX, f64::min)
        };
        let is_log = sorted[0] > 0.0 && least(f64::ln) > least(|number| number) * 1.001;
        let scale = if is_log { Scale::Log } else { Scale::Linear };
        Self { at: numbers.into_iter().map(Number).collect(), scale }
    }
}

/// A line over a numeric axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The line's name in the legend.
    pub name: String,
    /// Number of the line's colour in the page's palette.
    pub colour: usize,
    /// The points from left to right; a value that is not a number makes a gap.
    pub points: Vec<[Number; 2]>,
    /// The spread of the values: horizontal position, lower end and upper end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spread: Vec<[Number; 3]>,
    /// The kind of steps; without it the line goes straight from point to point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<StepPosition>,
}

/// The position of the step between two points of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepPosition {
    /// Between two points the line has the value of the right one.
    Start,
    /// Between two points the line has the value of the left one.
    End,
}

impl Line {
    /// Creates a line without a spread.
    pub fn new(name: impl Into<String>, colour: usize, points: Vec<[Number; 2]>) -> Self {
        Self { name: name.into(), colour, points, spread: Vec::new(), step: None }
    }
}

/// A line whose points have names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Path {
    /// The line's name in the legend.
    pub name: String,
    /// The number of the line's colour.
    pub colour: usize,
    /// The points in the order of the line.
    pub points: Vec<Stop>,
}

/// A point with a name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stop {
    /// Label of the point in the chart.
    pub name: String,
    /// The horizontal and the vertical position.
    pub at: [Number; 2],
    /// The lower and the upper end of the spread of the vertical position, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<[Number; 2]>,
}

/// A part of a whole over an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layer {
    /// The part's name in the legend.
    pub name: String,
    /// The number of the part's colour.
    pub colour: usize,
    /// The value of the part in each interval.
    pub values: Vec<Number>,
}

/// The ends of the 95 % interval of a mean. For a quantity that cannot be negative the lower end is at least zero,
/// although half the width of an interval of few seeds may exceed the mean.
#[must_use]
pub fn interval(mean: f64, half_width: f64, can_be_negative: bool) -> [Number; 2] {
    let low = mean - half_width;
    [if can_be_negative { low } else { low.max(0.0) }, mean + half_width].map(Number)
}

/// A line over an axis of names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Course {
    /// The line's name in the legend.
    pub name: String,
    /// The number of the line's colour.
    pub colour: usize,
    /// A value for each name; a value that is not a number makes a gap.
    pub values: Vec<Number>,
    /// The lower and the upper end of the spread of each value, if known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spread: Vec<Option<[Number; 2]>>,
}

/// A value that a source states, or the range in which it lies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// The name of the source, as the legend shows it.
    pub name: String,
    /// The index of the mark's name on the horizontal axis.
    pub at: usize,
    /// The number of the colour of the line with which the mark is compared.
    pub colour: usize,
    /// The value, or the lower end of the range.
    pub low: Number,
    /// The value, or the upper end of the range.
    pub high: Number,
    /// The value and its source, as text.
    pub says: String,
}

/// A row of a stacked bar chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stack {
    /// The name of the row, as the axis shows it.
    pub name: String,
    /// The parts of the bar from left to right.
    pub parts: Vec<BarPart>,
    /// The label after the bar; by default the sum of its parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// A part of a stacked bar, with its colour and legend.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BarPart {
    /// Name of the part in the legend.
    pub name: String,
    /// Number of the part's colour in the page's palette.
    pub colour: usize,
    /// The length of the part, in the unit of the axis.
    pub value: Number,
}

/// A row of a heat map: a label, and a value for each column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeatRow {
    /// Label of the row on the vertical axis.
    pub name: String,
    /// A value for each column; a value that is not a number is not drawn.
    pub values: Vec<Number>,
}

/// A row of a chart of lanes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lane {
    /// The name of the resource.
    pub name: String,
    /// The activities of the resource.
    pub slices: Vec<LaneSlice>,
}

/// An activity of a resource.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaneSlice {
    /// The start, on the horizontal axis.
    pub from: Number,
    /// The end, on the horizontal axis.
    pub to: Number,
    /// The number of the activity's colour.
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
    fn quantities_stand_at_their_numbers_and_names_in_rows() {
        let places = |names: &[&str]| {
            let names = names.iter().map(ToString::to_string).collect();
            let places = Names::of_labels("x", names).places?;
            Some((places.at.iter().map(|number| number.0).collect::<Vec<_>>(), places.scale))
        };
        let (linear, log) = (Scale::Linear, Scale::Log);
        for (names, numbers, scale) in [
            (&["1", "2", "16"][..], vec![1.0, 2.0, 16.0], log),
            (&["25MB/s", "50MB/s", "75MB/s"], vec![25e6, 50e6, 75e6], linear),
            (&["7%", "20%"], vec![0.07, 0.2], linear),
            (&["0", "1 MiB", "15 MiB"], vec![0.0, 1_048_576.0, 15.0 * 1_048_576.0], linear),
            (&["4k", "48k", "1M"], vec![4e3, 48e3, 1e6], log),
            (&["65,536", "4"], vec![65_536.0, 4.0], linear),
        ] {
            assert_eq!(places(names), Some((numbers, scale)), "{names:?}");
        }
        for names in [&["1x1", "1x2"][..], &["greedy", "random"], &["256 MB", "none"], &["5"], &["1", "1.0"]] {
            assert_eq!(places(names), None, "{names:?}");
        }
    }

    #[test]
    fn an_interval_of_what_cannot_be_negative_ends_at_zero() {
        assert_eq!(interval(2.0, 3.0, false), [0.0, 5.0].map(Number));
        assert_eq!(interval(2.0, 3.0, true), [-1.0, 5.0].map(Number));
        assert_eq!(interval(4.0, 3.0, false), [1.0, 7.0].map(Number));
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
