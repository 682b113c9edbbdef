//! SLC mode: a block of a part with more bits per cell stores one bit per cell, and has fewer pages.

use base::units::{BlockId, Ratio, SuperblockId};

use super::{Block, Media};
use crate::nand::endurance::EnduranceSpread;

/// The bits per cell of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// All bits of the part's cells.
    #[default]
    Full,
    /// One bit per cell, in a part of several: fewer pages, each faster (Kgil et al., as described by Chang, Sec. 5.1).
    Slc,
}

impl Mode {
    /// The number of pages in this mode of a block of `pages` pages, if the part's cells have `bits` bits.
    #[must_use]
    pub const fn pages(self, pages: u32, bits: u32) -> u32 {
        match self {
            Self::Full => pages,
            Self::Slc => pages / bits,
        }
    }
}

/// The properties of a part's SLC mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlcMode {
    /// Bits that a cell stores in full mode.
    bits: u32,
    /// The rated cycles of a block that is always in SLC mode; `None` if they are equal to the cycles of full mode.
    endurance: Option<u32>,
}

impl SlcMode {
    pub(super) const NONE: Self = Self { bits: 1, endurance: None };
}

impl Media {
    /// Gives the array an SLC mode, in which a cell of `bits` bits stores one. A block that is always in that mode is
    /// rated for `endurance` cycles, or for the cycles of full mode.
    #[must_use]
    pub const fn with_slc_mode(mut self, bits: u32, endurance: Option<u32>) -> Self {
        self.slc_mode = SlcMode { bits, endurance };
        self
    }

    /// The share of its rated cycles that the most worn block of a superblock has had. Each erase counts with the
    /// rating of the mode that it ends.
    #[must_use]
    pub fn wear(&self, superblock: SuperblockId) -> f64 {
        self.planes(superblock).iter().map(|block| self.wear_of(block)).fold(0.0, f64::max)
    }

    fn wear_of(&self, block: &Block) -> f64 {
        let slc_erases = self.slc_mode.endurance.map_or(0, |_| block.slc_erases);
        let full = f64::from(block.erases - slc_erases) / f64::from(self.endurance);
        full + f64::from(slc_erases) / f64::from(self.slc_mode.endurance.unwrap_or(1))
    }

    /// The number of erases in full mode that would wear a block as much as its erases in both modes.
    pub(super) fn cycles_of(&self, block: &Block) -> u32 {
        match self.slc_mode.endurance {
            None => block.erases,
            Some(_) => (self.wear_of(block) * f64::from(self.endurance)).round() as u32,
        }
    }

    /// Makes blocks differ in endurance by this standard deviation, as a share of the rated cycles. Each block draws
    /// its own endurance once, from `seed` and its number.
    #[must_use]
    pub fn with_endurance_spread(mut self, deviation: Ratio, seed: u64) -> Self {
        self.endurance_spread = EnduranceSpread::new(deviation, seed);
        self
    }

    /// The cycles that a block endures if it is never in SLC mode: the rated cycles, unless blocks differ.
    #[must_use]
    pub fn endurance_of(&self, block: BlockId) -> u32 {
        match self.endurance_spread {
            None => self.endurance,
            Some(spread) => ((f64::from(self.endurance) * spread.share(block.get())).round() as u32).max(1),
        }
    }

    /// True if a block has had all the cycles that it endures.
    pub(super) fn is_worn_out(&self, block: usize) -> bool {
        let (state, number) = (&self.blocks[block], block as u32);
        match (self.slc_mode.endurance, self.endurance_spread) {
            (None, _) => state.erases >= self.endurance_of(BlockId::new(number)),
            (Some(_), None) => self.wear_of(state) >= 1.0,
            (Some(_), Some(spread)) => self.wear_of(state) >= spread.share(number),
        }
    }

    /// The mode of a superblock since its first program; an erased superblock has none yet.
    #[must_use]
    #[inline]
    pub fn mode(&self, superblock: SuperblockId) -> Mode {
        self.blocks[self.geometry.block(superblock, 0).index()].mode
    }

    /// Pages of a block in a mode.
    #[must_use]
    pub const fn pages_in(&self, mode: Mode) -> u32 {
        mode.pages(self.geometry.pages, self.slc_mode.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::{FaultSpec, Faults, Geometry, Spare, Stream, Target};
    use base::units::Lpn;

    const BLOCK: SuperblockId = SuperblockId::new(2);

    fn media(bits: u32) -> Media {
        let geometry = Geometry::new(1, 1, 1, 1, 1, 4, 6, 1, 1).expect("a small array");
        Media::new(geometry, 10, 1, Faults::new(&FaultSpec::default(), 1)).with_slc_mode(bits, None)
    }

    fn program(media: &mut Media, mode: Mode, pages: std::ops::Range<u32>) -> bool {
        let spare = |_| (Spare::Data { lpn: Lpn::new(1), version: 1 }, false);
        let mut target =
            |offset| media.program(Target { superblock: BLOCK, offset }, 1, (Stream::HOST, mode), spare, &[]);
        pages.into_iter().all(&mut target)
    }

    #[test]
    fn a_block_has_a_page_for_each_word_line_until_it_is_erased() {
        for bits in [2, 3] {
            let mut media = media(bits);
            assert!(program(&mut media, Mode::Slc, 0..6 / bits));
            assert_eq!((media.mode(BLOCK), media.unwritten_from(BLOCK)), (Mode::Slc, None));
            media.erase(BLOCK);
            assert_eq!(media.mode(BLOCK), Mode::Full);
            assert!(program(&mut media, Mode::Full, 0..6));
        }
    }

    #[test]
    fn an_erase_wears_a_block_by_the_mode_that_it_ends() {
        let spec = FaultSpec { wear_out: true, ..FaultSpec::default() };
        let geometry = Geometry::new(1, 1, 1, 1, 1, 4, 6, 1, 1).expect("a small array");
        let mut media = Media::new(geometry, 10, 1, Faults::new(&spec, 1)).with_slc_mode(3, Some(40));
        for _ in 0..20 {
            program(&mut media, Mode::Slc, 0..1);
            assert!(media.erase(BLOCK));
        }
        assert_eq!(media.erases(BLOCK), 20);
        assert!((media.wear(BLOCK) - 0.5).abs() < 1e-12);
        for _ in 0..5 {
            program(&mut media, Mode::Full, 0..1);
            assert!(media.erase(BLOCK));
        }
        assert!((media.wear(BLOCK) - 1.0).abs() < 1e-12);
        assert!(!media.erase(BLOCK), "it is worn out");
    }

    #[test]
    #[should_panic(expected = "which has 3 pages in its mode")]
    fn a_page_that_slc_mode_does_not_have_is_not_programmed() {
        program(&mut media(2), Mode::Slc, 0..4);
    }

    #[test]
    #[should_panic(expected = "opened in Full")]
    fn a_block_keeps_its_mode() {
        let mut media = media(2);
        program(&mut media, Mode::Full, 0..1);
        program(&mut media, Mode::Slc, 1..2);
    }
}
