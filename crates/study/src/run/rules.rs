//! The rules by which measurement and submission begin and end, and the callbacks.

use std::sync::atomic::AtomicBool;

use base::units::{Bytes, Span};
use ssd::Tag;
use workload::measure::Amount;

use super::course::Course;
use super::record::{Progress, RequestLog};
use crate::steady::{Metric, WINDOW};

/// The part of a workload that runs before the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum WarmUp {
    /// No warm-up: the first request is measured.
    #[default]
    None,
    /// Ends when this many requests of all flows together have completed.
    Requests(u64),
    /// Ends after this much simulated time.
    Time(Span),
    /// Ends when requests have read and written this many bytes.
    Bytes(Bytes),
    /// Ends when requests have written the capacity of the drive this many times; if there are no writes, when they
    /// have read it.
    Capacities(f64),
    /// Ends when the drive is in steady state.
    Steady(Steady),
}

/// The rule by which a run stops submitting requests, unless its workload ends first. Counts and times begin at the end
/// of the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Stop {
    /// The run ends with the last request of the workload.
    #[default]
    AtEnd,
    /// After this many requests of all flows together. Requests in flight at the end of the warm-up count.
    Requests(u64),
    /// After this much simulated time. Requests submitted before are completed and measured.
    Time(Span),
    /// When requests have read and written this many bytes. Requests submitted before are completed and measured.
    Bytes(Bytes),
    /// When requests have written the capacity of the drive this many times; if there are no writes, when they have
    /// read it. Requests submitted before are completed and measured.
    Capacities(f64),
    /// When the drive refuses a write because too many of its blocks have failed. A round of its life ends earlier:
    /// after this amount, or after 100 days of simulated time or of one operation's array time. With `None` a round
    /// plays the whole workload.
    Worn(Option<Amount>),
}

impl From<Amount> for WarmUp {
    fn from(amount: Amount) -> Self {
        match amount {
            Amount::Requests(requests) => Self::Requests(requests),
            Amount::Bytes(bytes) => Self::Bytes(bytes),
            Amount::Time(span) => Self::Time(span),
            Amount::Capacities(times) => Self::Capacities(times),
        }
    }
}

impl From<Amount> for Stop {
    fn from(amount: Amount) -> Self {
        match amount {
            Amount::Requests(requests) => Self::Requests(requests),
            Amount::Bytes(bytes) => Self::Bytes(bytes),
            Amount::Time(span) => Self::Time(span),
            Amount::Capacities(times) => Self::Capacities(times),
        }
    }
}

/// A warm-up that lasts until the drive is in steady state by the rule of [`steady`](crate::steady).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// The metric that must be steady.
    pub metric: Metric,
    /// The length of a round, whose mean is one value of the metric.
    pub round: Amount,
    /// The number of rounds after which the measurement begins even if the drive is not steady. The result says whether
    /// it was.
    pub at_most: u32,
}

impl Default for Steady {
    /// Requests per second, in rounds of a tenth of the capacity, at most 50 of them.
    fn default() -> Self {
        Self { metric: Metric::Rate, round: Amount::Capacities(0.1), at_most: 50 }
    }
}

impl Steady {
    /// The length of the measurement if the user asks for none: the window in which the drive was steady.
    #[must_use]
    pub fn window(&self) -> Stop {
        let rounds = WINDOW as u64;
        match self.round {
            Amount::Requests(requests) => Stop::Requests(requests.saturating_mul(rounds)),
            Amount::Bytes(bytes) => Stop::Bytes(Bytes::new(bytes.get().saturating_mul(rounds))),
            Amount::Time(span) => Stop::Time(Span::from_ps(span.as_ps().saturating_mul(rounds))),
            Amount::Capacities(times) => Stop::Capacities(times * WINDOW as f64),
        }
    }
}

/// The rules of a run, independent of its flows. By default a run is measured from the first request of its workload to the
/// last, and nothing is recorded beside its results.
#[derive(Default)]
pub struct Rules<'a> {
    /// The part of the workload before the measurement. Submission does not pause when the warm-up ends: requests in
    /// flight at that moment are measured, earlier requests are not.
    pub warm_up: WarmUp,
    /// The end of submission.
    pub stop: Stop,
    /// The longest time for which the device may finish its background work after the last completion, so that its counters can
    /// be reconciled exactly. This time is no part of the run.
    pub settle: Option<Span>,
    /// The number of the first request, so that consecutive runs on one device have distinct tags.
    pub first_tag: Tag,
    /// A factor, above zero, by which all times of arrival are multiplied: 0.5 plays a trace twice as fast.
    pub time_scale: Option<f64>,
    /// The detailed time series, if one is wanted. No other result changes.
    pub course: Option<Course>,
    /// Becomes true to end the run with [`RunError::Interrupted`](super::RunError::Interrupted).
    pub interrupt: Option<&'a AtomicBool>,
    /// The log of every measured request.
    pub log: Option<&'a mut dyn RequestLog>,
    /// Called after every few thousand requests.
    pub progress: Option<&'a mut dyn FnMut(Progress)>,
}

impl Rules<'_> {
    /// The rules of a run that ends after this many requests of all flows together.
    #[must_use]
    pub fn limit(requests: u64) -> Self {
        Self { stop: Stop::Requests(requests), ..Self::default() }
    }

    /// The rules of a run after which the device may finish its background work for this long.
    #[must_use]
    pub fn settle(at_most: Span) -> Self {
        Self { settle: Some(at_most), ..Self::default() }
    }
}
