//! Explicit wear levelling (Seong et al., Sec. 3.5): while the drive is idle, the data of the least worn mapped
//! superblock moves to the most worn free one, if their erase counts differ by more than the threshold.
//!
//! The check runs after a number of erases in a superchip, and then repeats until the counts are close enough. Implicit
//! wear levelling is in the choice of a merge's target, see [`super::superblocks::Superblocks::take`].

use super::mapping::Mapping;
use super::superblocks::Superblocks;
use crate::toolkit::WearSpec;

/// The wear-levelling state of a superchip.
#[derive(Clone, Copy, Debug, Default)]
struct WearCheck {
    /// Erases since the last check.
    erases: u32,
    /// True if the last check found a pair to level.
    levelling: bool,
}

/// The explicit wear levelling of a device.
#[derive(Clone, Debug)]
pub(super) struct WearLeveller {
    spec: WearSpec,
    checks: Vec<WearCheck>,
}

impl WearLeveller {
    pub(super) fn new(spec: &WearSpec, superchips: u32) -> Self {
        Self { spec: spec.clone(), checks: vec![WearCheck::default(); superchips as usize] }
    }

    pub(super) const fn is_on(&self) -> bool {
        self.spec.threshold.is_some()
    }

    /// A superblock of a superchip has been erased.
    pub(super) fn note_erase(&mut self, superchip: u32) {
        self.checks[superchip as usize].erases += 1;
    }

    /// The logical superblock of a superchip to move, and its target, if the superchip's wear is to be levelled now.
    pub(super) fn next_move(
        &mut self,
        superblocks: &Superblocks,
        mapping: &Mapping,
        superchip: u32,
    ) -> Option<(u32, u32)> {
        let threshold = self.spec.threshold?;
        let check = &mut self.checks[superchip as usize];
        if !check.levelling && check.erases < self.spec.check_every {
            return None;
        }
        check.erases = 0;
        let pair = worn_apart(superblocks, mapping, superchip, threshold);
        check.levelling = pair.is_some();
        pair
    }
}

/// The logical superblock in the least worn place of a superchip, and the most worn free superblock, if their erase
/// counts differ by more than the threshold.
fn worn_apart(superblocks: &Superblocks, mapping: &Mapping, superchip: u32, threshold: u32) -> Option<(u32, u32)> {
    let erases = |superblock: u32| superblocks.erases(superblock);
    let free = superblocks.free_of(superchip).iter();
    let most = free.max_by_key(|superblock| (erases(*superblock), std::cmp::Reverse(*superblock)))?;
    let here = (superchip..mapping.layout.logical).step_by(mapping.layout.superchips as usize);
    let mapped = here.filter_map(|logical| Some((erases(mapping.place_of(logical)?), logical)));
    let (least, logical) = mapped.min()?;
    (erases(most) > least + threshold).then_some((logical, most))
}
