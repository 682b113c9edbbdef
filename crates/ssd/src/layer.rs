//! The account that a layer over drives gives of its requests: for which requests to drives each one waited, one after the other.
//!
//! A layer is a RAID, or a host's translation over zones. Whoever knows what the drives did with these requests can say what the time of a
//! request of the layer went to.

use base::io::Io;
use base::units::Time;

use crate::{Completion, Drive, Ssd, Status, Tag};

/// A time in which a request waited for a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerStep {
    /// When the request to the drive was submitted; of a journal, when the record was ready.
    pub from: Time,
    /// When it ended, as the last of those that were under way; of a journal, when the record was durable.
    pub until: Time,
    /// The drive.
    pub drive: u32,
    /// The tag of the request to the drive.
    pub tag: Tag,
    /// The drive is that of a journal.
    pub is_journal: bool,
}

/// A request of a layer that has ended, or a step of its own work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerRequest {
    /// The upper half of the tags of all its requests to drives. It may be used again.
    pub number: u32,
    /// True if it is the layer's own work.
    pub is_own: bool,
    /// The host's number for it.
    pub tag: Tag,
    /// The operation and the extent.
    pub io: Io,
    /// When it came.
    pub arrival: Time,
    /// When no earlier request that overlaps was left.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// Whether it succeeded.
    pub succeeded: bool,
    /// What it waited for, in order.
    pub steps: Vec<LayerStep>,
}

/// The requests of a layer that have ended, if somebody asks for them.
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
