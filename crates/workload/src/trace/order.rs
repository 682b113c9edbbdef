//! The sorting window. Small inversions of time stamps are real (several CPUs, several disks), large inversions are
//! damage.

use std::collections::VecDeque;

use base::units::Span;

use super::record::{Context, Records, TraceRecord};
use crate::SourceError;

/// Requests in order of time stamp; requests with equal time stamps keep the order of the file.
///
/// A request waits until one is read that is later by the tolerance, or until the window is full. The window thus
/// bounds the memory for any file.
pub(crate) struct OrderedRequests {
    records: Box<dyn Records>,
    held: VecDeque<TraceRecord>,
    most: usize,
    tolerance: i128,
    newest: i128,
    previous: Option<i128>,
    released: i128,
    /// The end of the file, or the error that ended it. The error is reported after the requests before it, so that a
    /// limit before the damage causes no error.
    end: Option<Result<(), SourceError>>,
}

impl OrderedRequests {
    pub(crate) fn new(records: Box<dyn Records>, tolerance: Span, most: usize) -> Self {
        Self {
            records,
            held: VecDeque::new(),
            most: most.max(1),
            tolerance: i128::from(tolerance.as_ps()),
            newest: i128::MIN / 2,
            previous: None,
            released: i128::MIN / 2,
            end: None,
        }
    }

    pub(crate) fn records(&self) -> &dyn Records {
        &*self.records
    }

    /// The next request; `None` at the end.
    #[inline]
    pub(crate) fn next(&mut self, context: &mut Context) -> Result<Option<TraceRecord>, SourceError> {
        loop {
            if let Some(front) = self.held.front()
                && (front.at < self.newest - self.tolerance || self.held.len() >= self.most || self.end.is_some())
            {
                self.released = front.at;
                return Ok(self.held.pop_front());
            }
            if let Some(end) = &self.end {
                return end.clone().map(|()| None);
            }
            match self.records.next(context) {
                Ok(Some(record)) => {
                    context.stats.requests += 1;
                    context.stats.widened += u64::from(record.widened);
                    if !context.volumes.wants(record.volume) {
                        context.stats.other_volumes += 1;
                        continue;
                    }
                    if let Err(error) = self.hold(record, context) {
                        self.end = Some(Err(error));
                    }
                }
                Ok(None) => self.end = Some(Ok(())),
                Err(error) => self.end = Some(Err(error)),
            }
        }
    }

    #[inline]
    fn hold(&mut self, record: TraceRecord, context: &mut Context) -> Result<(), SourceError> {
        let at = record.at;
        if self.previous.is_some_and(|previous| at < previous) {
            context.stats.inversions += 1;
        }
        self.previous = Some(at);
        if at >= self.newest {
            self.newest = at;
            self.held.push_back(record);
            return Ok(());
        }
        let back = self.newest - at;
        if back > self.tolerance || at < self.released {
            return Err(self.late(&record, back, context));
        }
        context.stats.worst_inversion_ps = context.stats.worst_inversion_ps.max(back as u64);
        let place = self.held.partition_point(|held| held.at <= at);
        self.held.insert(place, record);
        Ok(())
    }

    #[cold]
    fn late(&self, record: &TraceRecord, back: i128, context: &Context) -> SourceError {
        let back = u64::try_from(back).map_or_else(|_| "more than 213 days".into(), |ps| Span::from_ps(ps).to_string());
        let tolerance = Span::from_ps(self.tolerance as u64);
        let (why, remedy) = if self.newest - record.at > self.tolerance {
            (format!("the tolerance is {tolerance}"), "allow more with --tolerance")
        } else {
            (format!("only {} requests can be sorted at once", self.most), "sort the file by time")
        };
        let message = format!("the time is {back} earlier than that of a previous request; {why}");
        let remedy = format!("{remedy}, or correct the time stamp, or cut the file here if it joins two recordings");
        let remedy = context.with_doubts(&remedy);
        match self.records.path_of(record.part) {
            Some(path) if self.records.is_binary() => {
                SourceError::new(format!("record {}: {message}", record.line), remedy).in_file(path)
            }
            Some(path) => SourceError::new(message, remedy).at_line(record.line).in_file(path),
            None => SourceError::new(message, remedy).at_line(record.line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::field::Extent;
    use super::super::volume::Volumes;
    use super::*;
    use base::io::IoKind;
    use proptest::prelude::*;

    struct List(std::vec::IntoIter<i128>, u64);

    impl Records for List {
        fn next(&mut self, context: &mut Context) -> Result<Option<TraceRecord>, SourceError> {
            self.1 += 1;
            let volume = context.volumes.id(b"");
            let extent = Extent { sectors: 1, ..Extent::default() };
            let record = |at| TraceRecord { line: self.1, ..TraceRecord::new(at, IoKind::Read, extent, volume) };
            Ok(self.0.next().map(record))
        }
    }

    fn order(stamps: Vec<i128>, tolerance: u64, most: usize) -> (Vec<TraceRecord>, Option<SourceError>, Context) {
        let mut context = Context { stats: Default::default(), volumes: Volumes::new(None), doubts: Vec::new() };
        let mut ordered = OrderedRequests::new(Box::new(List(stamps.into_iter(), 0)), Span::from_ps(tolerance), most);
        let mut out = Vec::new();
        loop {
            match ordered.next(&mut context) {
                Ok(Some(record)) => out.push(record),
                Ok(None) => return (out, None, context),
                Err(error) => return (out, Some(error), context),
            }
        }
    }

    #[test]
    fn a_request_beyond_the_tolerance_is_an_error_after_those_before_it() {
        let (out, error, _) = order(vec![10, 30, 15, 40, 24], 15, 100);
        assert_eq!(out.iter().map(|r| r.at).collect::<Vec<_>>(), [10, 15, 30, 40]);
        let error = error.unwrap();
        assert_eq!(error.line(), Some(5));
        assert!(error.message().contains("is 16ps earlier"), "{error}");
        assert!(error.remedy().contains("--tolerance"));
    }

    #[test]
    fn the_error_of_a_full_window_names_its_size() {
        let (_, error, _) = order(vec![10, 11, 12, 13, 9], 1_000, 2);
        assert!(error.unwrap().message().contains("only 2 requests"));
    }

    proptest! {
        #[test]
        fn requests_within_the_tolerance_are_sorted_stably(
            steps in prop::collection::vec((0_u64..100, 0_u64..50), 1..300)
        ) {
            let mut now = 0;
            let stamps: Vec<i128> = steps.iter().map(|(step, back)| {
                now += i128::from(*step);
                now - i128::from(*back)
            }).collect();
            let inversions = stamps.windows(2).filter(|pair| pair[1] < pair[0]).count() as u64;
            let (out, error, context) = order(stamps.clone(), 50, 1_000);
            prop_assert_eq!(error, None);
            prop_assert_eq!(context.stats.inversions, inversions);
            let mut expected: Vec<(i128, u64)> = stamps.into_iter().zip(1..).collect();
            expected.sort();
            prop_assert_eq!(out.iter().map(|r| (r.at, r.line)).collect::<Vec<_>>(), expected);
        }
    }
}
