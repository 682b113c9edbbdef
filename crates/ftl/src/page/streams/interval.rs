//! The stream by the update interval: the amount that the host has written since it last wrote the mapping unit.
//!
//! A hash table of fixed size remembers the last writes. Each mapping unit has one place in it, which it shares with
//! all units of the same hash: a newer write replaces the older one. A unit that is not in the table counts as the
//! longest interval.

use base::units::{Bytes, SECTOR};

use super::{HostWrite, StreamPolicy, spread};

/// The last write of a mapping unit. A table of zeros is empty.
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    /// The unit's number plus one; 0 if the place is empty.
    unit: u32,
    /// The count of mapping units that the host had written, modulo 2^32, when it wrote this mapping unit.
    written: u32,
}

/// The hash table of the last writes.
#[derive(Clone, Debug)]
pub(super) struct LastWriteTable {
    places: Vec<Latest>,
}

impl LastWriteTable {
    pub(super) fn new(memory: Bytes) -> Self {
        Self { places: vec![Latest::default(); Self::count(memory)] }
    }

    const fn count(memory: Bytes) -> usize {
        (memory.get() / size_of::<Latest>() as u64) as usize
    }

    pub(super) const fn memory(memory: Bytes) -> u64 {
        (Self::count(memory) * size_of::<Latest>()) as u64
    }

    /// Mapping units that the host has written since it last wrote this mapping unit; `None` if the table has no entry
    /// for the unit. Enters this write.
    pub(super) fn interval(&mut self, write: &HostWrite) -> Option<u64> {
        let unit = write.lpn.get() + 1;
        // The high bits of the product map a hash evenly to any number of places.
        let place = (u128::from(spread(u64::from(unit))) * self.places.len() as u128) >> 64;
        let latest = &mut self.places[place as usize];
        let interval = (latest.unit == unit).then(|| u64::from((write.written as u32).wrapping_sub(latest.written)));
        *latest = Latest { unit, written: write.written as u32 };
        interval
    }
}

/// The policy by update intervals.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    /// The shortest interval of each stream but the first, in mapping units.
    limits: Vec<u64>,
    table: LastWriteTable,
}

impl Interval {
    /// The policy for limits given as amounts of data, for mapping units of `sectors` sectors.
    pub(super) fn new(limits: &[Bytes], memory: Bytes, sectors: u64) -> Self {
        let unit = sectors * SECTOR.get();
        Self {
            limits: limits.iter().map(|limit| limit.get().div_ceil(unit)).collect(),
            table: LastWriteTable::new(memory),
        }
    }

    pub(super) const fn memory(limits: &[Bytes], memory: Bytes) -> u64 {
        LastWriteTable::memory(memory) + size_of_val(limits) as u64
    }
}

impl StreamPolicy for Interval {
    fn stream(&mut self, write: &HostWrite) -> u8 {
        match self.table.interval(write) {
            Some(interval) => self.limits.iter().take_while(|limit| **limit <= interval).count() as u8,
            None => self.limits.len() as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::write_of;
    use super::*;

    #[test]
    fn the_interval_is_what_the_host_wrote_between_two_writes_of_a_unit() {
        // Mapping units of 4 KiB: the limits are 2 and 10 of them.
        let mut policy = Interval::new(&[Bytes::new(8 << 10), Bytes::new(40 << 10)], Bytes::new(1 << 16), 8);
        let writes = [(7, 0), (7, 1), (7, 3), (7, 12), (7, 22), (9, 23), (7, 24)];
        let streams = writes.map(|(lpn, written)| policy.stream(&write_of(lpn, written)));
        assert_eq!(streams, [2, 0, 1, 1, 2, 2, 1]);
    }

    #[test]
    fn a_unit_whose_place_another_has_taken_counts_as_never_written() {
        let mut policy = Interval::new(&[Bytes::new(1 << 20)], Bytes::new(8), 8);
        let streams = [(1, 0), (1, 1), (2, 2), (1, 3)].map(|(lpn, written)| policy.stream(&write_of(lpn, written)));
        assert_eq!(streams, [1, 0, 1, 1]);
        assert_eq!(Interval::memory(&[Bytes::new(1)], Bytes::new(8)), 8 + 8);
    }
}
