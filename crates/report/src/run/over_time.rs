//! The figures of a detailed time series.

use base::io::IoKind;
use study::metric::Dimension;
use study::series::{Interval, Series};
use study::summary::{Report, percentile};

use crate::figure::{Axis, COLOURS, Chart, Figure, Line, Number, Scale};

/// The percentiles of an interval, with their names.
const QUANTILES: [(&str, f64); 3] = [("median", 0.5), ("p99", 0.99), ("p99.9", 0.999)];

/// Percentiles, queue depth and free blocks over the intervals; none without a detailed series.
pub(super) fn figures(report: &Report<'_>) -> Vec<Figure> {
    let Some((_, series)) = &report.result.detailed else { return Vec::new() };
    let each = SeriesFigures { report, series };
    let kinds = IoKind::ALL.into_iter().filter(|kind| !report.result.kind(*kind).latency.is_empty());
    let of_kind = |kind: IoKind| {
        QUANTILES.map(|(name, q)| {
            let value =
                move |i: &Interval<'_>| percentile(&i.detail?.kinds[kind as usize], &i.windows[kind as usize], q);
            (format!("{} {name}", kind.name()), value)
        })
    };
    let latency = each.lines(kinds.flat_map(of_kind));
    let all = |i: &Interval<'_>| Some(i.detail?.depth.mean(i.span()));
    let mut depth = each.lines([("all".to_owned(), all)]);
    for (number, flow) in report.result.flows.iter().enumerate() {
        let of = move |i: &Interval<'_>| Some(i.detail?.flows.get(number)?.depth.mean(i.span()));
        depth.extend(each.lines([(flow.name.clone(), of)]).into_iter().map(|line| Line { colour: number + 1, ..line }));
    }
    let free = each.lines([("free blocks".to_owned(), |i: &Interval<'_>| Some(i.to.free_blocks as f64))]);
    let chart =
        |label: &str, unit, scale, lines| Chart::Lines { x: each.axis(), y: Axis::new(label, unit, scale), lines };
    vec![
        Figure::new(
            "Percentiles over time",
            "Of each interval; a percentile beyond which fewer than ten requests lie is left out.",
            chart("latency", Dimension::Time, Scale::Log, latency),
        ),
        Figure::new(
            "Queue depth",
            "Mean number of requests outstanding in each interval.",
            chart("requests outstanding", Dimension::Count, Scale::Linear, depth),
        ),
        Figure::new(
            "Free blocks",
            "At the end of each interval.",
            chart("blocks", Dimension::Count, Scale::Linear, free),
        ),
    ]
}

struct SeriesFigures<'a> {
    report: &'a Report<'a>,
    series: &'a Series,
}

impl SeriesFigures<'_> {
    fn elapsed(&self, interval: &Interval<'_>) -> f64 {
        interval.to.at.saturating_since(self.report.result.before.at).as_us_f64()
    }

    fn axis(&self) -> Axis {
        let to = self.series.intervals().last().map(|last| Number(self.elapsed(&last)));
        Axis { to, ..Axis::new("simulated time", Dimension::Time, Scale::Linear) }
    }

    /// A line for each name, without lines that have no value.
    fn lines<F: Fn(&Interval<'_>) -> Option<f64>>(&self, all: impl IntoIterator<Item = (String, F)>) -> Vec<Line> {
        let line = |(i, (name, value)): (usize, (String, F))| {
            let points = self.series.intervals().map(|i| [self.elapsed(&i).into(), value(&i).into()]);
            Line::new(name, i % COLOURS, points.collect())
        };
        let lines = all.into_iter().enumerate().map(line);
        lines.filter(|line| line.points.iter().any(|[_, value]| value.0.is_finite())).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::figure::Chart;
    use crate::run::figures::figures;
    use crate::testing::{recorded_flows, reported, two_flows};

    #[test]
    fn a_detailed_series_is_drawn_for_each_flow() {
        reported(&recorded_flows(), &[], |report, _| {
            let all = figures(&report);
            let named = |heading: &str| {
                let found = all.iter().find(|figure| figure.heading == heading);
                let Some(Chart::Lines { lines, .. }) = found.map(|figure| &figure.chart) else { panic!("{heading}") };
                lines.iter().map(|line| (line.name.as_str(), line.points[1][1].0)).collect::<Vec<_>>()
            };
            assert_eq!(named("Queue depth"), [("all", 12.0), ("reader", 8.0), ("writer", 4.0)]);
            let names: Vec<_> = named("Percentiles over time").into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, ["read median", "write median"], "too few requests for p99");
        });
        reported(&two_flows(), &[], |report, _| {
            assert!(figures(&report).iter().all(|figure| figure.heading != "Queue depth"));
        });
    }
}
