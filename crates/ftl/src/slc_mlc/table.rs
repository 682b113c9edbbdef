//! The hash table of the SLC flash: the slot of each sector there (Chang, Sec. 3.3 and 5.4).
//!
//! A sector is in one of the first few entries that it probes from `sector mod Hd` on, where Hd is the largest prime
//! below the number of entries. A lookup probes all of them even if some are free, so that the removal of an entry
//! hides no other.
//!
//! An entry can be virtual (Sec. 3.4): the sector is not in the SLC flash, but was written at about the time at which a
//! certain slot was. The entry lasts until that slot's block is erased.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The entry to probe next when an entry is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Probing", rename_all = "kebab-case")]
pub enum ProbeSequence {
    /// The next entry of the table.
    #[default]
    Linear,
    /// The first entry plus the square of the number of probes.
    Quadratic,
}

impl ProbeSequence {
    /// All methods, for tests and lists.
    pub const EVERY: [Self; 2] = [Self::Linear, Self::Quadratic];
}

/// The state of a sector's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryLookup {
    /// The sector is in this slot.
    Regular(u32),
    /// The sector is not in the SLC flash; it was written to the MLC flash when this slot was written.
    Virtual(u32),
    /// The sector is being written to the SLC flash.
    Reserved,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SectorEntry {
    sector: u32,
    place: u32,
}

const NOBODY: u32 = u32::MAX;
const EMPTY: SectorEntry = SectorEntry { sector: NOBODY, place: NOBODY };
/// The bit in an entry's slot number that marks the entry as virtual.
const VIRTUAL: u32 = 1 << 31;
const RESERVED: u32 = u32::MAX;

/// The entries of all sectors, by hash.
#[derive(Clone, Debug)]
pub(super) struct SectorTable {
    entries: Vec<SectorEntry>,
    modulus: u32,
    probes: u32,
    probing: ProbeSequence,
    /// Slots of a block; and for each block the entries that became virtual with one of its slots since its last erase.
    /// Some of these entries may belong to other sectors by now.
    slots: u32,
    noted: Vec<Vec<u32>>,
}

impl SectorTable {
    /// Bytes of `entries` entries over `blocks` blocks with `slots` slots in all.
    pub(super) const fn memory(entries: u64, blocks: u64, slots: u64) -> u64 {
        // Of the slots' entries some become virtual before their block is erased.
        entries * size_of::<SectorEntry>() as u64
            + blocks * size_of::<Vec<u32>>() as u64
            + slots * size_of::<u32>() as u64
    }

    pub(super) fn new(entries: u32, probing: ProbeSequence, probes: u32, (blocks, slots): (u32, u32)) -> Self {
        let modulus = largest_prime(entries);
        let noted = vec![Vec::new(); blocks as usize];
        Self { entries: vec![EMPTY; entries as usize], modulus, probes, probing, slots, noted }
    }

    /// Number of entries, free or not.
    pub(super) const fn count(&self) -> u64 {
        self.entries.len() as u64
    }

    /// The entries that a sector may have, in the order of its probes.
    #[inline]
    fn places(&self, sector: u32) -> impl Iterator<Item = usize> + use<> {
        let (first, count, probing) = (u64::from(sector % self.modulus), self.entries.len() as u64, self.probing);
        (0..u64::from(self.probes)).map(move |i| {
            let at = first + if probing == ProbeSequence::Linear { i } else { i * i };
            // Few probes pass the end of the table, and a division takes longer than all other work of a probe.
            (if at < count { at } else { at % count }) as usize
        })
    }

    #[inline]
    fn entry(&self, sector: u32) -> Option<usize> {
        self.places(sector).find(|place| self.entries[*place].sector == sector)
    }

    #[inline]
    pub(super) fn find(&self, sector: u32) -> Option<EntryLookup> {
        let place = self.entries[self.entry(sector)?].place;
        Some(match place {
            RESERVED => EntryLookup::Reserved,
            place if place & VIRTUAL != 0 => EntryLookup::Virtual(place & !VIRTUAL),
            place => EntryLookup::Regular(place),
        })
    }

    /// The slot of a sector that is in the SLC flash.
    #[inline]
    pub(super) fn regular(&self, sector: u32) -> Option<u32> {
        match self.find(sector)? {
            EntryLookup::Regular(place) => Some(place),
            EntryLookup::Virtual(_) | EntryLookup::Reserved => None,
        }
    }

    /// Reserves an entry for a sector, if it has none. Returns false if its probes find none free.
    pub(super) fn reserve(&mut self, sector: u32) -> bool {
        if let Some(entry) = self.entry(sector) {
            let entry = &mut self.entries[entry];
            if entry.place & VIRTUAL != 0 {
                entry.place = RESERVED;
            }
            return true;
        }
        self.put(sector, RESERVED).is_some()
    }

    /// Adds a new entry for a sector. `None` if its probes find none free.
    fn put(&mut self, sector: u32, place: u32) -> Option<usize> {
        let free = self.places(sector).find(|place| self.entries[*place] == EMPTY)?;
        self.entries[free] = SectorEntry { sector, place };
        Some(free)
    }

    /// Sets the slot of a sector. Returns true if the sector had no slot before; `None` if it has no entry and finds
    /// none.
    pub(super) fn set(&mut self, sector: u32, place: u32) -> Option<bool> {
        debug_assert!(place & VIRTUAL == 0);
        match self.entry(sector) {
            Some(entry) => {
                let before = std::mem::replace(&mut self.entries[entry].place, place);
                Some(before & VIRTUAL != 0)
            }
            None => self.put(sector, place).map(|_| true),
        }
    }

    /// Adds a virtual entry for a sector that went elsewhere when this slot was written. No effect if the sector has an
    /// entry already, or finds none.
    pub(super) fn note(&mut self, sector: u32, place: u32) {
        if self.entry(sector).is_none()
            && let Some(entry) = self.put(sector, place | VIRTUAL)
        {
            self.noted[(place / self.slots) as usize].push(entry as u32);
        }
    }

    /// Makes a sector's entry virtual: the sector has left the SLC flash by force, and may come back.
    pub(super) fn make_virtual(&mut self, sector: u32) {
        if let Some(entry) = self.entry(sector) {
            let place = &mut self.entries[entry].place;
            if *place & VIRTUAL == 0 {
                self.noted[(*place / self.slots) as usize].push(entry as u32);
                *place |= VIRTUAL;
            }
        }
    }

    pub(super) fn remove(&mut self, sector: u32) {
        if let Some(entry) = self.entry(sector) {
            self.entries[entry] = EMPTY;
        }
    }

    /// Removes the reservation of a rejected write.
    pub(super) fn unreserve(&mut self, sector: u32) {
        if let Some(entry) = self.entry(sector)
            && self.entries[entry].place == RESERVED
        {
            self.entries[entry] = EMPTY;
        }
    }

    /// Removes the virtual entries that belong to the slots of a block, which is erased.
    pub(super) fn forget_virtual(&mut self, block: u32) {
        let mut noted = std::mem::take(&mut self.noted[block as usize]);
        for entry in noted.drain(..) {
            let SectorEntry { sector, place } = &mut self.entries[entry as usize];
            if *sector != NOBODY && *place & VIRTUAL != 0 && (*place & !VIRTUAL) / self.slots == block {
                self.entries[entry as usize] = EMPTY;
            }
        }
        self.noted[block as usize] = noted;
    }

    /// The sectors that are in the SLC flash, with their slots.
    pub(super) fn regulars(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.entries
            .iter()
            .filter(|entry| entry.sector != NOBODY && entry.place & VIRTUAL == 0)
            .map(|entry| (entry.sector, entry.place))
    }
}

/// The largest prime below `n`, or 1.
fn largest_prime(n: u32) -> u32 {
    let is_prime = |n: &u32| (2..).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
    (2..n).rev().find(is_prime).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sixteen blocks of sixteen slots.
    const BLOCKS: (u32, u32) = (16, 16);

    #[test]
    fn the_modulus_is_the_largest_prime_below_the_table_size() {
        // The table sizes of Sec. 5.4.
        for (entries, prime) in [(16_384, 16_381), (32_768, 32_749), (65_536, 65_521)] {
            assert_eq!(SectorTable::new(entries, ProbeSequence::Linear, 8, BLOCKS).modulus, prime);
        }
        assert_eq!(largest_prime(1), 1);
    }

    #[test]
    fn a_sector_without_a_free_entry_is_refused() {
        // With modulus 7, sectors 1, 8 and 15 begin at the same entry.
        let mut table = SectorTable::new(8, ProbeSequence::Linear, 2, BLOCKS);
        assert!(table.reserve(1) && table.reserve(8) && !table.reserve(15));
        let mut table = SectorTable::new(8, ProbeSequence::Quadratic, 3, BLOCKS);
        assert!(table.reserve(1) && table.set(1, 3) == Some(true));
        // The probes of sector 8 are entries 1, 2 and 5.
        assert!(table.reserve(8) && table.reserve(15) && !table.reserve(22));
        assert_eq!(table.entries[5].sector, 15);
    }

    #[test]
    fn removing_an_entry_hides_no_other() {
        let mut table = SectorTable::new(8, ProbeSequence::Linear, 4, BLOCKS);
        for (sector, place) in [(1, 10), (8, 20), (15, 30)] {
            assert_eq!(table.set(sector, place), Some(true));
        }
        table.remove(1);
        assert_eq!((table.regular(8), table.regular(15), table.regular(1)), (Some(20), Some(30), None));
        // A sector with an entry gets no second one.
        assert_eq!(table.set(15, 31), Some(false));
        table.remove(15);
        assert_eq!(table.find(15), None);
    }

    #[test]
    fn a_virtual_sector_lasts_until_its_slot_is_erased() {
        let mut table = SectorTable::new(8, ProbeSequence::Linear, 4, BLOCKS);
        table.note(3, 17);
        assert_eq!((table.find(3), table.regular(3)), (Some(EntryLookup::Virtual(17)), None));
        table.forget_virtual(0);
        assert!(table.find(3).is_some());
        assert_eq!(table.set(4, 18), Some(true));
        table.make_virtual(4);
        table.forget_virtual(1);
        assert_eq!((table.find(3), table.find(4)), (None, None));
        table.note(5, 1);
        assert!(table.reserve(5));
        table.forget_virtual(0);
        assert_eq!(table.find(5), Some(EntryLookup::Reserved));
        table.unreserve(5);
        assert_eq!(table.find(5), None);
    }

    proptest! {
        #[test]
        fn the_table_holds_the_entries_of_an_ordered_map(steps in prop::collection::vec((0..40u32, 0..3u8), 1..200)) {
            let mut table = SectorTable::new(16, ProbeSequence::Linear, 4, BLOCKS);
            let mut model = std::collections::BTreeMap::new();
            for (i, (sector, what)) in steps.into_iter().enumerate() {
                if what < 2 {
                    if table.set(sector, i as u32).is_some() {
                        model.insert(sector, i as u32);
                    } else {
                        prop_assert!(!model.contains_key(&sector));
                    }
                } else {
                    table.remove(sector);
                    model.remove(&sector);
                }
                let held: std::collections::BTreeMap<_, _> = table.regulars().collect();
                prop_assert_eq!(&held, &model);
            }
        }
    }
}
