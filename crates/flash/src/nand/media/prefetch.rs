//! Prefetches of the state of slots that will be read.

use base::prefetch::prefetch;
use base::units::Psn;

use super::Media;
use super::payload::Content;

impl Media {
    /// Prefetches the state that [`Media::is_readable_at`] reads.
    #[inline]
    pub(crate) fn prefetch_state(&self, psn: Psn) {
        let (superblock, offset) = self.geometry.locate(psn);
        let (_, plane) = self.geometry.page_and_plane(offset);
        prefetch(self.blocks.get(self.geometry.block(superblock, plane).index()));
    }

    /// Prefetches the spare area of a slot, and its content if it has one.
    #[inline]
    pub fn prefetch_spare(&self, psn: Psn) {
        self.spares.prefetch(psn.index());
        if self.kind.is_present() {
            self.prefetch_payload(psn);
        }
    }

    /// Prefetches the spare area of a slot, and its content unless that is in the cache line of the slot `before`.
    #[inline]
    pub fn prefetch_spare_behind(&self, psn: Psn, before: Option<Psn>) {
        self.spares.prefetch(psn.index());
        // Exact if the number of slots of a page is a power of two; otherwise a line is sometimes prefetched twice, or
        // not.
        if self.kind.is_present() && before.is_none_or(|before| psn.get() ^ before.get() >= self.geometry.slots) {
            self.prefetch_payload(psn);
        }
    }

    /// Prefetches the content of a slot.
    #[inline]
    fn prefetch_payload(&self, psn: Psn) {
        let (block, slot) = self.place(psn);
        match self.payload.get(block.index()) {
            Some(Content::Firsts(firsts)) => prefetch(firsts.get(slot)),
            Some(Content::Sectors(all)) => prefetch(all.get(slot * self.slot_bytes())),
            Some(Content::Derived) | None => {}
        }
    }

    /// Prefetches the places of a translation page, because one of its versions will be read.
    #[inline]
    pub fn prefetch_image(&self, page: u32) {
        self.images.prefetch(page);
    }
}
