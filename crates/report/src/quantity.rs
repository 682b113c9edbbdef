//! Labels that are quantities, converted to numbers.

use base::units::{Bytes, Frequency, Rate, Ratio, Span};

/// Prefixes of numbers without a unit of measure.
const PREFIXES: [(&str, f64); 5] = [("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];

/// The numbers of these labels in one unit of measure; `None` unless they are at least two different quantities of one
/// kind.
pub(crate) fn numbers(labels: &[String]) -> Option<Vec<f64>> {
    let all: Option<Vec<(String, f64)>> = labels.iter().map(|label| parse(label)).collect();
    let all = all?;
    // Zero may be without a unit.
    let mut kinds = all.iter().filter(|(kind, number)| !(kind.is_empty() && *number == 0.0)).map(|(kind, _)| kind);
    let kind = kinds.next()?;
    let numbers: Vec<f64> = all.iter().map(|(_, number)| *number).collect();
    let is_repeated = |(i, number): (usize, &f64)| numbers[..i].contains(number);
    (labels.len() > 1 && kinds.all(|other| other == kind) && !numbers.iter().enumerate().any(is_repeated))
        .then_some(numbers)
}

/// The kind of a quantity and its number in the base unit of the kind. The kind of an unknown unit is its text.
fn parse(label: &str) -> Option<(String, f64)> {
    let known = [
        ("time", label.parse::<Span>().ok().map(Span::as_us_f64)),
        ("bytes", label.parse::<Bytes>().ok().map(|bytes| bytes.get() as f64)),
        ("rate", label.parse::<Rate>().ok().map(|rate| rate.get() as f64)),
        ("share", label.parse::<Ratio>().ok().map(Ratio::get)),
        ("frequency", label.parse::<Frequency>().ok().map(|frequency| frequency.get() as f64)),
    ];
    let end = label.rfind(|c: char| c.is_ascii_digit())? + 1;
    let number: f64 = label[..end].replace([',', '_'], "").parse().ok().filter(|number: &f64| number.is_finite())?;
    let unit = label[end..].trim_start();
    if !unit.is_empty()
        && let Some((kind, number)) = known.into_iter().find_map(|(kind, number)| Some((kind, number?)))
    {
        return Some((kind.to_owned(), number));
    }
    let is_unit = unit.len() <= 8 && unit.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '%' | '/'));
    match PREFIXES.into_iter().find(|(prefix, _)| unit == *prefix || unit.strip_prefix(prefix) == Some("/s")) {
        Some((prefix, factor)) => Some((unit[prefix.len()..].to_owned(), number * factor)),
        None => is_unit.then(|| (unit.to_owned(), number)),
    }
}
