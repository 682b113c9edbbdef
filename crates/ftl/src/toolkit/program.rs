//! Mapping units and copies in programs, and the results of programs.

use base::engine::Handle;
use base::units::Psn;
use flash::backend::{Backend, Cause, Command, List, Slot, SlotRef};
use flash::nand::{Stream, Target};

use crate::port::{Flash, Owners, PageWrite};

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

/// Puts the owner's data of a mapping unit into a slot.
#[inline]
pub(crate) fn give_unit(flash: &mut Flash<'_>, owners: &dyn Owners, unit: &PageWrite, to: SlotRef) {
    if flash.backend.has_content() {
        owners.give(unit, flash.backend.content_mut(to));
    }
}

/// Reads the other sectors of a partly written mapping unit; its program waits for the read and includes them
/// (read-modify-write).
pub(crate) fn read_rest(
    flash: &mut Flash<'_>,
    owners: &mut dyn Owners,
    list: Handle<List>,
    (unit, psn): (&PageWrite, Psn),
    (program, to): (Handle<Command>, SlotRef),
) {
    let slot = Slot { psn, lpn: unit.lpn, expected: true, ..Slot::default() };
    let (read, from) = add_read(flash.backend, list, Cause::Host, slot);
    flash.backend.forward(read, from, program, to);
    owners.charge(unit.owner);
}

/// Adds the read of a slot at the slot's own place.
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

/// Adds the copy of a slot by a merge: its read to one list, and its program, which takes all its data from the read,
/// to another or the same list.
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

/// A slot of a program that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Programmed {
    pub(crate) slot: Slot,
    /// The place that the program was to write.
    pub(crate) psn: Psn,
    /// True if the program failed and the slot was not written. Other slots of the program may be there.
    pub(crate) torn: bool,
}

impl Programmed {
    /// The `i`-th slot of a program to `target`.
    #[inline]
    pub(crate) fn of(backend: &Backend, program: Handle<Command>, (target, failed): (Target, bool), i: u32) -> Self {
        let psn = backend.geometry().slot(target.superblock, target.offset + i);
        Self { slot: backend.slot(program, i).1, psn, torn: failed && !backend.media().holds_data(psn) }
    }
}
