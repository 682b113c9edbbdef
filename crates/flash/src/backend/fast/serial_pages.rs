//! Reads and programs of single pages behind the commands of a serial list, without commands of their own.
//!
//! A large request of a serial FTL is a row of pages. The list takes as long as their commands would, and takes effect at
//! its end as they would. They turn into commands if an operation may fail or the power is cut before the end.

use crate::nand::{Sector, Stream, Target};
use base::engine::Handle;
use base::units::{Lpn, Psn, Span, SuperblockId};

use super::serial::Times;
use crate::backend::effect::is_compared;
use crate::backend::{Backend, Cause, List, Observer, Op, Slot};

/// A page that is read or programmed.
#[derive(Clone, Copy, Debug)]
struct SerialPage<S> {
    psn: Psn,
    lpn: Lpn,
    /// What is programmed; none for a read.
    data: Option<HostPage<S>>,
}

/// The host's data of a page: its version, and its first sector, which determines the others.
#[derive(Clone, Copy, Debug)]
pub struct HostPage<S> {
    /// The version of the write.
    pub version: u32,
    /// The first sector.
    pub first: S,
}

impl<S> SerialPage<S> {
    const fn op(&self) -> Op {
        if self.data.is_some() { Op::Program } else { Op::Read }
    }
}

/// The pages of the list that is being built or under way.
#[derive(Clone, Debug)]
pub(in crate::backend) struct SerialPages<S> {
    list: Option<(Handle<List>, Cause)>,
    pages: Vec<SerialPage<S>>,
}

impl<S> Default for SerialPages<S> {
    fn default() -> Self {
        Self { list: None, pages: Vec::new() }
    }
}

impl<S> SerialPages<S> {
    /// Forgets the pages, at a power loss.
    pub(super) fn clear(&mut self) {
        self.list = None;
        self.pages.clear();
    }
}

impl<S: Sector, O: Observer> Backend<S, O> {
    /// True if pages can be read and programmed without commands: nobody observes or stores them, their content is that of
    /// one sector, none can fail or is lost, and their times are those of the arrays and the channel.
    #[must_use]
    pub fn takes_serial_pages(&self) -> bool {
        let one_slot = self.table.slots_per_command == 1 && self.media.geometry().slots == 1;
        let plain = !O::LISTENS && self.decoders.is_none() && (!S::PRESENT || S::FOLLOWS && !self.media.has_store());
        plain && one_slot && self.media.cannot_fail() && self.media.is_all_readable()
    }

    /// The content of a page that a list has read without a command, until the next list begins.
    #[inline]
    pub fn serial_content(&mut self, psn: Psn) -> &[S] {
        if S::PRESENT {
            self.media.read(psn, &mut self.payload.scratch);
        }
        &self.payload.scratch
    }

    /// Adds the read of a page to a serial list, behind its commands. The FTL says what the page must hold.
    ///
    /// # Panics
    /// If another list has pages, or these have another cause.
    #[inline]
    pub fn push_serial_read(&mut self, list: Handle<List>, cause: Cause, psn: Psn, lpn: Lpn) {
        self.prefetch_read(lpn, psn);
        self.push_serial_page((list, cause), SerialPage { psn, lpn, data: None });
    }

    /// Adds the program of a page with host data to a serial list, behind its commands.
    ///
    /// # Panics
    /// If another list has pages, or these have another cause.
    #[inline]
    pub fn push_serial_program(&mut self, list: Handle<List>, cause: Cause, psn: Psn, (lpn, data): (Lpn, HostPage<S>)) {
        self.media.fetch_spare_area(psn);
        self.push_serial_page((list, cause), SerialPage { psn, lpn, data: Some(data) });
    }

    #[inline]
    fn push_serial_page(&mut self, list: (Handle<List>, Cause), page: SerialPage<S>) {
        let pages = &mut self.fast.serial.pages;
        assert!(*pages.list.get_or_insert(list) == list, "{list:?} has pages beside {:?}", pages.list);
        pages.pages.push(page);
    }

    /// True if a list has pages without commands.
    #[inline]
    pub(super) fn has_serial_pages(&self, list: Handle<List>) -> bool {
        self.fast.serial.pages.list.is_some_and(|(of, _)| of == list)
    }

    /// Turns the pages of a list into commands behind those that it has, if it has pages: more commands can follow.
    pub fn write_serial_pages_out(&mut self, list: Handle<List>) {
        if !self.has_serial_pages(list) {
            return;
        }
        let SerialPages { list, mut pages } = std::mem::take(&mut self.fast.serial.pages);
        let (list, cause) = list.expect("the list of the pages");
        for SerialPage { psn, lpn, data } in pages.drain(..) {
            let (superblock, offset) = self.geometry().locate(psn);
            let command = match data {
                None => self.add_read(list, cause, superblock),
                Some(_) => self.add_program(list, cause, Target { superblock, offset }, Stream::Host),
            };
            let version = data.map_or(0, |data| data.version);
            let slot = self.push_slot(command, Slot { psn, lpn, version, expected: true, ..Slot::default() });
            if let Some(data) = data.filter(|_| S::PRESENT) {
                self.payload.put_run(slot.0 as usize, data.first);
            }
        }
        self.fast.serial.pages.pages = pages;
    }

    /// The time of all pages.
    pub(super) fn time_of_serial_pages(&self) -> Span {
        let mut last = None;
        self.fast.serial.pages.pages.iter().map(|page| self.times_of(page, &mut last).all()).sum()
    }

    /// The times of a page; `last` has those of the one before it.
    #[inline]
    fn times_of(&self, page: &SerialPage<S>, last: &mut Option<(SuperblockId, Op, Times)>) -> Times {
        let timing = &self.rules.timing;
        let (geometry, op) = (self.media.geometry(), page.op());
        let (superblock, offset) = geometry.locate(page.psn);
        let by_page = timing.read.len() > 1 || timing.program.len() > 1;
        if let Some((of, for_op, times)) = last
            && *of == superblock
            && *for_op == op
            && !by_page
        {
            return *times;
        }
        let row = geometry.page_and_plane(offset).0;
        let times = match op {
            Op::Read => timing.page_read(self.rules.read_time(&self.media, superblock, row)),
            _ => timing.page_program(timing.program_time(row)),
        };
        *last = Some((superblock, op, times));
        times
    }

    /// Charges and carries out all pages, with time on. Returns their number.
    pub(super) fn end_serial_pages(&mut self) -> u64 {
        let mut last = None;
        for i in 0..self.fast.serial.pages.pages.len() {
            let page = self.fast.serial.pages.pages[i];
            let times = self.times_of(&page, &mut last);
            let (_, cause) = self.fast.serial.pages.list.expect("the list of the pages");
            let tally = self.account.at(page.op(), cause);
            tally.array += times.array;
            tally.bus += times.bus();
            tally.bytes += self.rules.timing.slot_bytes;
            let die = self.media.geometry().die_of(self.media.geometry().locate(page.psn).0);
            let die = &mut self.dies[die.index()];
            die.meter.add(times.array);
            self.channels[die.channel as usize].meter.add(times.bus());
        }
        self.carry_out_serial_pages()
    }

    /// Carries out all pages, with time on or off. Returns their number.
    pub(super) fn carry_out_serial_pages(&mut self) -> u64 {
        let SerialPages { list, mut pages } = std::mem::take(&mut self.fast.serial.pages);
        let (_, cause) = list.expect("the list of the pages");
        for SerialPage { psn, lpn, data } in &pages {
            match data {
                None => self.check_serial_read(*psn, *lpn),
                Some(data) => self.media.program_alone(*psn, (*lpn, data.version), data.first),
            }
        }
        let programs = pages.iter().filter(|page| page.data.is_some()).count() as u64;
        let all = pages.len() as u64;
        for (op, pages) in [(Op::Read, all - programs), (Op::Program, programs)] {
            let tally = self.account.at(op, cause);
            tally.commands += pages;
            tally.pages += pages;
            tally.slots += pages;
        }
        pages.clear();
        self.fast.serial.pages.pages = pages;
        all
    }

    /// Checks a read as that of a command is.
    #[inline]
    fn check_serial_read(&mut self, psn: Psn, lpn: Lpn) {
        if !S::PRESENT && !is_compared(lpn) {
            assert!(self.media.is_readable_at(psn), "a lost page among those that are all readable");
            return;
        }
        let read = self.media.read(psn, &mut []);
        assert!(read.lpn == lpn, "{lpn} was read from {psn}, which holds {}: the map is wrong", read.lpn);
    }
}
