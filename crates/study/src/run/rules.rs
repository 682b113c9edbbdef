//! The rules by which measurement and submission begin and end, and the callbacks.

use std::sync::atomic::AtomicBool;

use base::units::{Bytes, Span};
use ssd::Tag;
use workload::measure::Amount;

use super::course::Course;
use super::record::{Progress, RequestLog};
use crate::life::Life;
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
    /// At the end of the workload.
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
    /// The length of the measurement if the user asks for none: that of the window in which the drive was steady.
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

/// The rules of a run, independent of its flows.
#[derive(Default)]
pub(super) struct Rules<'a> {
    pub(super) warm_up: WarmUp,
    pub(super) stop: Stop,
    pub(super) first_tag: Tag,
    pub(super) time_scale: Option<f64>,
    /// The detailed time series, if one is asked for.
    pub(super) course: Option<Course>,
    /// The life that records the drive's wear.
    pub(super) life: Option<&'a mut Life>,
    pub(super) interrupt: Option<&'a AtomicBool>,
    pub(super) log: Option<&'a mut dyn RequestLog>,
    pub(super) progress: Option<&'a mut dyn FnMut(Progress)>,
}
