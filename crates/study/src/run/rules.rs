//! The rules by which measurement and submission begin and end, and the callbacks.

use std::sync::atomic::AtomicBool;

use base::units::Span;
use ssd::Tag;

use super::record::{Progress, RequestLog};

/// The part of a workload that runs before the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WarmUp {
    /// None: the first request is measured.
    #[default]
    None,
    /// Until this many requests of all flows together have completed.
    Requests(u64),
    /// For this much simulated time.
    Time(Span),
}

/// When a run stops submitting requests, unless its workload ends first. Counts and times begin at the end of the
/// warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// At the end of the workload.
    #[default]
    AtEnd,
    /// After this many requests of all flows together. Requests in flight at the end of the warm-up count.
    Requests(u64),
    /// After this much simulated time. Requests submitted before are completed and measured.
    Time(Span),
}

/// The rules of a run, independent of its flows.
#[derive(Default)]
pub(super) struct Rules<'a> {
    pub(super) warm_up: WarmUp,
    pub(super) stop: Stop,
    pub(super) first_tag: Tag,
    pub(super) time_scale: Option<f64>,
    pub(super) interrupt: Option<&'a AtomicBool>,
    pub(super) log: Option<&'a mut dyn RequestLog>,
    pub(super) progress: Option<&'a mut dyn FnMut(Progress)>,
}
