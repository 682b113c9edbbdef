//! Cleaning the tail of the SLC log (Chang, Sec. 3.6).
//!
//! * With chains, a valid sector goes to the MLC flash if its logical block has a log block. Otherwise the sector is
//!   copied to the head, so that it causes no new log block.
//! * With a page map, which has no log blocks, a sector has a second chance: it goes to the MLC flash if it was copied
//!   before and has not been written since.
//! * All sectors go to the MLC flash if copying would gain no page, if the safety valve is closed, or while the
//!   throttle is active (Sec. 3.4), because copies would wear the SLC flash that the throttle protects.

use base::engine::Handle;
use base::units::{Lpn, Psn};
use flash::backend::{Cause, Class, List, Op, Slot};
use flash::nand::{Media, Spare, Stream, Target};

use super::disk::Disk;
use super::due::put_back;
use super::next::{ArrayKind, Next, TaskOutcome, Wakeup};
use super::pages::Store;
use super::slc::{SectorSlot, Slc};
use crate::port::Flash;
use crate::sabotage::Sabotage;
use crate::toolkit::Commands;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CleaningPhase {
    Begun,
    /// Sectors are being copied to the head.
    Copying,
    /// The remaining sectors are being written to the MLC flash.
    WritingBack,
    Erasing,
}

/// The cleaning of a tail block: a task.
#[derive(Clone, Debug)]
pub(super) struct Clean {
    phase: CleaningPhase,
}

impl Clean {
    pub(super) const fn new() -> Self {
        Self { phase: CleaningPhase::Begun }
    }

    pub(super) fn step(&mut self, disk: &mut Disk, flash: &mut Flash<'_>, wakeup: Wakeup) -> Next<Store> {
        match self.phase {
            CleaningPhase::Begun => match copy_tail(disk, flash) {
                Some(list) => {
                    self.phase = CleaningPhase::Copying;
                    Next::List(ArrayKind::Slc, list)
                }
                None => self.write_back(disk, flash),
            },
            CleaningPhase::Copying => {
                copied(disk, flash, wakeup.list());
                self.write_back(disk, flash)
            }
            CleaningPhase::WritingBack => match erase_tail(disk, flash) {
                Some(list) => {
                    self.phase = CleaningPhase::Erasing;
                    Next::List(ArrayKind::Slc, list)
                }
                None => Next::Ended(TaskOutcome::Done),
            },
            CleaningPhase::Erasing => {
                erased(disk, flash, wakeup.list());
                Next::Ended(TaskOutcome::Done)
            }
        }
    }

    /// Writes the pages of the remaining sectors to the MLC flash.
    fn write_back(&mut self, disk: &mut Disk, flash: &mut Flash<'_>) -> Next<Store> {
        let mut sectors = std::mem::take(&mut disk.vectors.tail);
        sectors.extend(tail_sectors(disk.slc_mut(), flash.slc_array().media()));
        disk.counts.written_back += sectors.len() as u64;
        let above = Store::of_sectors(disk, sectors.iter().map(|found| found.sector), Cause::Merge);
        put_back(&mut disk.vectors.tail, &mut sectors);
        self.phase = CleaningPhase::WritingBack;
        Next::First(above)
    }
}

/// The valid sectors of the tail, by slot.
fn tail_sectors(slc: &Slc, media: &Media) -> impl Iterator<Item = SectorSlot> {
    let first = slc.log.tail().get() * slc.geometry.superblock_slots();
    let places = first..first + slc.geometry.superblock_slots();
    places.filter_map(move |place| match media.spare(Psn::new(place)) {
        Spare::Data { lpn, .. } if slc.table.regular(lpn.get()) == Some(place) => {
            Some(SectorSlot { sector: lpn.get(), place })
        }
        _ => None,
    })
}

/// Copies the sectors that stay in the SLC flash to the head.
fn copy_tail(disk: &mut Disk, flash: &mut Flash<'_>) -> Option<Handle<List>> {
    let mut sectors = std::mem::take(&mut disk.vectors.tail);
    let slc_array = flash.slc_array();
    sectors.extend(tail_sectors(disk.slc_mut(), slc_array.media()));
    let Disk { spec, mlc, slc, counts, vectors, .. } = disk;
    let slc = slc.as_mut().expect("it is being cleaned");
    counts.cleaned += 1;
    let page_of = |found: &SectorSlot| slc.geometry.page_of(Psn::new(found.place));
    counts.tail_pages += sectors.chunk_by(|a, b| page_of(a) == page_of(b)).count() as u64;
    let (next, room) = slc.log.room();
    let per_block = mlc.pages * mlc.geometry.sectors;
    sectors.retain(|found| !mlc.mapping.takes_back(found.sector / per_block, slc.is_copied(found.place)));
    let gains = (sectors.len() as u32).div_ceil(slc.slots) < slc.geometry.pages;
    sectors.truncate((room * slc.slots) as usize);
    if !spec.copy_back || slc.valve.is_closed() || slc.is_throttling || !gains || sectors.is_empty() {
        put_back(&mut vectors.tail, &mut sectors);
        return None;
    }
    let list = slc_array.open_list(Class::Other, 0);
    let mut from = std::mem::take(&mut vectors.slots);
    for page in sectors.chunk_by(|a, b| page_of(a) == page_of(b)) {
        let read = slc_array.add_read(list, Cause::Gc, slc.block_of(page[0].place));
        from.extend(page.iter().map(|found| {
            let (psn, lpn) = (Psn::new(found.place), Lpn::new(found.sector));
            slc_array.push_slot(read, Slot { psn, lpn, expected: true, ..Slot::default() })
        }));
    }
    for (page, from) in (next..).zip(from.chunks(slc.slots as usize)) {
        let target = Target { superblock: slc.log.head(), offset: page * slc.slots };
        let program = slc_array.add_program(list, Cause::Gc, target, Stream::COPIES);
        for from in from {
            let to = slc_array.push_slot(program, Slot::default());
            slc_array.forward_serial(*from, to);
        }
    }
    let pages = (sectors.len() as u32).div_ceil(slc.slots);
    slc.log.take(pages);
    counts.copied_back += u64::from(pages);
    put_back(&mut vectors.slots, &mut from);
    put_back(&mut vectors.tail, &mut sectors);
    Some(list)
}

/// Enters the sectors that a list has copied to the head in the table.
fn copied(disk: &mut Disk, flash: &mut Flash<'_>, list: Handle<List>) {
    let (sectors, planted) = (disk.mlc.geometry.sectors, disk.planted);
    let (slc, slc_array) = (disk.slc_mut(), flash.slc_array());
    let mut commands = Commands::of(slc_array, list);
    while let Some((handle, command)) = commands.next(slc_array) {
        if command.op != Op::Program {
            continue;
        }
        if command.failed && !planted.is(Sabotage::TailCopyBelieved) {
            // The sectors of this program are still valid in the tail, and go to the MLC flash.
            slc.log.head_failed();
            continue;
        }
        for (i, (_, slot)) in (0..).zip(slc_array.slots(handle)) {
            let psn = slc.geometry.slot(command.target.superblock, command.target.offset + i);
            let sector = slot.lpn.get();
            slc.set(SectorSlot { sector, place: psn.get() }, sector / sectors, true);
        }
    }
    slc_array.release(list);
}

/// Begins to write the unplaced sectors, which found no entry in the table at mount, to the MLC flash.
pub(super) fn take_in_unplaced(disk: &mut Disk) -> Option<Store> {
    let slc = disk.slc.as_mut().filter(|slc| !slc.unplaced.is_empty() && !slc.is_stuck)?;
    let unplaced = std::mem::take(&mut slc.unplaced);
    let store = Store::of_sectors(disk, unplaced.iter().map(|found| found.sector), Cause::Recovery);
    disk.slc_mut().unplaced = unplaced;
    Some(store)
}

/// Erases the tail if it holds no valid sector and is not failing.
fn erase_tail(disk: &mut Disk, flash: &mut Flash<'_>) -> Option<Handle<List>> {
    let (slc, slc_array) = (disk.slc_mut(), flash.slc_array());
    if tail_sectors(slc, slc_array.media()).next().is_some() {
        // The MLC flash has refused a page of the tail, so the tail cannot be erased.
        slc.is_stuck = true;
        return None;
    }
    let tail = slc.log.tail();
    if slc.log.tail_is_failing() {
        slc_array.media_mut().retire(tail);
        slc.tail_is_gone(true);
        return None;
    }
    let list = slc_array.open_list(Class::Other, 0);
    slc_array.add_erase(list, Cause::Gc, tail);
    Some(list)
}

fn erased(disk: &mut Disk, flash: &mut Flash<'_>, list: Handle<List>) {
    let planted = disk.planted;
    let (slc, slc_array) = (disk.slc_mut(), flash.slc_array());
    let erase = slc_array.list(list).first().expect("an erase");
    let failed = slc_array.command(erase).failed && !planted.is(Sabotage::FailedEraseReused);
    slc_array.release(list);
    if failed {
        slc_array.media_mut().retire(slc.log.tail());
    }
    slc.tail_is_gone(failed);
}
