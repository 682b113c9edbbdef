//! The queue of requests: the FTL serves one at a time, in order of arrival.

use flash::nand::SectorMask;
use std::collections::VecDeque;

use base::units::{Lpn, Time};

use crate::port::{Owner, PageWrite};

/// A mapping unit of a read request.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingRead {
    pub(super) owner: Owner,
    pub(super) at: i32,
    pub(super) mask: SectorMask,
    pub(super) lpn: u32,
    /// The sectors that the SLC flash has.
    pub(super) slc: SectorMask,
    /// True if the MLC flash holds some of the other sectors.
    pub(super) from_mlc: bool,
}

/// A waiting request. Its mapping units are in the queues of reads or writes.
#[derive(Clone, Copy, Debug)]
enum Item {
    Read { units: u32, since: Time },
    Write { units: u32, since: Time },
    Discard { owner: Owner, lpn: Lpn },
}

/// The next request, its time of arrival, and an iterator that takes its mapping units from their queue.
pub(super) enum NextRequest<R, W> {
    Read { units: R, since: Time },
    Write { units: W, since: Time },
    Discard { owner: Owner, lpn: Lpn },
}

#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    queue: VecDeque<Item>,
    wanted: VecDeque<PendingRead>,
    incoming: VecDeque<PageWrite>,
    /// The number of mapping units at the end of each queue whose request is not complete.
    open_reads: u32,
    open_writes: u32,
}

impl Requests {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Adds a mapping unit to the current read.
    pub(super) fn read(&mut self, unit: PendingRead) {
        self.wanted.push_back(unit);
        self.open_reads += 1;
    }

    /// Queues the current read.
    pub(super) fn end_read(&mut self, since: Time) {
        let units = std::mem::take(&mut self.open_reads);
        if units > 0 {
            self.queue.push_back(Item::Read { units, since });
        }
    }

    /// Adds a mapping unit to the current write.
    pub(super) fn write(&mut self, unit: PageWrite) {
        self.incoming.push_back(unit);
        self.open_writes += 1;
    }

    /// Queues the current write.
    pub(super) fn end_write(&mut self, since: Time) {
        let units = std::mem::take(&mut self.open_writes);
        if units > 0 {
            self.queue.push_back(Item::Write { units, since });
        }
    }

    pub(super) fn discard(&mut self, owner: Owner, lpn: Lpn) {
        self.queue.push_back(Item::Discard { owner, lpn });
    }

    /// Takes the oldest request.
    pub(super) fn next(
        &mut self,
    ) -> Option<NextRequest<impl Iterator<Item = PendingRead> + '_, impl Iterator<Item = PageWrite> + '_>> {
        Some(match self.queue.pop_front()? {
            Item::Read { units, since } => NextRequest::Read { units: self.wanted.drain(..units as usize), since },
            Item::Write { units, since } => NextRequest::Write { units: self.incoming.drain(..units as usize), since },
            Item::Discard { owner, lpn } => NextRequest::Discard { owner, lpn },
        })
    }
}
