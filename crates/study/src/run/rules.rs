//! When measurement begins and when it ends, and who hears of it.

use std::sync::atomic::AtomicBool;

use base::units::Span;
use ssd::Tag;

use super::record::{Progress, RequestLog};

/// What of a workload runs before anything is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WarmUp {
    /// Nothing: the first request is measured.
    #[default]
    None,
    /// Until so many requests, those of all flows together, have completed.
    Requests(u64),
    /// For so much simulated time.
    Time(Span),
}

/// When a run stops submitting requests, if its workload does not end before. Both count from the end of the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// With the end of the workload.
    #[default]
    AtEnd,
    /// After so many requests, those of all flows together, and those that were under way when the warm-up ended.
    Requests(u64),
    /// After so much simulated time. What has been submitted until then is completed, and measured.
    Time(Span),
}

/// What a run keeps to, whatever its flows are.
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
