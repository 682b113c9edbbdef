//! Copies of pages into one block.

use base::units::{Lpn, Psn, SuperblockId};

use super::payload::{Content, Contents};
use super::{Media, Mode, Stream};
use crate::nand::Spare;

/// The number of pages by which the prefetch of spare areas runs ahead of the copies.
const AHEAD: usize = 16;
/// The number of adjacent pages whose spare areas mostly share a cache line.
const BESIDE: u32 = 8;

/// True if the spare area of a page is not in the cache lines that were prefetched for the previous page.
fn is_apart(page: Psn, before: &mut Option<u32>) -> bool {
    let line = page.get() / BESIDE;
    before.replace(line) != Some(line)
}

impl Media {
    /// Reads pages and programs them into a superblock, each to an offset there. A page that names its mapping unit is
    /// checked against it. The result is that of a read and a program of each page, if no program can fail and no page
    /// is lost. Returns false, and does nothing, if a page is lost, or if some content does not follow from the first
    /// sector of its slot.
    ///
    /// # Panics
    ///
    /// If one of the reads or programs would: see [`Media::read`] and [`Media::program`].
    pub(crate) fn copy_pages(
        &mut self,
        (target, stream): (SuperblockId, Stream),
        pages: impl Iterator<Item = (Psn, u32, Option<Lpn>)> + Clone,
    ) -> bool {
        debug_assert!(self.cannot_fail(), "no program is looked at");
        assert!(!self.has_errors(), "a copy leaves no decoder out if reads have errors");
        let is_kept = !self.kind.is_present() || self.kind.is_stamp() && !self.backing.is_some();
        if !is_kept || !self.unreadable.is_empty() {
            return false;
        }
        self.copy_spares((target, stream), pages.clone());
        if self.kind.is_present() {
            self.copy_content(target, pages.map(|(from, page, _)| (from, page)));
        }
        true
    }

    fn copy_spares(
        &mut self,
        (target, stream): (SuperblockId, Stream),
        pages: impl Iterator<Item = (Psn, u32, Option<Lpn>)> + Clone,
    ) {
        let opened = self.births;
        let (pages_of_block, first) = (self.geometry.pages, self.geometry.slot(target, 0).get());
        let block = &mut self.blocks[self.geometry.block(target, 0).index()];
        assert!(!block.bad, "program of a bad block: {target}");
        assert!(block.next_page == 0 || block.mode == Mode::Full, "program of {target} in another mode than it has");
        let (mut ahead, mut fetched) = (pages.clone().skip(AHEAD), [None; 2]);
        for (from, page, expected) in pages {
            if let Some((from, page, _)) = ahead.next() {
                for (psn, fetched) in [from, Psn::new(first + page)].into_iter().zip(&mut fetched) {
                    if is_apart(psn, fetched) {
                        self.spares.prefetch(psn.index());
                    }
                }
            }
            let spare = self.spares.get(from.index());
            let Spare::Data { lpn, .. } = spare else { panic!("read of {from}, which holds no data: {spare:?}") };
            assert!(
                expected.is_none_or(|expected| expected == lpn),
                "{expected:?} was copied from {from}, which holds {lpn}: the map is wrong"
            );
            assert!(
                block.next_page <= page && page < pages_of_block,
                "program of page {page} of {target}: page {} is the next erased one",
                block.next_page
            );
            if block.next_page == 0 {
                (block.opened, block.stream, block.mode) = (opened, stream, Mode::Full);
                self.births = opened + 1;
            }
            block.sparse |= block.next_page < page;
            block.next_page = page + 1;
            self.spares.set((first + page) as usize, spare);
        }
    }

    /// Copies the content of pages whose spare areas have been copied.
    fn copy_content(&mut self, target: SuperblockId, mut pages: impl Iterator<Item = (Psn, u32)>) {
        let into = self.geometry.block(target, 0).index();
        // The target is not a source of these copies.
        let mut kept = std::mem::take(&mut self.payload[into]);
        // The first page whose content this loop cannot copy.
        let mut left = None;
        for (from, page) in pages.by_ref() {
            let (superblock, slot) = self.geometry.locate(from);
            let first = match (&self.payload[self.geometry.block(superblock, 0).index()], &kept) {
                (Content::Derived, Content::Derived) => continue,
                (Content::Derived, _) => self.told(self.spare(from)).stamp(),
                (Content::Firsts(firsts), _) => firsts[slot as usize],
                (Content::Sectors(_), _) => {
                    left = Some((from, page));
                    break;
                }
            };
            if matches!(kept, Content::Derived) {
                if self.tells_run(self.spare(from), first) {
                    continue;
                }
                kept = self.derived(target, 0, page);
            }
            kept.put_run(page as usize, first, self.slot_bytes());
        }
        self.payload[into] = kept;
        left.into_iter().chain(pages).for_each(|(from, page)| self.copy_sectors(target, from, page));
    }

    /// Copies the content of a page, if its block or a block before it in a list of copies stores all sectors.
    #[cold]
    fn copy_sectors(&mut self, target: SuperblockId, from: Psn, page: u32) {
        let mut content = vec![0; self.slot_bytes()];
        let stored = self.read_payload(from, self.spare(from), &mut content);
        debug_assert!(stored, "no store has lost it");
        self.keep_page(
            (target, 0, page),
            (self.geometry.slot(target, page), 0..1),
            false,
            Contents::new(self.kind, &content, &[]),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::{Bytes512, FaultSpec, Faults, Geometry, Sector, SectorKind, Stamp, Target};
    use base::units::Lba;
    use proptest::prelude::*;

    const FROM: SuperblockId = SuperblockId::new(1);
    const TO: SuperblockId = SuperblockId::new(2);
    const SECTORS: u32 = 4;

    fn media(kind: SectorKind) -> Media {
        let geometry = Geometry::new(1, 1, 1, 1, 1, 4, 6, 1, SECTORS).expect("a small array");
        Media::new(geometry, 10, 1, Faults::new(&FaultSpec::default(), 1)).with_content(kind)
    }

    /// Programs the pages of a block, each with its own content.
    fn fill<S: Sector>(media: &mut Media, superblock: SuperblockId, content: &[Vec<S>]) {
        for (page, content) in (0..).zip(content) {
            let spare = |_| (Spare::Data { lpn: Lpn::new(page + 7), version: 9 - page }, false);
            assert!(media.program_sectors(Target { superblock, offset: page }, 1, Default::default(), spare, content));
        }
    }

    fn full() -> Media {
        let mut media = media(SectorKind::Nothing);
        fill::<()>(&mut media, FROM, &[const { Vec::new() }; 5]);
        media
    }

    /// Copies pages of one block to another; a pair has the page's number in the source and in the target.
    fn copy(media: &mut Media, pages: &[(u32, u32)]) -> bool {
        let pages = pages.iter().map(|(from, to)| (media.geometry().slot(FROM, *from), *to, Some(Lpn::new(from + 7))));
        let pages: Vec<_> = pages.collect();
        media.copy_pages((TO, Stream::COPIES), pages.into_iter())
    }

    /// Copies pages with a read and a program for each.
    fn copy_one_by_one(media: &mut Media, pages: &[(u32, u32)]) {
        let mut data = vec![0; media.slot_bytes()];
        for (from, to) in pages {
            let read = media.read(media.geometry().slot(FROM, *from), &mut data);
            let spare = |_| (Spare::Data { lpn: read.lpn, version: read.version }, false);
            media.program(Target { superblock: TO, offset: *to }, 1, (Stream::COPIES, Mode::Full), spare, &data);
        }
    }

    #[test]
    fn copied_spare_areas_are_those_of_reads_and_programs() {
        let (mut bulk, mut single) = (full(), full());
        let pages = [(3, 0), (0, 2), (4, 3)];
        assert!(copy(&mut bulk, &pages));
        copy_one_by_one(&mut single, &pages);
        assert_eq!(format!("{bulk:?}"), format!("{single:?}"));
    }

    /// The content of a page: from preconditioning, from one write, zeros, or sectors of two writes.
    fn content(kind: u32, page: u32) -> Vec<Stamp> {
        let first = Lba::new(u64::from((page + 7) * SECTORS));
        let start = match kind {
            0 => Stamp::preconditioned(first, 9 - page),
            1 => Stamp(u64::from(page + 1) << 24),
            _ => Stamp(0),
        };
        let mut sectors: Vec<Stamp> = (0..SECTORS).map(|i| start.following(i)).collect();
        sectors[2].0 |= u64::from(kind == 3) << 40;
        sectors
    }

    proptest! {
        #[test]
        fn copied_content_is_that_of_reads_and_programs(
            kinds in prop::collection::vec(0..4_u32, 5),
            before in 0..4_u32,
            pages in prop::collection::vec(0..5_u32, 1..5),
        ) {
            let mut bulk = media(SectorKind::Stamp);
            let all: Vec<_> = (0..).zip(&kinds).map(|(page, kind)| content(*kind, page)).collect();
            fill(&mut bulk, FROM, &all);
            fill(&mut bulk, TO, &[content(before, 0)]);
            let mut single = bulk.clone();
            let pages: Vec<_> = pages.into_iter().zip(1..).collect();
            prop_assert!(copy(&mut bulk, &pages));
            copy_one_by_one(&mut single, &pages);
            prop_assert_eq!(format!("{bulk:?}"), format!("{single:?}"));
        }
    }

    #[test]
    fn content_of_bytes_is_not_copied_in_bulk() {
        let mut media = media(SectorKind::Bytes);
        fill(&mut media, FROM, &[vec![Bytes512([7; 512]); SECTORS as usize]]);
        let before = format!("{media:?}");
        assert!(!copy(&mut media, &[(0, 0)]));
        assert_eq!(format!("{media:?}"), before);
    }

    #[test]
    fn a_lost_page_is_not_copied_without_its_mark() {
        let mut media = full();
        media.unreadable.insert(media.geometry().slot(FROM, 1).get());
        let before = format!("{media:?}");
        assert!(!copy(&mut media, &[(0, 0), (1, 1)]));
        assert_eq!(format!("{media:?}"), before);
    }

    #[test]
    #[should_panic(expected = "page 3 is the next erased one")]
    fn pages_are_programmed_in_order() {
        copy(&mut full(), &[(0, 2), (1, 1)]);
    }

    #[test]
    #[should_panic(expected = "holds no data")]
    fn an_erased_page_is_not_copied() {
        copy(&mut full(), &[(5, 0)]);
    }
}
