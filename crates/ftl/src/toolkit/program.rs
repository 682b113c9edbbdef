//! Mapping units and copies in programs, and the results of programs.

use base::engine::Handle;
use base::units::Psn;
use flash::backend::{Backend, Cause, Command, List, Slot, SlotRef};
use flash::nand::{SectorMask, Stream, Target};

use crate::port::{Flash, Owners, PageWrite, full_mask};

/// Adds a mapping unit to a program, with its owner's data.
#[inline]
pub(crate) fn push_unit(
    flash: &mut Flash<'_>,
    owners: &dyn Owners,
    program: Handle<Command>,
    unit: &PageWrite,
) -> SlotRef {
    let to = flash.backend.push_slot(program, unit.slot());
    give_unit(flash, owners, unit, to);
    to
}

/// Copies the owner's data of a mapping unit into a slot.
#[inline]
pub(crate) fn give_unit(flash: &mut Flash<'_>, owners: &dyn Owners, unit: &PageWrite, to: SlotRef) {
    if flash.backend.has_content() {
        owners.give(unit, flash.backend.content_mut(to));
    }
}

/// Adds the read of the sectors that a partly written mapping unit keeps. Its program waits for the read and includes
/// these sectors (read-modify-write).
pub(crate) fn read_rest(
    flash: &mut Flash<'_>,
    owners: &mut dyn Owners,
    list: Handle<List>,
    (unit, psn): (&PageWrite, Psn),
    (program, to): (Handle<Command>, SlotRef),
) {
    let slot = Slot { psn, lpn: unit.lpn, expected: true, ..Slot::default() };
    let (read, from) = add_read(flash.backend, list, Cause::Host, slot);
    if flash.backend.geometry().planes_per_unit > 1 {
        let sectors = flash.backend.geometry().sectors;
        flash.backend.set_sectors(read, sectors_moved(!unit.mask & full_mask(sectors), sectors));
    }
    flash.backend.forward(read, from, program, to);
    owners.charge(unit.owner);
}

/// Sectors of a codeword, for reads of a part of a mapping unit (assumed: 4 KiB).
const CODEWORD: u32 = 8;

/// The number of sectors that a read must transfer to have the sectors of a mask: the sectors of whole codewords.
fn sectors_moved(mask: SectorMask, unit: u32) -> u32 {
    let codewords = (0..unit.div_ceil(CODEWORD)).filter(|i| mask >> (i * CODEWORD) & 0xff != 0);
    (codewords.count() as u32 * CODEWORD).min(unit)
}

/// Limits the transfer of a read to the codewords that its slots ask for, if mapping units lie on several planes. Other
/// reads transfer whole units.
#[inline(always)]
#[allow(clippy::inline_always)] // Nearly no drive has such units, and each read asks.
pub(crate) fn move_parts(backend: &mut Backend, read: Handle<Command>) {
    if backend.geometry().planes_per_unit > 1 {
        move_codewords(backend, read);
    }
}

#[inline(never)]
fn move_codewords(backend: &mut Backend, read: Handle<Command>) {
    let (count, unit) = (backend.command(read).count(), backend.geometry().sectors);
    let sectors = (0..count).map(|i| sectors_moved(backend.slot(read, i).1.mask, unit)).sum();
    backend.set_sectors(read, sectors);
}

/// Adds the read of a slot from the place that the slot names.
#[inline]
pub(crate) fn add_read(
    backend: &mut Backend,
    list: Handle<List>,
    cause: Cause,
    slot: Slot,
) -> (Handle<Command>, SlotRef) {
    let (superblock, _) = backend.geometry().locate(slot.psn);
    let read = backend.add_read(list, cause, superblock);
    (read, backend.push_slot(read, slot))
}

/// Adds the copy of a slot by a merge. The read goes to one list. The program, which takes all its data from the read,
/// goes to another list or the same.
pub(crate) fn add_copy(
    backend: &mut Backend,
    [from, to]: [Handle<List>; 2],
    psn: Psn,
    target: Target,
) -> [Handle<Command>; 2] {
    let (read, source) = add_read(backend, from, Cause::Merge, Slot { psn, ..Slot::default() });
    let program = backend.add_program(to, Cause::Merge, target, Stream::COPIES);
    let slot = backend.push_slot(program, Slot::default());
    backend.forward(read, source, program, slot);
    [read, program]
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramSlot {
    pub(crate) slot: Slot,
    /// The place to which the slot was to be programmed.
    pub(crate) psn: Psn,
    /// True if the program failed and the slot was not written. Other slots of the program may have been written.
    pub(crate) torn: bool,
}

impl ProgramSlot {
    #[inline]
    pub(crate) fn of(backend: &Backend, program: Handle<Command>, (target, failed): (Target, bool), i: u32) -> Self {
        let psn = backend.geometry().slot(target.superblock, target.offset + i);
        Self { slot: backend.slot(program, i).1, psn, torn: failed && !backend.media().holds_data(psn) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_read_of_a_part_moves_whole_codewords() {
        let moved =
            |sectors: std::ops::Range<u32>| sectors_moved(full_mask(sectors.end) & !full_mask(sectors.start), 128);
        assert_eq!([moved(0..1), moved(0..8), moved(7..9), moved(120..128), moved(0..128)], [8, 8, 16, 8, 128]);
        assert_eq!([sectors_moved(0b10, 2), sectors_moved(0b11, 2)], [2, 2]);
    }
}
