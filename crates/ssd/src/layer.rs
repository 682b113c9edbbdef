//! The account that a layer over drives gives of its requests: the requests to drives for which each of them waited, in
//! order.
//!
//! A layer is a RAID, or a host's translation over zones. With an account of the drives for their own requests, this
//! account tells how the time of a request of the layer was spent.

use base::io::Io;
use base::units::Time;

use crate::{Completion, Drive, Ssd, Status, Tag};

/// A span of time in which a request waited for a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerStep {
    /// The time at which the request to the drive was submitted; for a journal, the time at which the record was ready.
    pub from: Time,
    /// The time at which the last of the requests under way ended; for a journal, the time at which the record was
    /// durable.
    pub until: Time,
    /// Number of the drive in the layer, from 0.
    pub drive: u32,
    /// The tag of the request to the drive.
    pub tag: Tag,
    /// True if the drive holds a journal.
    pub is_journal: bool,
}

/// A request of a layer that has ended, or a step of its own work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerRequest {
    /// The upper half of the tags of all requests to drives that this request made. Later requests may use it again.
    pub number: u32,
    /// True if the request is the layer's own work.
    pub is_own: bool,
    /// The host's number for the request.
    pub tag: Tag,
    /// The operation and the extent.
    pub io: Io,
    /// The time at which the request arrived.
    pub arrival: Time,
    /// The time at which no earlier overlapping request was left.
    pub start: Time,
    /// Time at which the layer reported the end of the request to the host.
    pub end: Time,
    /// False if the layer reported an error to the host.
    pub succeeded: bool,
    /// The drives' requests that this request waited for, in order.
    pub steps: Vec<LayerStep>,
}

/// The requests of a layer that have ended; kept only after [`Self::keep`].
#[derive(Clone, Debug, Default)]
pub struct LayerNotes {
    is_kept: bool,
    ended: Vec<LayerRequest>,
}

impl LayerNotes {
    /// Keeps requests from now on.
    pub const fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Notes a step of a request.
    pub fn step(&self, steps: &mut Vec<LayerStep>, step: LayerStep) {
        if self.is_kept {
            steps.push(step);
        }
    }

    /// Notes a request that ends now.
    pub fn end<S>(&mut self, number: u32, is_own: bool, completion: &Completion<S>, now: Time, steps: Vec<LayerStep>) {
        if self.is_kept {
            let Completion { tag, io, arrival, start, .. } = *completion;
            let succeeded = completion.status == Status::Done;
            self.ended.push(LayerRequest { number, is_own, tag, io, arrival, start, end: now, succeeded, steps });
        }
    }

    /// The requests that have ended since the last call.
    pub fn take(&mut self) -> Vec<LayerRequest> {
        std::mem::take(&mut self.ended)
    }
}

/// A layer over drives.
pub trait Layer<S>: Drive<S> {
    /// The drives, for their observers.
    fn drives_mut(&mut self) -> &mut [Ssd<S>];

    /// The requests that have ended.
    fn notes(&mut self) -> &mut LayerNotes;
}
