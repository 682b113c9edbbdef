//! SLC mode: a block of a part with more bits per cell stores one bit per cell, and has half its pages.

/// The bits per cell of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// All bits of the part's cells.
    #[default]
    Full,
    /// One bit per cell, in a part of two: half the pages, each faster (Kgil et al., as described by Chang, Sec.
    /// 5.1).
    Slc,
}

impl Mode {
    /// Pages in this mode of a block of `pages` pages.
    #[must_use]
    pub const fn pages(self, pages: u32) -> u32 {
        match self {
            Self::Full => pages,
            Self::Slc => pages / 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Mode;
    use crate::nand::{FaultSpec, Faults, Geometry, Media, Spare, Stream, Target};
    use base::units::{Lpn, SuperblockId};

    const BLOCK: SuperblockId = SuperblockId::new(2);

    fn media() -> Media {
        let geometry = Geometry::new(1, 1, 1, 1, 1, 4, 6, 1, 1).expect("a small array");
        Media::new(geometry, 10, 1, Faults::new(&FaultSpec::default(), 1))
    }

    fn program(media: &mut Media, mode: Mode, pages: std::ops::Range<u32>) -> bool {
        let spare = |_| (Spare::Data { lpn: Lpn::new(1), version: 1 }, false);
        let mut target =
            |offset| media.program(Target { superblock: BLOCK, offset }, 1, (Stream::HOST, mode), spare, &[]);
        pages.into_iter().all(&mut target)
    }

    #[test]
    fn a_block_has_half_its_pages_until_it_is_erased() {
        let mut media = media();
        assert!(program(&mut media, Mode::Slc, 0..3));
        assert_eq!(media.mode(BLOCK), Mode::Slc);
        media.erase(BLOCK);
        assert_eq!(media.mode(BLOCK), Mode::Full);
        assert!(program(&mut media, Mode::Full, 0..6));
    }

    #[test]
    #[should_panic(expected = "which has 3 pages in its mode")]
    fn a_page_that_slc_mode_does_not_have_is_not_programmed() {
        program(&mut media(), Mode::Slc, 0..4);
    }

    #[test]
    #[should_panic(expected = "opened in Full")]
    fn a_block_keeps_its_mode() {
        let mut media = media();
        program(&mut media, Mode::Full, 0..1);
        program(&mut media, Mode::Slc, 1..2);
    }
}
