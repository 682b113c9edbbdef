//! Reads and programs of single pages behind the commands of a serial list, without commands of their own.
//!
//! A large request of a serial FTL is a row of pages. The list takes as long as their commands would, and takes effect at
//! its end as they would. They turn into commands if an operation may fail or the power is cut before the end.

use crate::nand::{Sector, Stream, Target};
use base::engine::Handle;
use base::units::{Lpn, Psn, Span, SuperblockId};

use super::effect::is_compared;
use super::serial::Times;
use super::{Backend, Cause, List, Observer, Op, Slot};

/// A page that is read or programmed.
#[derive(Clone, Copy, Debug)]
struct SerialPage {
    psn: Psn,
    lpn: Lpn,
    /// The version to program; none for a read.
    version: Option<u32>,
}

impl SerialPage {
    const fn op(&self) -> Op {
        if self.version.is_some() { Op::Program } else { Op::Read }
    }
}

/// The pages of the list that is being built or under way.
#[derive(Clone, Debug, Default)]
pub(super) struct SerialPages {
    list: Option<(Handle<List>, Cause)>,
    pages: Vec<SerialPage>,
}

impl SerialPages {
    /// Forgets the pages, at a power loss.
    pub(super) fn clear(&mut self) {
        self.list = None;
        self.pages.clear();
    }
}

impl<S: Sector, O: Observer> Backend<S, O> {
    /// True if pages can be read and programmed without commands: nobody observes them, they have no payload, none can
    /// fail or is lost, and their times are those of the arrays and the channel.
    #[must_use]
    pub fn takes_serial_pages(&self) -> bool {
        let one_slot = self.slots_per_command == 1 && self.media.geometry().slots == 1;
        let plain = !S::PRESENT && !O::LISTENS && self.correction.is_none();
        plain && one_slot && self.media.cannot_fail() && self.media.is_all_readable()
    }

    /// Adds the read of a page to a serial list, behind its commands. The FTL says what the page must hold.
    ///
    /// # Panics
    /// If another list has pages, or these have another cause.
    #[inline]
    pub fn push_serial_read(&mut self, list: Handle<List>, cause: Cause, psn: Psn, lpn: Lpn) {
        if is_compared(lpn) {
            self.media.fetch_spare(psn);
        }
        self.push_serial_page((list, cause), SerialPage { psn, lpn, version: None });
    }

    /// Adds the program of a page with host data to a serial list, behind its commands.
    ///
    /// # Panics
    /// If another list has pages, or these have another cause.
    #[inline]
    pub fn push_serial_program(&mut self, list: Handle<List>, cause: Cause, psn: Psn, (lpn, version): (Lpn, u32)) {
        self.media.fetch_spare(psn);
        self.push_serial_page((list, cause), SerialPage { psn, lpn, version: Some(version) });
    }

    #[inline]
    fn push_serial_page(&mut self, list: (Handle<List>, Cause), page: SerialPage) {
        let pages = &mut self.serial_pages;
        assert!(*pages.list.get_or_insert(list) == list, "{list:?} has pages beside {:?}", pages.list);
        pages.pages.push(page);
    }

    /// True if a list has pages without commands.
    #[inline]
    pub(super) fn has_serial_pages(&self, list: Handle<List>) -> bool {
        self.serial_pages.list.is_some_and(|(of, _)| of == list)
    }

    /// Turns the pages of a list into commands behind those that it has, if it has pages: more commands can follow.
    pub fn write_serial_pages_out(&mut self, list: Handle<List>) {
        if !self.has_serial_pages(list) {
            return;
        }
        let SerialPages { list, mut pages } = std::mem::take(&mut self.serial_pages);
        let (list, cause) = list.expect("the list of the pages");
        for SerialPage { psn, lpn, version } in pages.drain(..) {
            let (superblock, offset) = self.geometry().locate(psn);
            let command = match version {
                None => self.add_read(list, cause, superblock),
                Some(_) => self.add_program(list, cause, Target { superblock, offset }, Stream::Host),
            };
            let version = version.unwrap_or_default();
            self.push_slot(command, Slot { psn, lpn, version, expected: true, ..Slot::default() });
        }
        self.serial_pages.pages = pages;
    }

    /// The time of all pages.
    pub(super) fn time_of_serial_pages(&self) -> Span {
        let mut last = None;
        self.serial_pages.pages.iter().map(|page| self.times_of(page, &mut last).all()).sum()
    }

    /// The times of a page; `last` has those of the one before it.
    #[inline]
    fn times_of(&self, page: &SerialPage, last: &mut Option<(SuperblockId, Op, Times)>) -> Times {
        let timing = &self.timing;
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
            Op::Read => timing.page_read(self.read_time(superblock, row)),
            _ => timing.page_program(timing.program_time(row)),
        };
        *last = Some((superblock, op, times));
        times
    }

    /// Charges and carries out all pages, with time on. Returns their number.
    pub(super) fn end_serial_pages(&mut self) -> u64 {
        let mut last = None;
        for i in 0..self.serial_pages.pages.len() {
            let page = self.serial_pages.pages[i];
            let times = self.times_of(&page, &mut last);
            let (_, cause) = self.serial_pages.list.expect("the list of the pages");
            let tally = self.account.at(page.op(), cause);
            tally.array += times.array;
            tally.bus += times.bus();
            tally.bytes += self.timing.slot_bytes;
            let die = self.media.geometry().die_of(self.media.geometry().locate(page.psn).0);
            let die = &mut self.dies[die.index()];
            die.meter.add(times.array);
            self.channels[die.channel as usize].meter.add(times.bus());
        }
        self.carry_out_serial_pages()
    }

    /// Carries out all pages, with time on or off. Returns their number.
    pub(super) fn carry_out_serial_pages(&mut self) -> u64 {
        let SerialPages { list, mut pages } = std::mem::take(&mut self.serial_pages);
        let (_, cause) = list.expect("the list of the pages");
        for SerialPage { psn, lpn, version } in &pages {
            match version {
                None => self.check_serial_read(*psn, *lpn),
                Some(version) => self.media.program_alone(*psn, (*lpn, *version)),
            }
        }
        let programs = pages.iter().filter(|page| page.version.is_some()).count() as u64;
        let all = pages.len() as u64;
        for (op, pages) in [(Op::Read, all - programs), (Op::Program, programs)] {
            let tally = self.account.at(op, cause);
            tally.commands += pages;
            tally.pages += pages;
            tally.slots += pages;
        }
        pages.clear();
        self.serial_pages.pages = pages;
        all
    }

    /// Checks a read without payload as that of a command is.
    #[inline]
    fn check_serial_read(&mut self, psn: Psn, lpn: Lpn) {
        if !is_compared(lpn) {
            assert!(self.media.is_readable_at(psn), "a lost page among those that are all readable");
            return;
        }
        let read = self.media.read(psn, &mut []);
        assert!(read.lpn == lpn, "{lpn} was read from {psn}, which holds {}: the map is wrong", read.lpn);
    }
}
