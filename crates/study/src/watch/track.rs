//! Finds the request of an owner.

use std::num::NonZeroU32;

use base::io::Io;
use base::units::Time;
use ssd::Tag;

/// A request that the device works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ActiveRequest {
    pub(super) tag: Tag,
    pub(super) arrival: Time,
    pub(super) at: Time,
    pub(super) io: Io,
}

/// Requests by owner. A number may be reused after its request has completed. Owners of buffer entries have no request.
#[derive(Clone, Debug, Default)]
pub(super) struct TrackedRequests {
    all: Vec<Option<ActiveRequest>>,
}

impl TrackedRequests {
    pub(super) fn begin(&mut self, at: Time, owner: NonZeroU32, (tag, arrival, io): (Tag, Time, Io)) {
        let index = owner.get() as usize;
        if self.all.len() <= index {
            self.all.resize(index + 1, None);
        }
        self.all[index] = Some(ActiveRequest { tag, arrival, at, io });
    }

    /// The request of an owner; `None` for the owner of a buffer entry.
    pub(super) fn get(&self, owner: NonZeroU32) -> Option<&ActiveRequest> {
        self.all.get(owner.get() as usize)?.as_ref()
    }

    /// The request of this owner.
    ///
    /// # Panics
    ///
    /// If the owner has no request.
    pub(super) fn of(&self, owner: NonZeroU32) -> &ActiveRequest {
        self.get(owner).expect("a request that has begun")
    }

    pub(super) fn end(&mut self, owner: NonZeroU32) {
        self.all[owner.get() as usize] = None;
    }
}
