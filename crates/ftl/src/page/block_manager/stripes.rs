//! Superblocks in several dies: the order of their first programs and of their erases.
//!
//! A mount must tell a superblock that is being opened from one that is being erased, although in both some members are
//! erased. So the member that is written first is erased first, alone, and the programs of the first stripe run one
//! after the other. A superblock whose first member holds no data, while other members do, was being erased: its data
//! had been moved before.

use base::engine::Handle;
use base::units::SuperblockId;
use flash::backend::{Cause, Command};
use flash::nand::Media;

use super::BlockManager;
use crate::port::Flash;
use crate::sabotage::Sabotage;

impl BlockManager {
    /// Makes a program wait for the program before it in its block, and in the first stripe for the program before it
    /// in the stripe.
    ///
    /// The order of lists is not enough for programs of a block: a controller may begin copies, whose reads are in
    /// other dies, before a list of host data.
    pub(super) fn pass_gates_of_stripe(&mut self, flash: &mut Flash<'_>, pool: u32, command: Handle<Command>) {
        let target = flash.backend.command(command).target;
        let gates = &mut self.pools[pool as usize].gates;
        if let Some(gate) = gates.of(target.superblock) {
            flash.backend.depend(gate, command);
        }
        gates.set(target.superblock, command);
        let is_first = self.layout.striping.as_ref().is_some_and(|striping| target.offset < striping.unit.get());
        if !is_first || self.planted.is(Sabotage::OpenedAtOnce) {
            return;
        }
        let superblock = self.layout.superblock_of(target.superblock);
        if let Some(before) = self.opening.of(superblock)
            && flash.backend.command(before).target.superblock != target.superblock
        {
            flash.backend.depend(before, command);
        }
        self.opening.set(superblock, command);
    }

    /// Prepares the erase of a superblock in which a program has failed. Returns false if the superblock is to be
    /// retired instead, because it cannot go on without the member.
    pub(super) fn begin_erase_of_failing(&mut self, media: &Media, superblock: SuperblockId) -> bool {
        let failing = self.layout.present(media, superblock).filter(|member| media.is_failing(*member));
        let lost: Vec<SuperblockId> = failing.collect();
        let goes_on = lost.len() == 1 && self.can_miss(superblock);
        if goes_on {
            self.erasing.insert(superblock, StripedErase { left: 0, lost });
        }
        goes_on
    }

    /// True if a superblock that is being erased loses a member.
    pub(super) fn shrinks(&self, superblock: SuperblockId) -> bool {
        self.erasing.get(&superblock).is_some_and(|erase| !erase.lost.is_empty())
    }

    /// Ends the erase of a member of a superblock; after the first member, erases the other members. After the last
    /// member, returns true if the superblock is out of use.
    pub(in crate::page) fn end_erase(
        &mut self,
        flash: &mut Flash<'_>,
        (member, cause): (SuperblockId, Cause),
        failed: bool,
    ) -> Option<bool> {
        if self.layout.striping.is_none() {
            return Some(failed);
        }
        let superblock = self.layout.superblock_of(member);
        let media = flash.backend.media();
        let others = self.layout.present(media, superblock).filter(|other| *other != member);
        let others: Vec<SuperblockId> = others.collect();
        let is_first = member == self.layout.first_member(media, superblock);
        let erase = self.erasing.entry(superblock).or_default();
        if failed && !erase.lost.contains(&member) {
            erase.lost.push(member);
        }
        erase.left = if is_first { others.len() as u32 } else { erase.left - 1 };
        if erase.left > 0 {
            for other in others.into_iter().filter(|_| is_first) {
                self.erase_member(flash, other, cause);
            }
            return None;
        }
        let StripedErase { mut lost, .. } = self.erasing.remove(&superblock)?;
        // The die of a member may have failed after the erase of that member.
        let dead =
            self.layout.present(media, superblock).filter(|other| media.is_dead(*other) && !lost.contains(other));
        let dead: Vec<SuperblockId> = dead.collect();
        lost.extend(dead);
        Some(!self.go_on_without(flash.backend.media_mut(), superblock, &lost))
    }
}

/// The erase of a superblock in several dies.
#[derive(Clone, Debug, Default)]
pub(super) struct StripedErase {
    /// Members whose erases are under way.
    left: u32,
    /// Members that take no more programs, because an erase or a program has failed there.
    lost: Vec<SuperblockId>,
}

#[cfg(test)]
mod tests {
    use base::engine::Rng;
    use base::units::SuperblockId;

    use super::*;
    use crate::PageConfig;
    use crate::page::PageFtl;
    use crate::page::block_manager::table::SuperblockState;
    use crate::rig::{Rig, describe};

    /// The number of valid units that a mount counts in a superblock after a power cut between the erases of its two
    /// members.
    fn believed(planted: crate::PlantedBug) -> u32 {
        let (config, array, _) = describe(
            r"flash = { part = 'K9K8G08U0M', channels = 2, chips = 1, blocks = 16, pages = 8, planes = 1, controllers = 'none' }
ftl = { capacity = '256KiB', superblock-dies = 2 }",
        );
        let config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
        let mut rig: Rig<PageFtl> = Rig::with(config, &array);
        let mut rng = Rng::stream(5, "stripes");
        let units = rig.units();
        (0..units).for_each(|lpn| rig.write(&[lpn], None));
        rig.run_until_idle();
        let half_erased = |rig: &Rig<PageFtl>| {
            let (layout, media) = (&rig.ftl.blocks.layout, rig.backend.media());
            let erasing = (0..layout.shape.superblock_count())
                .map(SuperblockId::new)
                .filter(|superblock| rig.ftl.blocks.table.state(*superblock) == SuperblockState::Erasing);
            let mut half = erasing.filter(|superblock| {
                layout.members(*superblock).filter(|member| media.is_erased(*member)).count() == 1
            });
            half.next()
        };
        loop {
            rig.write(&[rng.below(units.into()) as u32], None);
            while half_erased(&rig).is_none() && rig.step() {}
            if let Some(superblock) = half_erased(&rig) {
                rig.cut_power_with(planted);
                return rig.ftl.blocks.table.valid(superblock);
            }
        }
    }

    #[test]
    fn nothing_counts_in_a_superblock_that_was_being_erased() {
        assert_eq!(believed(crate::PlantedBug::default()), 0);
        #[cfg(feature = "sabotage")]
        assert!(
            believed(crate::PlantedBug::bug(Sabotage::HalfErasedBelieved)) > 0,
            "a mount that believes it must be found"
        );
    }
}
