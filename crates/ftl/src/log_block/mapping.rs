//! The maps: the data block of each logical block, the pages in log blocks, and the discarded pages.

use base::units::{Lpn, Psn, SuperblockId};
use flash::nand::Media;

use super::address::{Address, Lbn};
use super::logs::Logs;
use super::{LogBlockConfig, Policy};
use crate::toolkit::{Holes, Versions};

#[derive(Clone, Debug)]
pub(super) struct Mapping {
    pub(super) address: Address,
    pub(super) units: u32,
    /// The data block of each logical block.
    pub(super) data: Vec<Option<SuperblockId>>,
    pub(super) holes: Holes,
    pub(super) logs: Logs,
    pub(super) policy: Policy,
    /// Orphans: logical blocks with pages in the log and without a data block. Each will need a free block.
    pub(super) orphans: u32,
    pub(super) versions: Versions,
    /// Mapping units that recovery found.
    pub(super) found: u32,
}

impl Mapping {
    /// The maps of an array without data.
    pub(super) fn new(config: &LogBlockConfig) -> Self {
        let (pages, spec) = (config.geometry.superblock_slots(), &config.spec);
        let address = config.address();
        Self {
            address,
            units: config.units,
            data: vec![None; address.blocks() as usize],
            holes: Holes::new(address.blocks(), pages),
            logs: Logs::new(address.blocks(), pages, spec.blocks, spec.parallel),
            policy: config.policy,
            orphans: 0,
            versions: Versions::default(),
            found: 0,
        }
    }

    /// Bytes of the maps.
    pub(super) fn memory(config: &LogBlockConfig) -> u64 {
        let (pages, spec) = (config.geometry.superblock_slots(), &config.spec);
        let blocks = u64::from(config.address().blocks());
        blocks * size_of::<Option<SuperblockId>>() as u64
            + Holes::memory(blocks, pages)
            + Logs::memory(blocks, pages, spec.blocks, spec.parallel)
    }

    /// The place of the newest copy of a page.
    #[inline]
    pub(super) fn place_of(&self, media: &Media, lpn: Lpn) -> Option<Psn> {
        let (lbn, offset) = self.address.split(lpn);
        if let Some(place) = self.logs.find_page(lbn, offset) {
            let (log, page) = self.logs.locate(place);
            return Some(media.geometry().slot(self.logs.log(log).superblock, page));
        }
        self.in_data_block(media, lbn, offset)
    }

    /// The slot of a page in the data block, if that slot holds data and the page has not been discarded.
    #[inline]
    fn in_data_block(&self, media: &Media, lbn: Lbn, offset: u32) -> Option<Psn> {
        let psn = media.geometry().slot(self.data[lbn as usize]?, offset);
        let holds = media.holds_data(psn) && !self.holes.contains(lbn, offset);
        holds.then_some(psn)
    }

    /// True if a logical block has pages in the log and no data block.
    #[inline]
    pub(super) fn is_orphan(&self, lbn: Lbn) -> bool {
        self.data[lbn as usize].is_none() && !self.logs.is_empty(lbn)
    }

    /// Applies a change to the log or the data block of a logical block, and keeps the count of orphans.
    #[inline]
    pub(super) fn with_orphans<T>(&mut self, lbn: Lbn, change: impl FnOnce(&mut Self) -> T) -> T {
        let before = u32::from(self.is_orphan(lbn));
        let result = change(self);
        self.orphans = self.orphans + u32::from(self.is_orphan(lbn)) - before;
        result
    }
}
