//! The entry of each mapping unit in the buffer: a hash table whose chains run through the entries.
//!
//! The end of a program looks up each of its units. In this table the place of a unit can be prefetched, and a look-up
//! costs one cache line beside the entry.

use base::engine::{Handle, Slab};
use base::prefetch::prefetch;
use base::units::Lpn;

use super::BufferEntry;

/// The first entry of each chain. At most about half of the chains are in use.
#[derive(Clone, Debug)]
pub(super) struct Index {
    heads: Vec<Option<Handle<BufferEntry>>>,
    /// Shift that turns a 32-bit hash into the number of a chain.
    shift: u32,
}

impl Index {
    /// Creates the index of a buffer with at most this many entries.
    pub(super) fn new(entries: u32) -> Self {
        let chains = Self::chains(entries);
        Self { heads: vec![None; chains], shift: u32::BITS - chains.ilog2() }
    }

    fn chains(entries: u32) -> usize {
        (2 * entries as usize).next_power_of_two()
    }

    /// The bytes of an index for at most this many entries.
    pub(super) fn memory(entries: u32) -> u64 {
        (Self::chains(entries) * size_of::<Option<Handle<BufferEntry>>>()) as u64
    }

    /// The number of a unit's chain. A multiplication is hash enough, because no attacker chooses the numbers.
    #[inline]
    fn chain(&self, lpn: Lpn) -> usize {
        (u64::from(lpn.get().wrapping_mul(0x9E37_79B9)) >> self.shift) as usize
    }

    /// Prefetches the chain of a unit.
    #[inline]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        prefetch(self.heads.get(self.chain(lpn)));
    }

    /// The entry of a unit; `None` if the unit is not in the buffer.
    #[inline]
    pub(super) fn get(&self, entries: &Slab<BufferEntry>, lpn: Lpn) -> Option<Handle<BufferEntry>> {
        let mut next = self.heads[self.chain(lpn)];
        while let Some(handle) = next {
            let entry = &entries[handle];
            if entry.lpn == lpn {
                return Some(handle);
            }
            next = entry.next;
        }
        None
    }

    /// Adds an entry. Its unit must have no entry yet.
    #[inline]
    pub(super) fn insert(&mut self, entries: &mut Slab<BufferEntry>, handle: Handle<BufferEntry>) {
        let chain = self.chain(entries[handle].lpn);
        entries[handle].next = self.heads[chain].replace(handle);
    }

    #[inline]
    pub(super) fn remove(&mut self, entries: &mut Slab<BufferEntry>, handle: Handle<BufferEntry>) {
        let chain = self.chain(entries[handle].lpn);
        let behind = entries[handle].next;
        if self.heads[chain] == Some(handle) {
            self.heads[chain] = behind;
            return;
        }
        let mut before = self.heads[chain];
        while let Some(at) = before {
            if entries[at].next == Some(handle) {
                entries[at].next = behind;
                return;
            }
            before = entries[at].next;
        }
        unreachable!("{} is not in the index", entries[handle].lpn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn an_index_is_a_map(steps in prop::collection::vec((0u32..40, any::<bool>()), 0..200)) {
            // Some forty units on eight chains, so that chains have several entries.
            let (mut entries, mut index, mut map) = (Slab::default(), Index::new(4), BTreeMap::new());
            for (lpn, inserts) in steps {
                let lpn = Lpn::new(lpn);
                prop_assert_eq!(index.get(&entries, lpn), map.get(&lpn).copied());
                match (inserts, map.get(&lpn).copied()) {
                    (true, None) => {
                        let handle = entries.insert(BufferEntry::new(lpn, 0, 0));
                        index.insert(&mut entries, handle);
                        map.insert(lpn, handle);
                    }
                    (false, Some(handle)) => {
                        index.remove(&mut entries, handle);
                        entries.remove(handle);
                        map.remove(&lpn);
                    }
                    _ => {}
                }
            }
            for lpn in (0..40).map(Lpn::new) {
                prop_assert_eq!(index.get(&entries, lpn), map.get(&lpn).copied());
            }
        }
    }
}
