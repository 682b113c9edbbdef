//! The course of a run over time, in bounded memory.
//!
//! Points have equal distances. If there are too many, the series drops every second one and doubles the distance.
//! Points hold counters since the start of the run, so that a dropped point only reduces the resolution.

mod detail;

use std::fmt;

use base::io::IoKind;
use base::units::{Sectors, Span, Time};
use ssd::Counters;

use detail::OpenInterval;

pub use detail::{Depth, Detail, FlowDetail, Latencies};

/// Latencies of one kind of request within one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The number of requests that succeeded.
    pub count: u64,
    /// The sum of the requests' latencies in picoseconds.
    pub sum_ps: u128,
    /// The longest latency of the requests.
    pub max: Span,
}

impl Window {
    #[inline]
    pub(crate) fn record(&mut self, latency: Span) {
        self.count += 1;
        self.sum_ps += u128::from(latency.as_ps());
        self.max = self.max.max(latency);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_ps += other.sum_ps;
        self.max = self.max.max(other.max);
    }

    /// The mean latency; `None` if no request completed.
    #[must_use]
    pub fn mean(&self) -> Option<Span> {
        (self.count > 0).then(|| Span::from_ps((self.sum_ps / u128::from(self.count)) as u64))
    }
}

/// The end of an interval.
#[derive(Clone, Debug)]
struct Point {
    counters: Counters,
    windows: [Window; IoKind::ALL.len()],
    detail: Option<Box<Detail>>,
}

/// A time series of intervals of equal length; the last may be shorter.
#[derive(Clone)]
pub struct Series {
    start: Counters,
    interval: Span,
    capacity: usize,
    points: Vec<Point>,
    /// The time of the next point; `None` after the end of time.
    due: Option<Time>,
    open: [Window; IoKind::ALL.len()],
    /// The details of the open interval; `None` unless the series is detailed.
    detail: Option<Box<OpenInterval>>,
}

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interval, points, .. } = self;
        write!(f, "Series of {} points, {interval} apart", points.len())
    }
}

/// The numbers of one interval of a [`Series`], computed from its counts.
#[derive(Clone, Copy, Debug)]
pub struct Interval<'a> {
    /// The counters at the start of the interval.
    pub from: &'a Counters,
    /// The counters at the end of the interval.
    pub to: &'a Counters,
    /// Latencies of the requests that succeeded in the interval, by `IoKind`.
    pub windows: &'a [Window; IoKind::ALL.len()],
    /// Distributions, flows and the queue depth; `None` unless the series is detailed.
    pub detail: Option<&'a Detail>,
}

impl Interval<'_> {
    /// The length of the interval.
    #[must_use]
    pub fn span(&self) -> Span {
        self.to.at - self.from.at
    }
}

impl Series {
    /// Creates a series from `start`, with points `interval` apart at first and at most `capacity` of them.
    ///
    /// # Panics
    ///
    /// If `interval` is zero or `capacity` is below two.
    #[must_use]
    pub fn new(start: Counters, interval: Span, capacity: usize) -> Self {
        assert!(!interval.is_zero(), "points of a series lie apart");
        assert!(capacity >= 2, "a series of fewer than two points");
        let points = Vec::with_capacity(capacity);
        let mut series = Self { start, interval, capacity, points, due: None, open: Default::default(), detail: None };
        series.due = series.next_point();
        series
    }

    /// Creates a series that also has distributions of latencies and queue depths, by flow if there are several.
    /// `outstanding` is the number of outstanding requests of each flow.
    ///
    /// # Panics
    ///
    /// As [`Series::new`].
    #[must_use]
    pub fn detailed(start: Counters, interval: Span, capacity: usize, outstanding: &[u64]) -> Self {
        Self { detail: Some(Box::new(OpenInterval::new(outstanding))), ..Self::new(start, interval, capacity) }
    }

    /// The present length of the intervals.
    #[must_use]
    pub const fn interval(&self) -> Span {
        self.interval
    }

    /// The number of outstanding requests of each flow of a detailed series.
    pub(crate) fn outstanding(&self) -> Vec<u64> {
        self.detail.as_ref().map_or_else(Vec::new, |detail| detail.outstanding())
    }

    /// Records that a flow submitted a request.
    #[inline]
    pub(crate) fn submitted(&mut self, flow: usize) {
        if let Some(detail) = &mut self.detail {
            detail.submitted(flow);
        }
    }

    /// Records that a request of a flow failed.
    #[cold]
    pub(crate) fn failed(&mut self, flow: u16) {
        if let Some(detail) = &mut self.detail {
            detail.ended(flow);
        }
    }

    /// Records a request of a flow that succeeded.
    #[inline]
    pub(crate) fn completed(&mut self, flow: u16, kind: IoKind, sectors: Sectors, latency: Span) {
        self.record(kind, latency);
        if let Some(detail) = &mut self.detail {
            detail.completed(flow, kind, sectors, latency);
        }
    }

    /// Records that this many requests were outstanding for some time.
    #[inline]
    pub(crate) fn pass(&mut self, outstanding: u64, span: Span) {
        if let Some(detail) = &mut self.detail {
            detail.pass(outstanding, span);
        }
    }

    /// Ends the details of the open interval and returns them; `None` unless the series is detailed.
    fn end_detail(&mut self) -> Option<Box<Detail>> {
        self.detail.as_mut().map(|detail| Box::new(detail.close()))
    }

    /// Records a request that succeeded.
    #[inline]
    pub fn record(&mut self, kind: IoKind, latency: Span) {
        self.open[kind as usize].record(latency);
    }

    /// The time of the next point; `None` after the end of time.
    #[must_use]
    #[inline]
    pub const fn due(&self) -> Option<Time> {
        self.due
    }

    fn next_point(&self) -> Option<Time> {
        let ps = self.interval.as_ps().checked_mul(self.points.len() as u64 + 1)?;
        self.start.at.as_ps().checked_add(ps).map(Time::from_ps)
    }

    /// Closes the interval with the counters at its end.
    pub fn close(&mut self, counters: Counters) {
        let detail = self.end_detail();
        self.points.push(Point { counters, windows: std::mem::take(&mut self.open), detail });
        if self.points.len() == self.capacity {
            self.halve();
        }
        self.due = self.next_point();
    }

    /// Ends the series: closes the last, shorter interval, unless it is empty.
    pub fn finish(&mut self, counters: Counters) {
        let last = self.points.last().map_or(self.start.at, |point| point.counters.at);
        if counters.at > last {
            let detail = self.end_detail();
            self.points.push(Point { counters, windows: std::mem::take(&mut self.open), detail });
            return;
        }
        let detail = self.end_detail();
        if let Some(point) = self.points.last_mut() {
            // Requests that completed at the instant of the last point belong to the interval that ends there.
            point.counters = counters;
            point.windows.iter_mut().zip(&self.open).for_each(|(window, open)| window.merge(open));
            if let (Some(there), Some(detail)) = (&mut point.detail, detail) {
                there.merge(&detail);
            }
        }
    }

    fn halve(&mut self) {
        let mut kept = 0;
        for i in (1..self.points.len()).step_by(2) {
            let earlier = self.points[i - 1].windows;
            self.points[i].windows.iter_mut().zip(&earlier).for_each(|(window, earlier)| window.merge(earlier));
            let earlier = self.points[i - 1].detail.take();
            if let (Some(detail), Some(earlier)) = (&mut self.points[i].detail, earlier) {
                detail.merge(&earlier);
            }
            self.points.swap(kept, i);
            kept += 1;
        }
        // An odd last point has no partner, so its interval is opened again.
        if self.points.len() % 2 == 1 {
            let last = self.points.pop().expect("an odd number is not zero");
            self.open.iter_mut().zip(&last.windows).for_each(|(open, window)| open.merge(window));
            if let (Some(open), Some(detail)) = (&mut self.detail, last.detail) {
                open.reopen(*detail);
            }
        }
        self.points.truncate(kept);
        self.interval = self.interval * 2;
    }

    /// The intervals in order.
    pub fn intervals(&self) -> impl ExactSizeIterator<Item = Interval<'_>> {
        self.points.iter().enumerate().map(|(i, point)| Interval {
            from: i.checked_sub(1).map_or(&self.start, |earlier| &self.points[earlier].counters),
            to: &point.counters,
            windows: &point.windows,
            detail: point.detail.as_deref(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::counters_at;

    fn filled(points: u64, capacity: usize) -> Series {
        let mut series = Series::new(counters_at(Time::ZERO), Span::from_ps(10), capacity);
        for _ in 0..points {
            let due = series.due().expect("not the end of time");
            // One request for each 10 ps, at any distance of the points.
            let since = series.points.last().map_or(Time::ZERO, |point| point.counters.at);
            for i in 0..(due - since).as_ps() / 10 {
                series.record(IoKind::Read, Span::from_ps(i + 1));
            }
            series.close(counters_at(due));
        }
        series
    }

    #[test]
    fn points_stay_equidistant_and_within_the_capacity() {
        for capacity in [8, 9, 40] {
            let series = filled(100, capacity);
            assert!(series.points.len() <= capacity);
            let spans: Vec<_> = series.intervals().map(|i| i.span()).collect();
            assert!(spans.iter().all(|span| *span == spans[0]), "capacity {capacity}: {spans:?}");
        }
    }

    #[test]
    fn no_request_is_lost_or_counted_twice() {
        let mut series = filled(77, 8);
        let end = series.due().expect("not the end of time");
        series.record(IoKind::Write, Span::from_ps(5));
        series.finish(counters_at(Time::from_ps(end.as_ps() - 1)));
        for interval in series.intervals() {
            let reads = interval.windows[IoKind::Read as usize];
            assert!(reads.count == interval.span().as_ps() / 10 || interval.to.at.as_ps() == end.as_ps() - 1);
        }
        let last = series.intervals().last().expect("some");
        assert_eq!(last.windows[IoKind::Write as usize], Window { count: 1, sum_ps: 5, max: Span::from_ps(5) });
    }

    #[test]
    fn a_detailed_series_keeps_every_request_and_every_picosecond_when_it_merges() {
        let ps = Span::from_ps;
        let mut series = Series::detailed(counters_at(Time::ZERO), ps(10), 9, &[1, 0]);
        for i in 0..1_234 {
            // Two requests are outstanding, then one, then two: a request of the other flow ends, and another begins.
            series.submitted(1);
            series.pass(2, ps(4));
            series.completed(1, IoKind::Write, Sectors::new(8), Span::from_us(i + 1));
            series.pass(1, ps(6));
            if let Some(due) = series.due().filter(|due| due.as_ps() == (i + 1) * 10) {
                series.close(counters_at(due));
            }
        }
        series.finish(counters_at(Time::from_ps(12_340)));
        let details: Vec<_> = series.intervals().map(|i| (i.span(), i.detail.expect("it is detailed"))).collect();
        assert!(details.len() < 9 && details.iter().all(|(span, _)| *span <= series.interval()));
        let sum = |of: fn(&Detail) -> u64| details.iter().map(|(_, detail)| of(detail)).sum::<u64>();
        assert_eq!(sum(|detail| detail.kinds[IoKind::Write as usize].count()), 1_234);
        assert_eq!(sum(|detail| detail.flows[1].window.count), 1_234);
        assert_eq!(sum(|detail| detail.flows[1].moved.get()), 1_234 * 8);
        for (span, detail) in details {
            assert!((detail.depth.mean(span) - 1.4).abs() < 1e-9, "{detail:?}");
            assert!((detail.flows[1].depth.mean(span) - 0.4).abs() < 1e-9, "{detail:?}");
            assert_eq!((detail.depth.max, detail.flows[0].depth.max, detail.flows[1].depth.max), (2, 1, 1));
        }
    }

    #[test]
    fn a_request_that_completes_at_the_last_point_belongs_to_it() {
        let mut series = filled(1, 8);
        series.record(IoKind::Read, Span::from_ps(9));
        series.finish(counters_at(Time::from_ps(10)));
        assert_eq!(series.intervals().len(), 1);
        assert_eq!(series.intervals().last().expect("one").windows[IoKind::Read as usize].count, 2);
    }
}
