//! The mapping units of a program of copies, entered into the map together.
//!
//! Nearly all of them come from one superblock, so the counts of that superblock change once for all of them. The
//! result equals [`Mapping::enter_copy`] for each mapping unit.

use base::engine::Handle;
use base::units::{Psn, SuperblockId};
use flash::backend::Command;

use crate::page::block_manager::BlockManager;
use crate::page::block_manager::table::SuperblockState;
use crate::page::mapping::{L2p, Mapping};
use crate::port::Flash;
use crate::sabotage::Sabotage;

/// A superblock from which slots were copied, and the counts that change with it.
#[derive(Clone, Copy, Debug)]
pub(in crate::page) struct VacatedSuperblock {
    pub(in crate::page) superblock: SuperblockId,
    /// The number of slots that were copied.
    pub(in crate::page) slots: u32,
    /// The part of `slots` that has become invalid with the copy, and still counts as valid.
    valid: u32,
}

impl VacatedSuperblock {
    /// The superblock of one slot that was copied.
    pub(in crate::page) const fn alone(superblock: SuperblockId) -> Self {
        Self { superblock, slots: 1, valid: 0 }
    }
}

impl Mapping {
    /// Enters the mapping units of a program of copies in a pool, of which no page has failed, and adds the superblocks
    /// that they leave to `left`. Returns false, and enters none, if the map in RAM alone cannot decide.
    pub(in crate::page) fn enter_copies(
        &mut self,
        blocks: &mut BlockManager,
        flash: &Flash<'_>,
        program: Handle<Command>,
        pool: u32,
        left: &mut Vec<VacatedSuperblock>,
    ) -> bool {
        let planted = blocks.planted.is(Sabotage::CopyOverrules) || blocks.planted.is(Sabotage::StaleMapping);
        let L2p::Ram(map) = &mut self.l2p else { return false };
        if planted || self.trims.is_some() || self.checkpoints.is_some() {
            return false;
        }
        let target = flash.backend.command(program).target;
        let copies = blocks.layout.array.slot(target.superblock, target.offset).get()..;
        // An empty range contains no slot: the first slot always begins a new source.
        let mut slots = 0..0;
        for (to, (_, slot)) in copies.map(Psn::new).zip(flash.backend.slots(program)) {
            if !slots.contains(&slot.psn.get()) {
                let (superblock, _) = blocks.layout.locate(slot.psn);
                slots = blocks.layout.array.slots_of(blocks.layout.member_at(slot.psn));
                left.push(VacatedSuperblock { superblock, slots: 0, valid: 0 });
            }
            let Some(source) = left.last_mut() else { continue };
            source.slots += 1;
            // The host has neither written nor discarded the mapping unit meanwhile.
            if map.leads(slot.lpn, slot.psn) {
                map.set(slot.lpn, Some(to));
                blocks.table.move_valid(slot.psn, to);
                source.valid += 1;
            }
        }
        let mut entered = 0;
        for VacatedSuperblock { superblock, valid, .. } in left.iter().copied() {
            let of = blocks.pool_of(superblock);
            blocks.table.take_valid(superblock, valid);
            blocks.pools[of as usize].live -= valid;
            if blocks.table.state(superblock) == SuperblockState::Closed {
                blocks.note_invalid(of, superblock, valid);
            }
            entered += valid;
        }
        blocks.table.add_valid(blocks.layout.superblock_of(target.superblock), entered);
        blocks.pools[pool as usize].live += entered;
        true
    }
}

#[cfg(test)]
mod tests {
    use flash::backend::{Cause, Class, Slot};
    use flash::nand::{Spare, Stream, Target};

    use super::*;
    use crate::PageConfig;
    use crate::PageFtl;
    use crate::page::ListPurpose;
    use crate::rig::{Rig, describe};

    #[test]
    fn copies_that_are_entered_together_leave_the_state_of_copies_entered_one_by_one() {
        let (config, array, _) = describe(
            r"flash = { part = 'FMMU-V2', channels = 1, chips = 1, blocks = 24, pages = 16 }
ftl = { map-unit = '4KiB', over-provisioning = '40%' }",
        );
        let config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
        let mut rig: Rig<PageFtl> = Rig::with(config, &array);
        let units = rig.ftl.mapping.units;
        (0..units).chain((0..units).step_by(3)).for_each(|lpn| rig.write(&[lpn], None));
        rig.run_until_idle();
        rig.with_ftl(|ftl, flash, _| {
            let closed = |ftl: &PageFtl| {
                let all = (0..ftl.blocks.layout.shape.superblock_count()).map(SuperblockId::new);
                let closed = all.filter(|superblock| ftl.blocks.table.state(*superblock) == SuperblockState::Closed);
                closed.filter(|superblock| ftl.blocks.table.valid(*superblock) > 4).collect::<Vec<_>>()
            };
            let [one, other] = closed(ftl)[..2] else { panic!("two superblocks with data") };
            // Slots of the first superblock, then of the other, then of the first again.
            let mut sources: Vec<Psn> = ftl.blocks.table.valid_slots(one, 0).take(4).collect();
            sources.extend(ftl.blocks.table.valid_slots(other, 0).take(3));
            sources.swap(3, 6);
            let pool = ftl.blocks.pool_of(one);
            let target = Target { superblock: ftl.blocks.open_superblock(pool, Stream::COPIES, false), offset: 0 };
            let list = flash.backend.open_list(Class::Other, ListPurpose::Copy as u32);
            let program = flash.backend.add_program(list, Cause::Gc, target, Stream::COPIES);
            for psn in &sources {
                let Spare::Data { lpn, .. } = flash.backend.media().spare(*psn) else { panic!("a valid slot") };
                flash.backend.push_slot(program, Slot { psn: *psn, lpn, ..Slot::default() });
            }
            // One of the mapping units is discarded while it is copied.
            let (_, stale) = flash.backend.slot(program, 1);
            ftl.mapping.discard(&mut ftl.blocks, flash.now, None, stale.lpn);
            let mut one_by_one = ftl.clone();
            let mut left = Vec::new();
            assert!(ftl.mapping.enter_copies(&mut ftl.blocks, flash, program, pool, &mut left));
            for (i, (_, slot)) in (0..).zip(flash.backend.slots(program)) {
                let to = ftl.blocks.layout.slot(target.superblock, i);
                let copy = ([slot.psn, to], (target.superblock, pool));
                assert!(one_by_one.mapping.enter_copy(&mut one_by_one.blocks, flash.now, slot.lpn, copy.0, copy.1));
            }
            assert_eq!(format!("{ftl:?}"), format!("{one_by_one:?}"));
            let slots: Vec<_> = left.iter().map(|left| (left.superblock, left.slots, left.valid)).collect();
            assert_eq!(slots, [(one, 3, 2), (other, 3, 3), (one, 1, 1)]);
            assert_eq!(ftl.blocks.table.valid(target.superblock), 6);
            assert_eq!(ftl.mapping.l2p.peek(stale.lpn.index()), None, "it stays discarded");
        });
    }
}
