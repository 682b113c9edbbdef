//! Differences between blocks: one block reads, programs and erases more slowly than another, and all change with wear.
//!
//! Cells of the upper and lower layers of a stack, and cells that have been erased often, take more or fewer pulses. A
//! block draws a factor for each operation once, from its number, so the block is the same in every run of a drive. A
//! command on several planes takes as long as the slowest of their blocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use base::units::{Ratio, Span, SuperblockId};

use super::Op;
use crate::nand::Media;
use crate::nand::spread::spread;

/// Differences of array times between blocks, and with wear.
///
/// A block takes the part's time times `(1 + spread x z) x (1 + slope x w)`. z is drawn once for each block and
/// operation, uniform from -1 to 1; w is the share of the rated erases that the block has had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct VariationSpec {
    /// Spread of read times: the share by which the slowest block reads longer than the part says, and the fastest
    /// shorter.
    pub read: Ratio,
    /// Spread of program times.
    pub program: Ratio,
    /// Spread of erase times.
    pub erase: Ratio,
    /// The share by which a program takes less time in a block at the end of its rated erases: worn cells take a charge
    /// sooner.
    pub program_wear: Ratio,
    /// The share by which an erase takes more time in a block at the end of its rated erases: worn cells lose their
    /// charge later.
    pub erase_wear: Ratio,
}

impl VariationSpec {
    /// The largest spread and the largest decrease with wear, so that times stay positive.
    pub const MOST: f64 = 0.9;

    /// Array time of an operation on one plane of a superblock, or on all its planes.
    pub(super) fn time(
        &self,
        media: &Media,
        (op, time): (Op, Span),
        (superblock, plane): (SuperblockId, Option<u32>),
    ) -> Span {
        let planes = match plane {
            Some(plane) => plane..plane + 1,
            None => 0..media.geometry().stripe,
        };
        let wear = media.wear(superblock);
        let slowest = planes.map(|plane| self.factor(op, media.geometry().block(superblock, plane).get(), wear));
        let slowest = slowest.fold(0.0, f64::max);
        Span::from_ps((time.as_ps() as f64 * slowest).round() as u64)
    }

    /// The factor of a block's times for an operation.
    fn factor(&self, op: Op, block: u32, wear: f64) -> f64 {
        let (spread, slope) = match op {
            Op::Read => (self.read, 0.0),
            Op::Program | Op::CopyBack => (self.program, -self.program_wear.get()),
            Op::Erase => (self.erase, self.erase_wear.get()),
        };
        // Beyond its rated erases a block does not change any more.
        (1.0 + spread.get() * draw(op, block)) * (1.0 + slope * wear.min(1.0))
    }
}

/// A number from -1 to 1 for an operation of a block.
fn draw(op: Op, block: u32) -> f64 {
    spread((u64::from(block) << 8 | op as u64).wrapping_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::{FaultSpec, Faults, Geometry};

    fn media(stripe: u32) -> Media {
        let geometry = Geometry::new(1, 1, 1, stripe, stripe, 512, 4, 1, 4).expect("a small array");
        Media::new(geometry, 100, 1, Faults::new(&FaultSpec::default(), 1))
    }

    #[test]
    fn blocks_spread_evenly_about_the_time_of_the_part() {
        let spec = VariationSpec { read: Ratio::new(0.1), ..VariationSpec::default() };
        let media = media(1);
        let time = |op, block| {
            let at = (SuperblockId::new(block), None);
            spec.time(&media, (op, Span::from_us(100)), at)
        };
        let reads: Vec<f64> = (0..512).map(|block| time(Op::Read, block).as_us_f64()).collect();
        let mean = reads.iter().sum::<f64>() / 512.0;
        let variance = reads.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / 512.0;
        assert!((mean - 100.0).abs() < 0.8, "{mean}");
        // The deviation of a uniform distribution from 90 to 110 is 20 / sqrt(12).
        assert!((variance.sqrt() - 5.77).abs() < 0.3, "{variance}");
        assert!(reads.iter().all(|time| (90.0..=110.0).contains(time)));
        assert!((0..512).all(|block| time(Op::Erase, block) == Span::from_us(100)), "only reads vary");
    }

    #[test]
    fn a_command_on_several_planes_takes_the_time_of_the_slowest() {
        let spec = VariationSpec { program: Ratio::new(0.5), ..VariationSpec::default() };
        let media = media(4);
        let at = |block, plane| spec.time(&media, (Op::Program, Span::from_us(100)), (SuperblockId::new(block), plane));
        for block in 0..100 {
            let slowest = (0..4).map(|plane| at(block, Some(plane))).max();
            assert_eq!(Some(at(block, None)), slowest);
        }
    }

    #[test]
    fn erases_get_longer_and_programs_shorter_with_wear() {
        let spec = VariationSpec { program_wear: Ratio::new(0.2), erase_wear: Ratio::new(1.0), ..Default::default() };
        let mut media = media(1);
        let block = SuperblockId::new(3);
        let times = |media: &Media| {
            [Op::Read, Op::Program, Op::Erase]
                .map(|op| spec.time(media, (op, Span::from_us(1000)), (block, None)).as_us_f64().round() as u64)
        };
        assert_eq!(times(&media), [1000; 3]);
        (0..50).for_each(|_| _ = media.erase(block));
        assert_eq!(times(&media), [1000, 900, 1500]);
        (0..100).for_each(|_| _ = media.erase(block));
        assert_eq!(times(&media), [1000, 800, 2000], "no change beyond the rated erases");
    }
}
