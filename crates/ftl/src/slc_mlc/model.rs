//! The cost of a write in closed form (Chang, Sec. 4.1).

use base::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Operation times and pages per block of one kind of flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageTimes {
    /// Time of a page read. The scan of a page's spare area takes as long.
    pub read: Span,
    /// Time of a page program.
    pub write: Span,
    /// Time of a block erase.
    pub erase: Span,
    /// Pages in a block.
    pub pages: u32,
}

/// The inputs of the expected cost of a page write, besides the times. Table 3 gives some of them; a run counts its
/// own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct WriteCost {
    /// Share of the data written that the SLC flash takes.
    pub alpha: f64,
    /// n1: pages with valid data in an SLC block when the block is the tail.
    pub n1: f64,
    /// n2: the number of these pages that are copied to the head.
    pub n2: f64,
    /// n3: pages of a chain that are scanned on a miss of the mapping cache.
    pub n3: f64,
    /// n4: blocks that the fold of a chain erases.
    pub n4: f64,
    /// p1: share of the page writes that miss the mapping cache.
    pub p1: f64,
    /// p2: folds for each page written to the MLC flash.
    pub p2: f64,
}

impl WriteCost {
    /// The expected time of a page write to the SLC flash in microseconds, with its share of cleaning a tail block.
    #[must_use]
    pub fn slc(&self, slc: &PageTimes) -> f64 {
        let cleaning = self.n1 * slc.read.as_us_f64() + self.n2 * slc.write.as_us_f64() + slc.erase.as_us_f64();
        cleaning / (f64::from(slc.pages) - self.n2) + slc.write.as_us_f64()
    }

    /// The expected time of a page write to the MLC flash in microseconds, with the scan of spare areas and its share
    /// of folding a chain.
    #[must_use]
    pub fn mlc(&self, mlc: &PageTimes) -> f64 {
        let (read, write, erase) = (mlc.read.as_us_f64(), mlc.write.as_us_f64(), mlc.erase.as_us_f64());
        let fold = f64::from(mlc.pages) * (read + write) + self.n4 * erase;
        self.p1 * self.n3 * read + self.p2 * fold + write
    }

    /// The expected time of a page write, in microseconds.
    #[must_use]
    pub fn write(&self, slc: Option<&PageTimes>, mlc: &PageTimes) -> f64 {
        let small = slc.map_or(0.0, |slc| self.alpha * self.slc(slc));
        small + (1.0 - self.alpha) * self.mlc(mlc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(read: u64, write: u64, pages: u32) -> PageTimes {
        let us = Span::from_us;
        PageTimes { read: us(read), write: us(write), erase: us(1_500), pages }
    }

    const HYBRID: WriteCost =
        WriteCost { alpha: 0.17, n1: 12.58, n2: 10.29, n3: 44.08, n4: 1.92, p1: 0.011, p2: 0.017 };
    const PLAIN: WriteCost = WriteCost { alpha: 0.0, n1: 0.0, n2: 0.0, n3: 48.4, n4: 2.0, p1: 0.034, p2: 0.028 };

    /// Table 3 with the times of Table 1, as far as they can be recovered, gives 1.746; the paper prints 1.76 from
    /// factors that are not rounded.
    #[test]
    fn the_ratio_under_ntfs_is_that_of_the_paper() {
        let (slc, mlc) = (times(25, 200, 64), times(60, 800, 128));
        assert!((HYBRID.slc(&slc) - 272.1).abs() < 0.1);
        assert!((HYBRID.mlc(&mlc) - 2_749.4).abs() < 0.1);
        assert!((PLAIN.write(None, &mlc) - 4_065.0).abs() < 0.1);
        let ratio = PLAIN.write(None, &mlc) / HYBRID.write(Some(&slc), &mlc);
        assert!((ratio - 1.746).abs() < 0.002, "{ratio}");
    }

    /// Of the lines of Table 3 for ext3 only alpha and p2 are known. With the other factors of NTFS, and without scans
    /// of spare areas, the ratio is in the band around the paper's 1.4.
    #[test]
    fn the_ratio_under_ext3_is_in_its_band() {
        let (slc, mlc) = (times(25, 200, 64), times(60, 800, 128));
        for (n3, n3_plain) in [(44.08, 48.4), (0.0, 0.0)] {
            let slc_mlc = WriteCost { alpha: 0.23, p2: 0.009, n3, ..HYBRID };
            let plain = WriteCost { p2: 0.011, n3: n3_plain, ..PLAIN };
            let ratio = plain.write(None, &mlc) / slc_mlc.write(Some(&slc), &mlc);
            assert!((1.39..=1.45).contains(&ratio), "{ratio}");
        }
    }
}
