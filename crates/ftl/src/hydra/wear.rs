//! Explicit wear levelling (Seong et al., Sec. 3.5): while the drive is idle, the data of the least worn mapped
//! superblock moves to the most worn free one, if their erase counts differ by more than the threshold.
//!
//! The check runs after a number of erases in a superchip, and then repeats until the counts are close enough. Implicit
//! wear levelling is in the choice of a merge's target, see [`super::superblocks::Superblocks::take`].

use flash::backend::Cause;

use super::HydraFtl;
use super::merge::Stage;
use crate::port::{Flash, Owners};

/// The wear-levelling state of a superchip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WearCheck {
    /// Erases since the last check.
    erases: u32,
    /// The last check found a pair to level.
    levelling: bool,
}

impl HydraFtl {
    /// A superblock of a superchip has been erased.
    pub(super) fn note_erase(&mut self, superchip: u32) {
        self.wear_checks[superchip as usize].erases += 1;
    }

    /// The drive is idle. Returns true if a move begins.
    pub(crate) fn on_idle(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) -> bool {
        let Some(threshold) = self.wear.threshold else { return false };
        if self.read_only || self.merges.iter().any(|merge| merge.stage != Stage::Nothing) {
            return false;
        }
        let mut begun = false;
        for superchip in 0..self.layout.superchips {
            let check = &mut self.wear_checks[superchip as usize];
            if self.working >= self.at_once || (!check.levelling && check.erases < self.wear.check_every) {
                continue;
            }
            check.erases = 0;
            let pair = self.worn_apart(superchip, threshold);
            self.wear_checks[superchip as usize].levelling = pair.is_some();
            if let Some((logical, target)) = pair {
                self.superblocks.take_this(target);
                let number = self.new_merge(logical, Cause::Wear);
                self.working += 1;
                self.begin(flash, owners, number, target);
                begun = true;
            }
        }
        begun
    }

    /// The logical superblock in the least worn place of a superchip, and the most worn free superblock, if their erase
    /// counts differ by more than the threshold.
    fn worn_apart(&self, superchip: u32, threshold: u32) -> Option<(u32, u32)> {
        let erases = |superblock: u32| self.superblocks.erases(superblock);
        let free = self.superblocks.free_of(superchip).iter();
        let most = free.max_by_key(|superblock| (erases(*superblock), std::cmp::Reverse(*superblock)))?;
        let here = (superchip..self.layout.logical).step_by(self.layout.superchips as usize);
        let mapped = here.filter_map(|logical| Some((erases(self.place_of(logical)?), logical)));
        let (least, logical) = mapped.min()?;
        (erases(most) > least + threshold).then_some((logical, most))
    }
}
