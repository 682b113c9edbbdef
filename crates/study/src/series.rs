//! The course of a run over time, in bounded memory.
//!
//! Points have equal distances. If there are too many, the series drops every second one and doubles the distance.
//! Points hold counters since the start of the run, so that a dropped point only reduces the resolution.

use std::fmt;

use base::io::IoKind;
use base::units::{Span, Time};
use ssd::Counters;

/// Latencies of one kind of request within one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Requests that completed.
    pub count: u64,
    /// The sum of their latencies in picoseconds.
    pub sum_ps: u128,
    /// The longest of them.
    pub max: Span,
}

impl Window {
    #[inline]
    fn record(&mut self, latency: Span) {
        self.count += 1;
        self.sum_ps += u128::from(latency.as_ps());
        self.max = self.max.max(latency);
    }

    fn merge(&mut self, other: &Self) {
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
}

/// A time series of intervals of equal length; the last may be shorter.
#[derive(Clone)]
pub struct Series {
    start: Counters,
    interval: Span,
    capacity: usize,
    points: Vec<Point>,
    /// The time of the next point; `None` beyond the end of time.
    due: Option<Time>,
    open: [Window; IoKind::ALL.len()],
}

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interval, points, .. } = self;
        write!(f, "Series of {} points, {interval} apart", points.len())
    }
}

/// One interval of a [`Series`].
#[derive(Clone, Copy, Debug)]
pub struct Interval<'a> {
    /// The counters at its start.
    pub from: &'a Counters,
    /// The counters at its end.
    pub to: &'a Counters,
    /// Latencies of the requests that completed in it, by `IoKind`.
    pub windows: &'a [Window; IoKind::ALL.len()],
}

impl Interval<'_> {
    /// Its length.
    #[must_use]
    pub fn span(&self) -> Span {
        self.to.at - self.from.at
    }
}

impl Series {
    /// A series from `start`, with points `interval` apart at first and at most `capacity` of them.
    ///
    /// # Panics
    /// If `interval` is zero or `capacity` is below two.
    #[must_use]
    pub fn new(start: Counters, interval: Span, capacity: usize) -> Self {
        assert!(!interval.is_zero(), "points of a series lie apart");
        assert!(capacity >= 2, "a series of fewer than two points");
        let points = Vec::with_capacity(capacity);
        let mut series = Self { start, interval, capacity, points, due: None, open: Default::default() };
        series.due = series.next_point();
        series
    }

    /// Records a completed request.
    #[inline]
    pub fn record(&mut self, kind: IoKind, latency: Span) {
        self.open[kind as usize].record(latency);
    }

    /// The time of the next point; `None` beyond the end of time.
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
        self.points.push(Point { counters, windows: std::mem::take(&mut self.open) });
        if self.points.len() == self.capacity {
            self.halve();
        }
        self.due = self.next_point();
    }

    /// Ends the series: closes the last, shorter interval, unless it is empty.
    pub fn finish(&mut self, counters: Counters) {
        let last = self.points.last().map_or(self.start.at, |point| point.counters.at);
        if counters.at > last {
            self.points.push(Point { counters, windows: std::mem::take(&mut self.open) });
        } else if let Some(point) = self.points.last_mut() {
            // Requests that completed at the instant of the last point belong to the interval that ends there.
            point.counters = counters;
            point.windows.iter_mut().zip(&self.open).for_each(|(window, open)| window.merge(open));
        }
    }

    fn halve(&mut self) {
        let mut kept = 0;
        for i in (1..self.points.len()).step_by(2) {
            let earlier = self.points[i - 1].windows;
            self.points[i].windows.iter_mut().zip(&earlier).for_each(|(window, earlier)| window.merge(earlier));
            self.points.swap(kept, i);
            kept += 1;
        }
        // An odd last point has no partner: its interval is reopened.
        if self.points.len() % 2 == 1 {
            let last = self.points.pop().expect("an odd number is not zero");
            self.open.iter_mut().zip(&last.windows).for_each(|(open, window)| open.merge(window));
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
            // One request per 10 ps at any distance of the points.
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
    fn a_request_that_completes_at_the_last_point_belongs_to_it() {
        let mut series = filled(1, 8);
        series.record(IoKind::Read, Span::from_ps(9));
        series.finish(counters_at(Time::from_ps(10)));
        assert_eq!(series.intervals().len(), 1);
        assert_eq!(series.intervals().last().expect("one").windows[IoKind::Read as usize].count, 2);
    }
}
