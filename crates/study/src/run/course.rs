//! The detailed time series of a run, if one is asked for.

use base::units::Span;
use ssd::Counters;

use crate::series::Series;

/// The maximum number of points of the time series. A long run keeps at least half as many.
pub(super) const SERIES_POINTS: usize = 400;

/// The distance of the points before the first doubling: short enough for any run that needs a time series.
pub(super) const SERIES_INTERVAL: Span = Span::from_us(10);

/// The most intervals of a length that the user has chosen. A longer run has half as many, each twice as long, and its
/// results say so.
pub const MOST_INTERVALS: usize = 4_096;

/// A detailed time series: distributions of latencies and queue depths, by flow if there are several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// The length of the intervals; `None` for a length that gives some hundred of them.
    pub interval: Option<Span>,
}

impl Course {
    /// The number of points that the series has room for.
    pub(super) const fn points(self) -> usize {
        if self.interval.is_some() { MOST_INTERVALS } else { SERIES_POINTS }
    }

    /// Creates a series from `start`. `outstanding` has the number of outstanding requests of each flow; it is empty if
    /// there is only one workload.
    pub(super) fn series(self, start: Counters, outstanding: &[u64]) -> Series {
        Series::detailed(start, self.interval.unwrap_or(SERIES_INTERVAL), self.points(), outstanding)
    }

    /// A note for the reader, if the intervals are longer than the user asked for.
    pub(crate) fn note(self, series: &Series) -> Option<String> {
        let asked = self.interval.filter(|asked| *asked != series.interval())?;
        let is = series.interval();
        Some(format!("the intervals of the series are {is} long, not {asked}: it keeps at most {MOST_INTERVALS}"))
    }
}

#[cfg(test)]
mod tests {
    use base::io::IoKind;
    use ssd::QueueId;
    use testkit::small;

    use super::*;
    use crate::oracle::Blank;
    use crate::run::{Flow, Rules, RunResult, WarmUp};
    use crate::summary::percentile;
    use crate::testing::{summary, two_flows};

    /// Two flows on four servers, eight and four requests outstanding, in intervals of this length.
    fn recorded(interval: Option<Span>, warm_up: WarmUp) -> RunResult {
        let (mut drive, mut flows) = small::two_flows();
        let flow = |(name, source)| Flow { name: String::from(name), source, pacing: None, queue: QueueId::default() };
        let flows = flows.iter_mut().map(|(name, source)| flow((*name, source))).collect();
        let rules = Rules { course: Some(Course { interval }), warm_up, ..Rules::settle(Span::from_secs(10)) };
        rules.run_several(&mut drive, flows, &mut Blank).expect("it runs")
    }

    #[test]
    fn intervals_have_queue_depths_and_percentiles_of_each_flow() {
        for warm_up in [WarmUp::None, WarmUp::Requests(100)] {
            let result = recorded(Some(Span::from_ms(5)), warm_up);
            let (course, series) = result.detailed.as_ref().expect("asked for");
            let intervals: Vec<_> = series.intervals().collect();
            assert!(course.note(series).is_none() && intervals.len() >= 7, "{warm_up:?}");
            for interval in &intervals[..6] {
                let detail = interval.detail.expect("it is detailed");
                assert_eq!(interval.span(), Span::from_ms(5));
                let depths = detail.flows.iter().map(|flow| flow.depth.mean(interval.span())).collect::<Vec<_>>();
                assert_eq!((detail.depth.mean(interval.span()), &depths[..]), (12.0, &[8.0, 4.0][..]), "{warm_up:?}");
                // Twelve requests outstanding on four servers of 100 us.
                let reads = IoKind::Read as usize;
                let median = percentile(&detail.kinds[reads], &interval.windows[reads], 0.5).expect("reads");
                assert!((median / 300.0 - 1.0).abs() < 0.01, "{median}");
                assert_eq!(detail.kinds[reads].count(), detail.flows[0].window.count);
                assert_eq!(percentile(&detail.kinds[reads], &interval.windows[reads], 0.999), None, "too few");
            }
            for (i, flow) in result.flows.iter().enumerate() {
                let all: u64 =
                    intervals.iter().map(|interval| interval.detail.expect("it is").flows[i].window.count).sum();
                assert_eq!(all, flow.completed, "{warm_up:?}");
            }
        }
    }

    #[test]
    fn recording_changes_no_other_number() {
        let (plain, recorded) = (two_flows(), recorded(Some(Span::from_us(7)), WarmUp::None));
        let mut shown = summary(&recorded);
        let series = shown.series.take().expect("its intervals were chosen");
        assert_eq!(shown, summary(&plain));
        assert!(series.intervals.iter().all(|interval| interval.flows.len() == 2));
        assert!(summary(&self::recorded(None, WarmUp::None)).series.is_none(), "nobody chose them");
    }

    #[test]
    fn a_run_of_too_many_intervals_has_longer_ones_and_says_so() {
        let result = recorded(Some(Span::from_us(1)), WarmUp::None);
        let (course, series) = result.detailed.as_ref().expect("asked for");
        assert!((MOST_INTERVALS / 2 - 1..=MOST_INTERVALS).contains(&series.intervals().len()));
        let note = course.note(series).expect("a note");
        assert_eq!(note, "the intervals of the series are 16us long, not 1us: it keeps at most 4096");
    }
}
