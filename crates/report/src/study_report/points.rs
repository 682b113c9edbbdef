//! The points of a study as a table for other programs: one row per run.

use study::execute::StudyOutcome;
use study::metric::{Dimension, Metric, MetricEntry, catalogue};
use study::plan::Label;

use crate::table::{Column, Field, Table, UnitOfMeasure, Values};

/// The metrics that every table of points has, beside the metrics of its study.
const ALWAYS: [&str; 16] = [
    "read.mean",
    "read.p99",
    "read.access",
    "read.flash-wait",
    "write.mean",
    "write.p99",
    "write.access",
    "write.flash-wait",
    "requests-per-s",
    "read.rate",
    "write.rate",
    "failed",
    "unmapped",
    "waf",
    "busy.channels",
    "busy.dies",
];

/// One row per run: the values of its point on the axes, its seed, and metrics.
///
/// # Panics
/// Never: the metrics that every table has exist.
#[must_use]
pub fn points(outcome: &StudyOutcome) -> Table {
    let runs = || outcome.runs.iter().enumerate().flat_map(|(point, runs)| runs.iter().map(move |run| (point, run)));
    let mut table = Table::default();
    add_axes(&mut table, outcome, &runs().map(|(point, _)| point).collect::<Vec<_>>());
    table.push(SEED, Column::Count(runs().map(|(_, run)| run.seed).collect()));
    let always = ALWAYS.iter().map(|name| name.parse::<Metric>().expect("a constant, valid name"));
    for metric in outcome.plan.spec.metrics.iter().cloned().chain(always) {
        let field = field(&metric);
        if !table.has(&field.name) {
            table.push(field, Column::Number(runs().map(|(_, run)| metric.of(run)).collect()));
        }
    }
    table
}

/// Adds a column for each axis of a study, to a table with rows about these points.
pub(super) fn add_axes(table: &mut Table, outcome: &StudyOutcome, points: &[usize]) {
    for (i, (axis, labels)) in outcome.plan.axes.iter().enumerate() {
        let scale = Scale::of(labels);
        let at = |point: &usize| &outcome.labels(*point)[i];
        let column = match scale {
            Scale::Names => Column::Text(points.iter().map(|point| at(point).to_string().into()).collect()),
            Scale::Numbers(_) => Column::Number(points.iter().map(|point| scale.value(at(point))).collect()),
        };
        let mut field = scale.field(axis);
        // The name of an axis may equal that of another column.
        while table.has(&field.name) || field.name == SEED.name {
            field.name = format!("axis_{}", field.name).into();
        }
        table.push(field, column);
    }
}

pub(super) const SEED: Field = Field::new("seed", Values::Count, UnitOfMeasure::None, "The seed of the run");

/// The columns of every file of points; `AXIS` and `METRIC` stand for the study's axes and metrics.
pub(crate) fn fields() -> Vec<Field> {
    let always = ALWAYS.iter().map(|name| field(&name.parse().expect("a constant, valid name")));
    let axis = "The value of the point on an axis, one column for each axis of the study: a number if all values of the axis \
                are numbers, or quantities with one unit of measure, which then ends the name (`_us`, `_bytes`, \
                `_bytes_per_s`, `_per_s`); else the text of the study";
    let metric = "A metric that the study names, with its unit of measure at the end of the name (`_us`, `_bytes_per_s`, \
                  `_per_s`, `_j`); `/` becomes `per`, what is neither letter nor digit becomes `_`";
    [
        Field::new("AXIS", Values::Text, UnitOfMeasure::None, axis),
        SEED,
        Field::new("METRIC", Values::Number, UnitOfMeasure::None, metric),
    ]
    .into_iter()
    .chain(always)
    .collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    /// Names without an order.
    Names,
    /// The axis has numbers, in this unit of measure.
    Numbers(UnitOfMeasure),
}

impl Scale {
    /// The kind of values of an axis with these labels: numbers, if all of them have one unit of measure.
    fn of(labels: &[Label]) -> Self {
        const ALL: [UnitOfMeasure; 6] = [
            UnitOfMeasure::None,
            UnitOfMeasure::Microseconds,
            UnitOfMeasure::Bytes,
            UnitOfMeasure::BytesPerSecond,
            UnitOfMeasure::PerSecond,
            UnitOfMeasure::Share,
        ];
        let measures =
            |unit: &UnitOfMeasure| !labels.is_empty() && labels.iter().all(|label| number(label, *unit).is_some());
        ALL.into_iter().find(measures).map_or(Self::Names, Self::Numbers)
    }

    fn value(self, label: &Label) -> Option<f64> {
        match self {
            Self::Names => None,
            Self::Numbers(unit) => number(label, unit),
        }
    }

    /// The column of an axis with such values.
    fn field(self, axis: &str) -> Field {
        let about = format!("The value on the axis `{axis}`");
        match self {
            Self::Names => {
                Field::named(column_name(axis, UnitOfMeasure::None), Values::Text, UnitOfMeasure::None, about)
            }
            Self::Numbers(unit) => Field::named(column_name(axis, unit), Values::Number, unit, about),
        }
    }
}

/// A label as a number in this unit of measure; `None` if it is not a number.
fn number(label: &Label, unit: UnitOfMeasure) -> Option<f64> {
    let text = label.as_str();
    match unit {
        UnitOfMeasure::None => label.number(),
        UnitOfMeasure::Microseconds => Dimension::Time.parse(text),
        UnitOfMeasure::Bytes => text.parse::<base::units::Bytes>().ok().map(|bytes| bytes.get() as f64),
        UnitOfMeasure::BytesPerSecond => Dimension::Rate.parse(text),
        UnitOfMeasure::PerSecond => Dimension::PerSecond.parse(text),
        UnitOfMeasure::Share => Dimension::Share.parse(text),
        UnitOfMeasure::Picoseconds
        | UnitOfMeasure::Seconds
        | UnitOfMeasure::Sectors
        | UnitOfMeasure::Joules
        | UnitOfMeasure::Watts
        | UnitOfMeasure::Celsius => None,
    }
}

fn field(metric: &Metric) -> Field {
    let name = metric.to_string();
    let unit = match metric.dimension() {
        Dimension::Time => UnitOfMeasure::Microseconds,
        Dimension::Rate => UnitOfMeasure::BytesPerSecond,
        Dimension::PerSecond => UnitOfMeasure::PerSecond,
        Dimension::Energy => UnitOfMeasure::Joules,
        Dimension::Share => UnitOfMeasure::Share,
        Dimension::Count if name.ends_with("bytes") => UnitOfMeasure::Bytes,
        Dimension::Count | Dimension::Plain => UnitOfMeasure::None,
    };
    let meaning = meaning(&name).or_else(|| meaning_of_flow(&name));
    let meaning = meaning.map_or_else(String::new, |meaning| format!(": {}", lower(&meaning)));
    Field::named(column_name(&name, unit), Values::Number, unit, format!("The metric `{name}`{meaning}"))
}

/// The meaning of a metric of one flow, derived from the meaning of the metric for all requests.
fn meaning_of_flow(name: &str) -> Option<String> {
    let (flow, stat) = name.strip_prefix("flow.")?.split_once('.')?;
    let (stat, alone) = stat.strip_prefix("alone.").map_or((stat, ""), |stat| (stat, " alone on the drive"));
    Some(format!("{}; of the flow `{flow}`{alone}", meaning(stat)?))
}

/// The meaning of a metric in the catalogue.
fn meaning(name: &str) -> Option<String> {
    let is = |entry: &MetricEntry| {
        let (mut ours, mut listed) = (name.split('.'), entry.name.split('.'));
        let stands = |(of, part): (&str, &str)| of == part || ["KIND", "OP", "CAUSE", "OUTCOME", "NAME"].contains(&of);
        let same = (&mut listed).zip(&mut ours).all(stands);
        same && ours.next().is_none() && entry.name.split('.').count() == name.split('.').count()
    };
    catalogue().into_iter().flat_map(|group| group.entries).find(is).map(|entry| entry.meaning.to_owned())
}

/// Makes the first letter small.
fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// A column name that every reader of Parquet and every language accepts, with its unit of measure at the end.
pub(super) fn column_name(text: &str, unit: UnitOfMeasure) -> String {
    let mut name = String::new();
    for c in text.replace('/', " per ").chars() {
        match c {
            c if c.is_ascii_alphanumeric() => name.push(c),
            _ if name.ends_with('_') => {}
            _ => name.push('_'),
        }
    }
    if unit.ends(&name) { name } else { name + unit.suffix() }
}

#[cfg(test)]
mod tests {
    use testkit::small::STUDY;

    use super::*;
    use crate::testing::studied;

    #[test]
    fn names_state_the_unit_once() {
        let name = |text: &str| field(&text.parse().expect(text)).name.into_owned();
        assert_eq!(name("read.p99"), "read_p99_us");
        assert_eq!(name("requests-per-s"), "requests_per_s");
        assert_eq!(name("read.rate"), "read_rate_bytes_per_s");
        assert_eq!(name("write.bytes"), "write_bytes");
        assert_eq!(name("write.service / read.service"), "write_service_per_read_service");
        assert_eq!(name("energy"), "energy_j");
        assert_eq!(name("busy.dies"), "busy_dies");
        assert_eq!(name("flow.reader.alone.read.p99"), "flow_reader_alone_read_p99_us");
    }

    #[test]
    fn every_metric_of_the_catalogue_has_a_meaning_in_its_column() {
        for entry in catalogue().into_iter().flat_map(|group| group.entries) {
            let field = field(&entry.metric());
            assert!(field.meaning.contains("`: "), "{}: {}", entry.name, field.meaning);
        }
    }

    #[test]
    fn an_axis_of_quantities_is_a_column_of_numbers() {
        let scale = |labels: &[&str]| Scale::of(&labels.iter().map(|label| Label::from(*label)).collect::<Vec<_>>());
        assert_eq!(scale(&["1", "4", "0.5"]), Scale::Numbers(UnitOfMeasure::None));
        assert_eq!(scale(&["25us", "1ms"]), Scale::Numbers(UnitOfMeasure::Microseconds));
        assert_eq!(scale(&["4KiB", "512B"]), Scale::Numbers(UnitOfMeasure::Bytes));
        assert_eq!(scale(&["50MB/s"]), Scale::Numbers(UnitOfMeasure::BytesPerSecond));
        assert_eq!(scale(&["1.2M/s", "100k/s"]), Scale::Numbers(UnitOfMeasure::PerSecond));
        assert_eq!(scale(&["7%", "28%"]), Scale::Numbers(UnitOfMeasure::Share));
        assert_eq!(scale(&["4KiB", "25us"]), Scale::Names);
        assert_eq!(scale(&["greedy", "4"]), Scale::Names);
        assert_eq!(Scale::Numbers(UnitOfMeasure::Microseconds).value(&Label::from("1ms")), Some(1000.0));
        assert_eq!(Scale::Numbers(UnitOfMeasure::Bytes).field("request size").name, "request_size_bytes");
    }

    #[test]
    fn each_run_of_a_study_is_a_row_with_numbers_on_its_axes() {
        let outcome = studied(STUDY);
        let table = points(&outcome);
        let runs: usize = outcome.runs.iter().map(Vec::len).sum();
        assert_eq!(table.rows(), runs);
        let text = table.csv();
        let (axis, _) = &outcome.plan.axes[0];
        let head = text.lines().next().expect("a header");
        assert!(head.starts_with(&format!("{axis},seed,")), "{head}");
        assert!(head.contains("read_p99_us") && head.contains("requests_per_s"), "{head}");
        let first = text.lines().nth(1).and_then(|line| line.split(',').next()).expect("a row");
        assert_eq!(first, outcome.labels(0)[0].as_str());
        assert_eq!(table.columns().next().map(Column::values), Some(Values::Number));
    }
}
