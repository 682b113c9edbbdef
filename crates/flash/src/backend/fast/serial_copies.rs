//! Page copies in a serial list: a read and a program for each page, without commands.
//!
//! The list takes as long as its commands would, and takes effect at its end as they would. The set turns into commands
//! if an observer sees it, if an operation may fail, or if the power is cut before its end.

use crate::nand::{Mode, Spare, Stream, Target};
use base::engine::Handle;
use base::units::{Lpn, Psn, Span, SuperblockId};

use super::copies::{Copies, PageCopy};
use super::serial::Times;
use crate::backend::copy_set::{CopySet, ListPart};
use crate::backend::{Backend, Cause, List, Op};

impl Backend {
    /// Adds copies of pages, each to an offset of the set's target, to a serial list that holds nothing but copies of
    /// this set. The mapping unit in each source's spare area is checked.
    pub fn push_serial_copies(
        &mut self,
        set: CopySet,
        list: Handle<List>,
        pages: impl Iterator<Item = (u32, Lpn, Psn)>,
    ) {
        let part = self.part_of(set, list);
        let pages = pages.map(|(offset, lpn, psn)| PageCopy::new(psn, offset, Some(lpn), [part; 2]));
        self.fast.copies.of(set).pages.extend(pages);
    }

    /// True if copies can be carried out in bulk in a serial list: no observer sees single copies, no copy can fail,
    /// and only the arrays and the channel take time.
    pub(super) fn takes_serial_copies(&self) -> bool {
        let one_slot = self.table.slots_per_command == 1 && self.geometry().slots == 1;
        self.observer.as_ref().is_none_or(|observer| !observer.sees_each_copy())
            && self.rules.variation.is_none()
            && one_slot
            && self.decoders.is_none()
            && self.media.cannot_fail()
    }

    pub(super) fn cause_of_copies(&self, set: CopySet) -> Cause {
        self.fast.copies.sets[set.index()].cause
    }

    pub(super) fn time_of_copies(&self, set: CopySet) -> Span {
        let copies = &self.fast.copies.sets[set.index()];
        let mut sum = Span::ZERO;
        self.each_run(copies, |_, [read, program], pages| sum += (read.all() + program.all()) * pages);
        sum
    }

    /// Calls `then` for each run of pages that are read from one die and take the same times, with the die, the times
    /// of a read and of a program, and the number of pages.
    #[inline(always)]
    #[allow(clippy::inline_always)] // A closure that adds.
    fn each_run(&self, copies: &Copies, mut then: impl FnMut(u32, [&Times; 2], u64)) {
        let geometry = self.media.geometry();
        let timing = &self.rules.timing;
        let row = |offset| geometry.page_and_plane(offset).0;
        let by_page = timing.read.len() > 1 || timing.program.len() > 1;
        // The superblock of the previous page, its die, and the times of its pages.
        let mut last: Option<(SuperblockId, u32, [Times; 2])> = None;
        let mut run = 0;
        for page in &copies.pages {
            let (superblock, offset) = geometry.locate(page.from);
            if let Some((before, _, _)) = &last
                && *before == superblock
                && !by_page
            {
                run += 1;
                continue;
            }
            if let Some((_, die, [read, program])) = &last {
                then(*die, [read, program], run);
            }
            let array_read = self.rules.read_time(&self.media, superblock, row(offset));
            let array_program = timing.program_time(row(page.offset));
            last = Some((
                superblock,
                geometry.die_of(superblock).get(),
                [timing.page_read(array_read), timing.page_program(array_program)],
            ));
            run = 1;
        }
        if let Some((_, die, [read, program])) = &last {
            then(*die, [read, program], run);
        }
    }

    /// Charges and carries out all copies of a set. Returns the number of commands for which they stand.
    pub(super) fn end_serial_copies(&mut self, ListPart { set, .. }: ListPart) -> u64 {
        let copies = std::mem::replace(self.fast.copies.of(set), Copies::new());
        let into = self.media.geometry().die_of(copies.target).get();
        let (mut array, mut bus, mut target) = ([Span::ZERO; 2], [Span::ZERO; 2], [Span::ZERO; 2]);
        // `each_run` borrows the whole backend, so the dies are charged after it.
        let mut charges = std::mem::take(&mut self.fast.copies.charges);
        self.each_run(&copies, |die, [read, program], pages| {
            let (reads, programs) =
                ([read.array * pages, read.bus() * pages], [program.array * pages, program.bus() * pages]);
            array = [array[0] + reads[0], array[1] + programs[0]];
            bus = [bus[0] + reads[1], bus[1] + programs[1]];
            target = [target[0] + programs[0], target[1] + programs[1]];
            charges.push((die, reads));
        });
        for (die, [array, bus]) in charges.drain(..).chain([(into, target)]) {
            let die = &mut self.dies[die as usize];
            die.meter.add(array);
            let channel = die.channel;
            self.channels[channel as usize].meter.add(bus);
        }
        self.fast.copies.charges = charges;
        let pages = copies.pages.len() as u64;
        for (i, op) in [Op::Read, Op::Program].into_iter().enumerate() {
            let tally = self.account.at(op, copies.cause);
            tally.array += array[i];
            tally.bus += bus[i];
            tally.bytes += self.rules.timing.slot_bytes * pages;
            tally.commands += pages;
            tally.pages += pages;
            tally.slots += pages;
        }
        self.carry_out_copies(&copies);
        *self.fast.copies.of(set) = copies;
        2 * pages
    }

    /// Carries out all copies of a set, with time on or off.
    pub(super) fn carry_out_copies(&mut self, copies: &Copies) {
        let pages = copies.pages.iter().map(|page| (page.from, page.offset, page.expected));
        if self.media.copy_pages((copies.target, Stream::COPIES), pages) {
            return;
        }
        for page in &copies.pages {
            let read = self.media.read(page.from, &mut self.payload.scratch);
            assert!(
                page.expected.is_none_or(|lpn| lpn == read.lpn),
                "{:?} was copied from {}, which holds {}: the map is wrong",
                page.expected,
                page.from,
                read.lpn
            );
            let target = Target { superblock: copies.target, offset: page.offset };
            let spare = |_| (Spare::Data { lpn: read.lpn, version: read.version }, !read.readable);
            let well = self.media.program(target, 1, (Stream::COPIES, Mode::Full), spare, &self.payload.scratch);
            assert!(well, "a program that cannot fail");
        }
    }

    /// Carries out a serial list of copies with time off.
    pub(super) fn serial_copies_at_once(&mut self, ListPart { set, .. }: ListPart) {
        let copies = std::mem::replace(self.fast.copies.of(set), Copies::new());
        self.carry_out_copies(&copies);
        let pages = copies.pages.len() as u64;
        for op in [Op::Read, Op::Program] {
            let tally = self.account.at(op, copies.cause);
            tally.commands += pages;
            tally.pages += pages;
            tally.slots += pages;
        }
        *self.fast.copies.of(set) = copies;
    }
}
