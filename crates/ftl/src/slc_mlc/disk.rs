//! Both arrays and the counters: the state that all tasks change.

use base::engine::Handle;
use base::units::{Lpn, SuperblockId};
use flash::backend::{Cause, List};
use flash::nand::SectorMask;

use super::counters::SlcMlcCounters;
use super::due::Vectors;
use super::mapping::SlcMlcMapping;
use super::mlc::{Mlc, SpareScan};
use super::next::ArrayKind;
use super::slc::Slc;
use super::spec::SlcMlcSpec;
use crate::port::{Flash, PageWrite, full_mask};
use crate::sabotage::PlantedBug;

/// The state of Chang's disk, except tasks and requests.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    pub(super) spec: SlcMlcSpec,
    pub(super) mlc: Mlc,
    pub(super) slc: Option<Box<Slc>>,
    pub(super) counts: SlcMlcCounters,
    pub(super) vectors: Vectors,
    /// The mapping units of a small write that waits while the tail is cleaned.
    pub(super) interrupted: Vec<PageWrite>,
    pub(super) planted: PlantedBug,
}

impl Disk {
    pub(super) fn holds_sectors(&self, lpn: u32) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.held[lpn as usize] > 0)
    }

    /// True if either array holds sectors of a mapping unit.
    pub(super) fn holds(&self, lpn: u32) -> bool {
        self.mlc.psn_of(lpn).is_some() || self.holds_sectors(lpn)
    }

    /// The SLC flash.
    ///
    /// # Panics
    ///
    /// If the disk has no SLC flash.
    pub(super) fn slc_mut(&mut self) -> &mut Slc {
        self.slc.as_mut().expect("a disk with SLC flash")
    }

    pub(super) fn forget(&mut self, lpn: Lpn) {
        self.mlc.set(lpn.get(), None);
        self.drop_sectors(lpn.get(), 0);
    }

    /// Removes the sectors of a mapping unit from the SLC flash; the sectors in `forced` leave a virtual entry.
    pub(super) fn drop_sectors(&mut self, lpn: u32, forced: SectorMask) {
        if !self.holds_sectors(lpn) {
            return;
        }
        let sectors = self.mlc.geometry.sectors;
        let slc = self.slc_mut();
        for offset in 0..sectors {
            slc.drop_sector(lpn * sectors + offset, lpn, forced >> offset & 1 != 0);
        }
    }

    /// Accounts for a page copy that has taken the given sectors of the SLC flash along.
    pub(super) fn took_along(&mut self, lpn: u32, sectors: SectorMask) {
        if sectors != 0 {
            self.counts.assisted += u64::from(sectors.count_ones());
            self.drop_sectors(lpn, full_mask(self.mlc.geometry.sectors));
        }
    }

    /// Counts the logical blocks that a request accesses, for density control.
    pub(super) fn accessed(&mut self, lpns: impl Iterator<Item = u32>) {
        let Mlc { density, mapping, pages, .. } = &mut self.mlc;
        let Some(density) = density else { return };
        let mut last = None;
        for lba in lpns.map(|lpn| lpn / *pages) {
            if last.replace(lba) != Some(lba) {
                density.access(lba, |lba| mapping.chains().is_slc(lba));
            }
        }
    }

    /// Looks up a logical block in the mapping cache. Returns false on a miss; the next list then scans the pages of
    /// the chain.
    pub(super) fn look_up(&mut self, lba: u32) -> bool {
        let Mlc { mapping: SlcMlcMapping::Chains(chains), cache, spare_scans, .. } = &mut self.mlc else { return true };
        if cache.look_up(lba) {
            return true;
        }
        self.counts.scans += 1;
        let scan = |block| SpareScan { block, pages: chains.blocks[block].programmed.min(chains.room(block)) };
        if self.spec.scan_data_blocks {
            spare_scans.extend(chains.chain(lba).map(scan).filter(|scan| scan.pages > 0));
        } else {
            spare_scans.extend(chains.logs(lba).map(scan).filter(|scan| scan.pages > 0));
        }
        false
    }

    pub(super) fn add_spare_scans(&mut self, flash: &mut Flash<'_>, list: Handle<List>) {
        for SpareScan { block, pages } in self.mlc.spare_scans.drain(..) {
            flash.backend.add_scan(list, Cause::Map, SuperblockId::new(block), pages);
            self.counts.scanned += u64::from(pages);
        }
    }

    /// Submits a list to one of the two arrays.
    pub(super) fn submit(&self, flash: &mut Flash<'_>, array: ArrayKind, list: Handle<List>) {
        match array {
            ArrayKind::Mlc if self.mlc.mapping.is_parallel() => flash.submit(list),
            ArrayKind::Mlc => flash.submit_serial(list),
            ArrayKind::Slc => flash.submit_slc(list),
        }
    }
}
