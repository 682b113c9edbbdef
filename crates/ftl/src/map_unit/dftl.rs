//! DFTL: one level of cache, and flash behind it (Sec. 5.1 and 5.2; the scheme is Gupta et al., ASPLOS 2009).
//!
//! Every miss loads a whole translation page and keeps one block of it. A write-back is a read-modify-write of a page.

use std::ops::Range;

use flash::nand::Image;

use super::backing::{Access, Backing, Cause, StepOutcome, StepResult};
use super::costs::Costs;
use super::pages::Spares;
use super::write_buffers::WriteBuffers;

/// Flash behind a CMT, with buffers for pages being stored.
#[derive(Clone, Debug)]
pub(super) struct Direct {
    buffers: WriteBuffers,
    spares: Spares,
}

impl Direct {
    pub(super) fn new(buffers: u32, page: u32) -> Self {
        Self { buffers: WriteBuffers::new(buffers), spares: Spares::new(page) }
    }
}

impl Backing for Direct {
    const KEEPS_PAGES: bool = false;

    fn load_block(&mut self, access: Access<'_>, at: usize, block: &mut [u32]) -> StepResult {
        let costs = access.costs;
        // A page that is being stored is newer than its version in flash.
        let Some(page) = self.buffers.get(access.tvpn).or(access.loaded) else {
            return StepResult::new(costs.issue, StepOutcome::Load);
        };
        block.copy_from_slice(&page[at..at + block.len()]);
        StepResult::new(costs.entry * block.len() as u64, StepOutcome::Done)
    }

    fn merge<'a>(&mut self, access: Access<'_>, blocks: impl Iterator<Item = (usize, &'a [u32])>) -> StepResult {
        let costs = access.costs;
        if self.buffers.get(access.tvpn).is_some() {
            return StepResult::wait(Cause::Page(access.tvpn));
        }
        let Some(page) = access.loaded else { return StepResult::new(costs.issue, StepOutcome::Load) };
        if !self.buffers.has_room(access.tvpn) {
            return StepResult::wait(Cause::Buffer);
        }
        let (mut merged, mut cost) = (page.clone(), costs.issue);
        for (at, block) in blocks {
            self.spares.change(&mut merged)[at..at + block.len()].copy_from_slice(block);
            cost += costs.entry * block.len() as u64;
        }
        self.buffers.claim(access.tvpn, merged);
        StepResult { cost, store: Some(access.tvpn), outcome: StepOutcome::Done }
    }

    fn evict(&mut self, _: &Costs) -> Option<StepResult> {
        None
    }

    fn stored(&mut self, tvpn: u32) -> Range<u32> {
        self.buffers.release(tvpn);
        0..0
    }

    fn is_clean(&self) -> bool {
        self.buffers.is_empty()
    }

    fn page(&self, tvpn: u32) -> Option<&Image> {
        self.buffers.get(tvpn)
    }

    fn image(&self, tvpn: u32) -> &Image {
        self.buffers.get(tvpn).expect("a page that is being stored")
    }

    fn recycle(&mut self, image: Image) {
        self.spares.take(image);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map_unit::Counters;

    #[test]
    fn a_page_under_store_is_readable_with_its_merged_entries() {
        let (mut direct, costs, mut counters) = (Direct::new(1, 8), Costs::DFTL, Counters::default());
        let loaded = Image::new(vec![7; 8]);
        let access = |counters| Access { tvpn: 3, loaded: Some(&loaded), costs: &costs, counters };
        assert!(direct.page(3).is_none());
        let step = direct.merge(access(&mut counters), [(2, &[1, 2][..])].into_iter());
        assert_eq!(step.store, Some(3));
        let merged = [7, 7, 1, 2, 7, 7, 7, 7];
        assert_eq!(direct.page(3).map(|page| page.to_vec()), Some(merged.to_vec()));
        assert_eq!((direct.image(3).to_vec(), loaded.to_vec()), (merged.to_vec(), vec![7; 8]));
        assert!(direct.page(4).is_none());
        direct.stored(3);
        assert!(direct.page(3).is_none());
    }
}
