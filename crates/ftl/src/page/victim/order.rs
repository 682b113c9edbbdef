//! Closed superblocks in order of closing: a linked list for every pool.

use base::units::Time;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct ListLink {
    before: u32,
    after: u32,
    closed: u64,
    at: Time,
}

/// The closed superblocks of all pools, in the order of closing.
#[derive(Clone, Debug)]
pub(in crate::page) struct AgeOrder {
    links: Vec<ListLink>,
    ends: Vec<(u32, u32)>,
    closings: u64,
}

impl AgeOrder {
    pub(in crate::page) fn new(pools: u32, superblocks: u32) -> Self {
        Self {
            links: vec![ListLink { before: NONE, after: NONE, closed: 0, at: Time::ZERO }; superblocks as usize],
            ends: vec![(NONE, NONE); pools as usize],
            closings: 0,
        }
    }

    /// Bytes of memory of the lists of `pools` pools.
    pub(in crate::page) const fn memory(pools: u64, superblocks: u64) -> u64 {
        superblocks * size_of::<ListLink>() as u64 + pools * size_of::<(u32, u32)>() as u64
    }

    pub(in crate::page) fn append(&mut self, now: Time, pool: u32, superblock: u32) {
        let (head, tail) = self.ends[pool as usize];
        self.closings += 1;
        self.links[superblock as usize] = ListLink { before: tail, after: NONE, closed: self.closings, at: now };
        if tail == NONE {
            self.ends[pool as usize] = (superblock, superblock);
        } else {
            self.links[tail as usize].after = superblock;
            self.ends[pool as usize] = (head, superblock);
        }
    }

    pub(in crate::page) fn remove(&mut self, pool: u32, superblock: u32) {
        let ListLink { before, after, .. } = self.links[superblock as usize];
        let (head, tail) = &mut self.ends[pool as usize];
        if before == NONE {
            *head = after;
        } else {
            self.links[before as usize].after = after;
        }
        if after == NONE {
            *tail = before;
        } else {
            self.links[after as usize].before = before;
        }
    }

    /// The closed superblocks of a pool, in the order of closing.
    pub(in crate::page) fn oldest_first(&self, pool: u32) -> impl Iterator<Item = u32> + '_ {
        let head = self.ends[pool as usize].0;
        std::iter::successors((head != NONE).then_some(head), |sb| {
            let after = self.links[*sb as usize].after;
            (after != NONE).then_some(after)
        })
    }

    /// The closed superblocks of a pool, the latest closed first.
    pub(in crate::page) fn latest_first(&self, pool: u32) -> impl Iterator<Item = u32> + '_ {
        let tail = self.ends[pool as usize].1;
        std::iter::successors((tail != NONE).then_some(tail), |sb| {
            let before = self.links[*sb as usize].before;
            (before != NONE).then_some(before)
        })
    }

    /// The number of superblocks that were closed after this superblock, in any pool.
    pub(in crate::page) fn closed_since(&self, superblock: u32) -> u64 {
        self.closings - self.links[superblock as usize].closed
    }

    /// The simulated time at which a superblock was closed.
    pub(in crate::page) fn closed_at(&self, superblock: u32) -> Time {
        self.links[superblock as usize].at
    }
}
