//! Charts as inline SVG, coloured by the style sheet of the page around them.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Width and height of a chart, and the margins its labels take.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 44.0;

/// How an axis maps numbers to places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    /// Evenly.
    Linear,
    /// By powers of ten.
    Log,
    /// By nines: 0.9, 0.99 and 0.999 are equally far apart.
    Nines,
    /// Names side by side, counted from zero.
    Names,
}

/// One axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(super) label: Cow<'static, str>,
    pub(super) scale: Scale,
    pub(super) from: f64,
    pub(super) to: f64,
    /// Those of [`Scale::Names`].
    pub(super) names: Vec<String>,
}

impl Axis {
    /// An axis over all of `values`; a linear one starts at zero.
    pub(crate) fn over(label: impl Into<Cow<'static, str>>, scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let (least, most) = values
            .filter(|v| v.is_finite() && (scale == Scale::Linear || *v > 0.0))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)));
        let (from, to) = match scale {
            Scale::Linear | Scale::Names => (0.0, if most > 0.0 { most * 1.05 } else { 1.0 }),
            Scale::Log if least <= most => {
                (10f64.powf(least.log10().floor()), 10f64.powf((most * 1.01).log10().ceil()))
            }
            Scale::Log => (1.0, 10.0),
            Scale::Nines => (0.0, if most > 0.0 { most } else { 0.99 }),
        };
        Self::between(label, scale, from, to)
    }

    /// An axis between two numbers.
    pub(super) fn between(label: impl Into<Cow<'static, str>>, scale: Scale, from: f64, to: f64) -> Self {
        Self { label: label.into(), scale, from, to, names: Vec::new() }
    }

    /// An axis of names.
    pub(crate) fn named(label: impl Into<Cow<'static, str>>, names: Vec<String>) -> Self {
        let to = names.len().saturating_sub(1).max(1) as f64;
        Self { names, ..Self::between(label, Scale::Names, 0.0, to) }
    }

    /// The place of a number: 0 at the start of the axis, 1 at its end.
    fn place(&self, value: f64) -> f64 {
        let nines = |value: f64| -(1.0 - value).max(1e-9).log10();
        let share = match self.scale {
            Scale::Linear | Scale::Names => (value - self.from) / (self.to - self.from),
            Scale::Log => (value.max(self.from) / self.from).log10() / (self.to / self.from).log10(),
            Scale::Nines => (nines(value) - nines(self.from)) / (nines(self.to) - nines(self.from)),
        };
        share.clamp(0.0, 1.0)
    }

    /// Numbers worth a line, with their texts.
    fn ticks(&self) -> Vec<(f64, String)> {
        match self.scale {
            Scale::Linear => {
                let rough = (self.to - self.from) / 5.0;
                let power = 10f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|s| *s >= rough).unwrap_or(rough);
                let count = ((self.to - self.from) / step).floor() as usize;
                (0..=count).map(|i| self.from + i as f64 * step).map(|value| (value, short(value))).collect()
            }
            Scale::Log => {
                let decades = (self.from.log10().round() as i32)..=(self.to.log10().round() as i32);
                decades.map(|decade| (10f64.powi(decade), short(10f64.powi(decade)))).collect()
            }
            Scale::Names => self.names.iter().enumerate().map(|(i, name)| (i as f64, escape(name))).collect(),
            Scale::Nines => [
                (0.0, "0%"),
                (0.9, "90%"),
                (0.99, "99%"),
                (0.999, "99.9%"),
                (0.9999, "99.99%"),
                (0.99999, "99.999%"),
                (0.999_999, "99.9999%"),
            ]
            .into_iter()
            .filter(|(value, _)| *value <= self.to)
            .map(|(value, text)| (value, text.to_owned()))
            .collect(),
        }
    }
}

/// A number as short as it can be.
pub(super) fn short(value: f64) -> String {
    let size = value.abs();
    let (scaled, suffix) = match size {
        size if size >= 1e9 => (value * 1e-9, "G"),
        size if size >= 1e6 => (value * 1e-6, "M"),
        size if size >= 1e4 => (value * 1e-3, "k"),
        _ => (value, ""),
    };
    let decimals = match scaled.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{scaled:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{suffix}")
}

/// Text that may stand in a page.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// One line of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// Number of its colour in the palette.
    pub(crate) colour: usize,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Colours in the palette.
pub(crate) const COLOURS: usize = 8;

fn x_at(share: f64) -> f64 {
    LEFT + share * (WIDTH - LEFT - RIGHT)
}

fn y_at(share: f64) -> f64 {
    HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
}

fn open(label: &str) -> String {
    format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n", escape(label))
}

/// The grid and the labels of both axes.
fn frame(x: &Axis, y: &Axis) -> String {
    let mut svg = String::new();
    for (value, text) in y.ticks() {
        let at = y_at(y.place(value));
        let _ =
            write!(svg, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>", WIDTH - RIGHT);
        let _ = writeln!(svg, "<text class=\"y\" x=\"{}\" y=\"{:.1}\">{text}</text>", LEFT - 8.0, at + 4.0);
    }
    for (value, text) in x.ticks() {
        let at = x_at(x.place(value));
        let bottom = HEIGHT - BOTTOM;
        let _ =
            write!(svg, "<line class=\"tick\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{bottom}\" y2=\"{}\"/>", bottom + 4.0);
        let _ = writeln!(svg, "<text class=\"x\" x=\"{at:.1}\" y=\"{}\">{text}</text>", bottom + 18.0);
    }
    let (middle, bottom) = (x_at(0.5), HEIGHT - 6.0);
    let _ = writeln!(svg, "<text class=\"label\" x=\"{middle:.1}\" y=\"{bottom}\">{}</text>", escape(&x.label));
    let at = y_at(0.5);
    let _ = writeln!(
        svg,
        "<text class=\"label\" transform=\"translate(14 {at:.1}) rotate(-90)\">{}</text>",
        escape(&y.label)
    );
    svg
}

fn legend<'a>(entries: impl Iterator<Item = (usize, &'a str)>) -> String {
    let items: String =
        entries.map(|(c, name)| format!("<span><i class=\"b{c}\"></i>{}</span>", escape(name))).collect();
    format!("<p class=\"legend\">{items}</p>\n")
}

/// Lines over a grid, with a legend; a number that is none makes a gap.
pub(crate) fn lines(label: &str, x: &Axis, y: &Axis, lines: &[Line]) -> String {
    let mut svg = legend(lines.iter().map(|line| (line.colour, line.name.as_str()))) + &open(label) + &frame(x, y);
    for line in lines {
        let mut path = String::new();
        let mut drawing = false;
        for (px, py) in &line.points {
            let shown = py.is_finite() && (y.scale != Scale::Log || *py > 0.0);
            if shown {
                let (px, py) = (x_at(x.place(*px)), y_at(y.place(*py)));
                // A line of no length is a dot: what stands alone between two gaps can be seen.
                let _ = if drawing { write!(path, "L{px:.1} {py:.1}") } else { write!(path, "M{px:.1} {py:.1}h0") };
            }
            drawing = shown;
        }
        let _ = writeln!(svg, "<path class=\"line s{}\" d=\"{path}\"/>", line.colour);
    }
    svg + "</svg>\n"
}

/// A bar for each (from, to, height) on the x axis.
pub(super) fn bars(label: &str, x: &Axis, y: &Axis, bars: &[(f64, f64, f64)]) -> String {
    let mut svg = open(label) + &frame(x, y);
    for (from, to, height) in bars {
        let (left, right, top) = (x_at(x.place(*from)), x_at(x.place(*to)), y_at(y.place(*height)));
        let (width, tall) = ((right - left - 1.0).max(0.5), (HEIGHT - BOTTOM - top).max(0.0));
        let title = format!("{} to {}: {}", short(*from), short(*to), short(*height));
        let _ = writeln!(
            svg,
            "<rect class=\"f0\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{tall:.1}\"><title>{title}</title></rect>"
        );
    }
    svg + "</svg>\n"
}

/// One row of a stacked bar chart: its name, and (colour, name, value) of each part.
pub(super) type Stack = (String, Vec<(usize, String, f64)>);

/// A bar per row, divided into its parts; every bar is as long as its sum.
pub(super) fn stacks(label: &str, unit: &str, rows: &[Stack]) -> String {
    let mut names: Vec<(usize, &str)> = Vec::new();
    for (colour, name, _) in rows.iter().flat_map(|(_, parts)| parts) {
        if !names.contains(&(*colour, name)) {
            names.push((*colour, name));
        }
    }
    names.sort_unstable();
    let sum = |parts: &[(usize, String, f64)]| parts.iter().map(|(_, _, value)| value).sum::<f64>();
    let most = rows.iter().map(|(_, parts)| sum(parts)).fold(f64::MIN_POSITIVE, f64::max);
    let height = 34.0 * rows.len() as f64 + 8.0;
    let mut svg = legend(names.into_iter());
    let _ = writeln!(svg, "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">", escape(label));
    for (i, (name, parts)) in rows.iter().enumerate() {
        let (top, mut left) = (34.0 * i as f64 + 4.0, 84.0);
        let _ = writeln!(svg, "<text class=\"y\" x=\"76\" y=\"{:.1}\">{}</text>", top + 18.0, escape(name));
        for (colour, part, value) in parts {
            let width = value / most * (WIDTH - 84.0 - 90.0);
            let title = format!("{} {}: {} {unit}", name, part, short(*value));
            let _ = writeln!(
                svg,
                "<rect class=\"f{colour}\" x=\"{left:.1}\" y=\"{top}\" width=\"{:.1}\" height=\"26\"><title>{}</title></rect>",
                width.max(0.5),
                escape(&title)
            );
            left += width;
        }
        let _ = writeln!(
            svg,
            "<text class=\"value\" x=\"{:.1}\" y=\"{:.1}\">{} {unit}</text>",
            left + 8.0,
            top + 18.0,
            short(sum(parts))
        );
    }
    svg + "</svg>\n"
}

/// One row of a heat map: its name, and (from, to, share) of each cell.
pub(super) type Heat = (String, Vec<(f64, f64, f64)>);

/// Rows of shares over time, from pale (idle) to full colour (busy).
pub(super) fn heat(label: &str, x: &Axis, rows: &[Heat]) -> String {
    let tall = (220.0 / rows.len() as f64).clamp(4.0, 22.0);
    let bottom = TOP + tall * rows.len() as f64;
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">",
        bottom + BOTTOM,
        escape(label)
    );
    for (i, (name, cells)) in rows.iter().enumerate() {
        let top = TOP + tall * i as f64;
        if tall >= 11.0 || i % 4 == 0 {
            let _ = writeln!(
                svg,
                "<text class=\"y\" x=\"{}\" y=\"{:.1}\">{}</text>",
                LEFT - 8.0,
                top + tall.min(12.0),
                escape(name)
            );
        }
        for (from, to, share) in cells {
            let (left, right) = (x_at(x.place(*from)), x_at(x.place(*to)));
            let _ = write!(
                svg,
                "<rect class=\"heat\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.2}\" height=\"{:.1}\" fill-opacity=\"{:.2}\"/>",
                right - left + 0.2,
                tall - 1.0,
                0.04 + 0.96 * share.clamp(0.0, 1.0)
            );
        }
        svg.push('\n');
    }
    for (value, text) in x.ticks() {
        let _ =
            writeln!(svg, "<text class=\"x\" x=\"{:.1}\" y=\"{}\">{text}</text>", x_at(x.place(value)), bottom + 16.0);
    }
    let _ = writeln!(
        svg,
        "<text class=\"label\" x=\"{:.1}\" y=\"{}\">{}</text>",
        x_at(0.5),
        bottom + 36.0,
        escape(&x.label)
    );
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_place_and_label_their_numbers() {
        let linear = Axis::over("t", Scale::Linear, [0.0, 40.0].into_iter());
        assert_eq!(
            linear.ticks().iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(),
            ["0", "10", "20", "30", "40"]
        );
        let log = Axis::over("l", Scale::Log, [30.0, 4_000.0].into_iter());
        assert_eq!((log.from, log.to), (10.0, 10_000.0));
        assert!((log.place(100.0) - 1.0 / 3.0).abs() < 1e-12);
        let nines = Axis::between("q", Scale::Nines, 0.0, 0.999);
        assert!((nines.place(0.9) - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(nines.ticks().len(), 4);
    }

    #[test]
    fn numbers_are_short_and_texts_are_escaped() {
        assert_eq!([0.5, 12.0, 1234.0, 56_789.0, 2.5e6].map(short), ["0.5", "12", "1234", "56.8k", "2.5M"]);
        assert_eq!(escape("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
    }

    #[test]
    fn nothing_to_show_is_no_failure() {
        let empty = Axis::over("t", Scale::Log, std::iter::empty());
        assert!(lines("none", &empty, &empty, &[]).ends_with("</svg>\n"));
        assert!(!stacks("none", "s", &[]).contains("NaN"));
    }
}
