//! The tail of the SLC log is cleaned (Chang, Sec. 3.6).
//!
//! A valid sector whose logical block has a log block goes to the MLC flash; the others are copied to the head, so that
//! they make no new log blocks. Where pages are mapped there are none, and a sector has a second chance: it goes to the MLC
//! flash if it was copied before and has not been written since. If copying would gain no page, or the safety valve is
//! closed, all go to the MLC flash; and so do they while the throttle is active (Sec. 3.4), because copies would wear the
//! SLC flash that it is to spare.

use base::engine::Handle;
use base::units::{Lpn, Psn};
use flash::backend::{Cause, Class, List, Observer, Slot};
use flash::nand::{Sector, Spare, Stream, Target};

use super::blocks::NONE;
use super::pages::Due;
use super::{ChangFtl, Step};
use crate::ftl::Flash;
use crate::sabotage::Sabotage;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Begun,
    /// What went to the head has gone.
    Copied,
    /// What had to go to the MLC flash has gone.
    WrittenBack,
}

/// The cleaning of a tail block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clean {
    phase: Phase,
}

impl ChangFtl {
    pub(super) const fn begin_clean(&mut self) {
        self.clean = Some(Clean { phase: Phase::Begun });
    }

    /// Takes the next step.
    pub(super) fn clean_on<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>) {
        let Some(clean) = &mut self.clean else { return };
        match clean.phase {
            Phase::Begun => {
                clean.phase = Phase::Copied;
                self.copy_tail(flash);
            }
            Phase::Copied => {
                clean.phase = Phase::WrittenBack;
                self.write_tail_back(flash);
            }
            Phase::WrittenBack => self.erase_tail(flash),
        }
    }

    /// The sectors that are valid in the tail, and where they are, in the order of their slots.
    fn tail_sectors<S: Sector, O: Observer>(&self, flash: &mut Flash<'_, S, O>) -> Vec<(u32, u32)> {
        let slc = self.slc.as_ref().expect("it is being cleaned");
        let first = slc.log.tail().get() * slc.geometry.superblock_slots();
        let places = first..first + slc.geometry.superblock_slots();
        let media = flash.second().media();
        let sector = |place: u32| match media.spare(Psn::new(place)) {
            Spare::Data { lpn, .. } if slc.table.regular(lpn.get()) == Some(place) => Some((lpn.get(), place)),
            _ => None,
        };
        places.filter_map(sector).collect()
    }

    fn copy_tail<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>) {
        let mut sectors = self.tail_sectors(flash);
        let slc = self.slc.as_mut().expect("it is being cleaned");
        self.counts.cleaned += 1;
        let mut page = None;
        for (_, place) in &sectors {
            let this = Some(slc.geometry.page_of(Psn::new(*place)));
            self.counts.tail_pages += u64::from(std::mem::replace(&mut page, this) != this);
        }
        let (next, room) = slc.log.room();
        let per_block = self.pages * self.geometry.sectors;
        sectors.retain(|(sector, place)| !self.mapping.takes_back(sector / per_block, slc.is_copied(*place)));
        let gains = (sectors.len() as u32).div_ceil(slc.slots) < slc.geometry.pages;
        if !self.spec.copy_back || slc.valve.is_closed() || slc.is_throttling || !gains {
            return;
        }
        sectors.truncate((room * slc.slots) as usize);
        if sectors.is_empty() {
            return;
        }
        let second = flash.second();
        let list = second.open_list(Class::Other, 0);
        let mut last = None;
        let mut from = Vec::with_capacity(sectors.len());
        for (sector, place) in &sectors {
            let psn = Psn::new(*place);
            let page = slc.geometry.page_of(psn);
            let read = match last {
                Some((same, read)) if same == page => read,
                _ => second.add_read(list, Cause::Gc, slc.block_of(*place)),
            };
            last = Some((page, read));
            from.push(second.push_slot(read, Slot { psn, lpn: Lpn::new(*sector), expected: true, ..Slot::default() }));
        }
        for (page, from) in (next..).zip(from.chunks(slc.slots as usize)) {
            let target = Target { superblock: slc.log.head(), offset: page * slc.slots };
            let program = second.add_program(list, Cause::Gc, target, Stream::Copies);
            for from in from {
                let to = second.push_slot(program, Slot::default());
                second.forward_in_turn(*from, to);
            }
        }
        let pages = (sectors.len() as u32).div_ceil(slc.slots);
        slc.log.take(pages);
        self.counts.copied_back += u64::from(pages);
        self.submit_second(flash, Step::Tail, list);
    }

    /// What was copied to the head is there.
    pub(super) fn tail_copied<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, list: Handle<List>) {
        let slc = self.slc.as_mut().expect("it is being cleaned");
        let mut next = flash.second().list(list).first();
        while let Some(handle) = next {
            let command = flash.second().command(handle);
            next = command.sibling();
            if command.op != flash::backend::Op::Program {
                continue;
            }
            let (target, count, failed) = (command.target, command.count(), command.failed);
            if failed && !self.planted.is(Sabotage::TailCopyBelieved) {
                // What was to go there is still in the tail, and goes to the MLC flash.
                slc.log.head_failed();
                continue;
            }
            for i in 0..count {
                let (_, slot) = flash.second().slot(handle, i);
                let psn = slc.geometry.slot(target.superblock, target.offset + i);
                slc.set(slot.lpn.get(), slot.lpn.get() / self.geometry.sectors, psn.get(), true);
            }
        }
        flash.second().release(list);
    }

    /// The pages of what is left are due in the MLC flash.
    fn write_tail_back<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>) {
        let sectors = self.tail_sectors(flash);
        self.counts.written_back += sectors.len() as u64;
        self.due_for_mlc(sectors.iter().map(|(sector, _)| *sector), Cause::Merge);
    }

    /// Has the pages of these sectors written to the MLC flash, each once.
    fn due_for_mlc(&mut self, sectors: impl Iterator<Item = u32>, cause: Cause) {
        let mut pages: Vec<u32> = sectors.map(|sector| sector / self.geometry.sectors).collect();
        pages.sort_unstable();
        pages.dedup();
        self.due.extend(pages.into_iter().map(|lpn| Due { lpn, unit: NONE, cause }));
    }

    /// Has the sectors written to the MLC flash that found no entry in the table at mount. False if there are none.
    pub(super) fn take_in_homeless(&mut self) -> bool {
        let Some(slc) = self.slc.as_ref().filter(|slc| !slc.homeless.is_empty()) else { return false };
        let sectors: Vec<u32> = slc.homeless.iter().map(|(sector, _)| *sector).collect();
        self.due_for_mlc(sectors.into_iter(), Cause::Recovery);
        true
    }

    fn erase_tail<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>) {
        if !self.tail_sectors(flash).is_empty() {
            // The MLC flash takes nothing any more.
            (self.stuck, self.clean) = (true, None);
            return;
        }
        let slc = self.slc.as_mut().expect("it is being cleaned");
        let tail = slc.log.tail();
        if slc.log.tail_is_failing() {
            flash.second().media_mut().retire(tail);
            slc.tail_is_gone(true);
            self.clean = None;
            return;
        }
        let second = flash.second();
        let list = second.open_list(Class::Other, 0);
        second.add_erase(list, Cause::Gc, tail);
        self.submit_second(flash, Step::TailErase, list);
    }

    pub(super) fn tail_erased<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, list: Handle<List>) {
        let erase = flash.second().list(list).first().expect("an erase");
        let failed = flash.second().command(erase).failed && !self.planted.is(Sabotage::FailedEraseReused);
        flash.second().release(list);
        let slc = self.slc.as_mut().expect("it is being cleaned");
        if failed {
            flash.second().media_mut().retire(slc.log.tail());
        }
        slc.tail_is_gone(failed);
        self.clean = None;
    }
}
