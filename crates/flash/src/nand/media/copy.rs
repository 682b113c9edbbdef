//! Copies of pages into one block, without content.

use base::units::{Lpn, Psn, SuperblockId};

use super::{Media, Mode, Stream};
use crate::nand::{Sector, Spare};

impl<S: Sector> Media<S> {
    /// Reads pages and programs them into a superblock, each to an offset there; one that names its mapping unit is
    /// checked against it. Does what a read and a program of each page would do, if there is no content, no program can
    /// fail and no page is lost. Returns false, and does nothing, if a page is lost.
    ///
    /// # Panics
    /// Where the reads and the programs would: see [`Media::read`] and [`Media::program`].
    pub(crate) fn copy_spares(
        &mut self,
        target: SuperblockId,
        pages: impl Iterator<Item = (Psn, u32, Option<Lpn>)>,
    ) -> bool {
        debug_assert!(!S::PRESENT && self.cannot_fail(), "only spare areas are copied");
        if !self.unreadable.is_empty() {
            return false;
        }
        let opened = self.births;
        let (pages_of_block, first) = (self.geometry.pages, self.geometry.slot(target, 0).get());
        let block = &mut self.blocks[self.geometry.block(target, 0).index()];
        assert!(!block.bad, "program of a bad block: {target}");
        assert!(block.next_page == 0 || block.mode == Mode::Full, "program of {target} in another mode than it has");
        for (from, page, expected) in pages {
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
                (block.opened, block.stream, block.mode) = (opened, Stream::Copies, Mode::Full);
                self.births = opened + 1;
            }
            block.next_page = page + 1;
            self.spares.set((first + page) as usize, spare);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::{FaultSpec, Faults, Geometry, Target};

    const FROM: SuperblockId = SuperblockId::new(1);
    const TO: SuperblockId = SuperblockId::new(2);

    fn media() -> Media<()> {
        let geometry = Geometry::new(1, 1, 1, 1, 1, 4, 6, 1, 1).expect("a small array");
        let mut media = Media::new(geometry, 10, 1, Faults::new(&FaultSpec::default(), 1));
        for page in 0..5 {
            let spare = |_| (Spare::Data { lpn: Lpn::new(page + 7), version: 9 - page }, false);
            assert!(media.program(Target { superblock: FROM, offset: page }, 1, Default::default(), spare, &[]));
        }
        media
    }

    fn copy(media: &mut Media<()>, pages: &[(u32, u32)]) -> bool {
        let pages = pages.iter().map(|(from, to)| (media.geometry().slot(FROM, *from), *to, Some(Lpn::new(from + 7))));
        let pages: Vec<_> = pages.collect();
        media.copy_spares(TO, pages.into_iter())
    }

    #[test]
    fn copied_spare_areas_are_those_of_reads_and_programs() {
        let (mut bulk, mut single) = (media(), media());
        let pages = [(3, 0), (0, 2), (4, 3)];
        assert!(copy(&mut bulk, &pages));
        for (from, to) in pages {
            let read = single.read(single.geometry().slot(FROM, from), &mut []);
            let spare = |_| (Spare::Data { lpn: read.lpn, version: read.version }, false);
            single.program(Target { superblock: TO, offset: to }, 1, (Stream::Copies, Mode::Full), spare, &[]);
        }
        assert_eq!(format!("{bulk:?}"), format!("{single:?}"));
    }

    #[test]
    fn a_lost_page_is_not_copied_without_its_mark() {
        let mut media = media();
        media.unreadable.insert(media.geometry().slot(FROM, 1).get());
        let before = format!("{media:?}");
        assert!(!copy(&mut media, &[(0, 0), (1, 1)]));
        assert_eq!(format!("{media:?}"), before);
    }

    #[test]
    #[should_panic(expected = "page 3 is the next erased one")]
    fn pages_are_programmed_in_order() {
        copy(&mut media(), &[(0, 2), (1, 1)]);
    }

    #[test]
    #[should_panic(expected = "holds no data")]
    fn an_erased_page_is_not_copied() {
        copy(&mut media(), &[(5, 0)]);
    }
}
