//! The invariants that hold between two events.

use std::collections::BTreeSet;

use flash::nand::{Media, Spare};

use super::ZnsFtl;
use super::zone::RowState;
use crate::zone::ZoneState;

impl ZnsFtl {
    /// Checks that each mapping unit below a write pointer is where the layout places it, and that every superblock has
    /// one use. Slow: for tests.
    ///
    /// # Panics
    ///
    /// If an invariant is broken.
    pub(super) fn check(&self, media: &Media) {
        self.states.check();
        let held = self.zones.iter().filter(|zone| zone.window.as_ref().is_some_and(|window| window.is_held));
        assert_eq!(held.count() as u32, self.windows.held(), "zones that have random write areas");
        let free: BTreeSet<_> = self.blocks.free_ones().collect();
        let used: BTreeSet<_> = self.blocks.used().collect();
        assert_eq!(free.len() as u64, self.blocks.free_count(), "a superblock is free twice");
        assert!(free.is_disjoint(&used), "a superblock of a zone is free");
        for superblock in &free {
            assert!(media.is_erased(*superblock), "{superblock} is free, and not erased");
        }
        let mut under_way = vec![0; self.dies.len()];
        for (number, zone) in (0..).zip(&self.zones) {
            let state = self.states.of(number);
            for (row, _) in zone.rows().filter(|(_, ram)| ram.state == RowState::UnderWay) {
                under_way[self.layout.die_of_row(number, row).index()] += 1;
            }
            assert!(zone.data <= zone.placed && zone.placed <= self.layout.shape.capacity, "zone {number}");
            if state != ZoneState::ReadOnly && zone.task.is_none() {
                let waiting = zone.waiting.len() as u32;
                match &zone.window {
                    None => assert_eq!(zone.write_pointer, zone.placed + waiting, "the write pointer of zone {number}"),
                    Some(window) => {
                        let committed = window.committed();
                        assert!(
                            zone.placed <= committed && committed <= zone.write_pointer,
                            "the window of zone {number}"
                        );
                        assert!(waiting > 0 || committed == zone.write_pointer, "the write pointer of zone {number}");
                    }
                }
            }
            assert!(state != ZoneState::Empty || zone.write_pointer == 0, "zone {number} is empty");
            assert!(zone.task.is_some() || state != ZoneState::Empty || zone.data == 0, "zone {number} has data");
            self.check_data(media, number);
        }
        for (die, under_way) in self.dies.iter().zip(under_way) {
            assert_eq!(die.under_way, under_way, "programs under way on a die");
            assert!(under_way <= self.programs, "programs under way on a die");
        }
    }

    /// Checks that the data of a zone are where the layout places them.
    fn check_data(&self, media: &Media, zone: u32) {
        let of = &self.zones[zone as usize];
        for unit in 0..of.data {
            let (row, inside) = self.layout.row_of(unit);
            if of.row(row).is_some() || self.is_saved(zone, row) {
                continue;
            }
            let place = self.layout.place_of(row);
            let superblock = self.blocks.member(zone, place.member);
            let spare = media.spare(self.layout.geometry.slot(superblock, place.offset + inside));
            let lpn = self.layout.unit(zone, unit);
            assert!(matches!(spare, Spare::Data { lpn: found, .. } if found == lpn), "{lpn} of zone {zone}: {spare:?}");
        }
    }

    /// True if a row that the mount has found has not returned to RAM yet.
    fn is_saved(&self, zone: u32, row: u32) -> bool {
        self.saved.rows.iter().any(|saved| (saved.zone, saved.row) == (zone, row))
    }
}
