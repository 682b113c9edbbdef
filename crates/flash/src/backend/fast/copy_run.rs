//! The run of page copies: the steps of a set, one after another, without a queue.
//!
//! Every list of a set has at most one pending event. A run takes the earliest of them as long as no event in the queue
//! comes before it. The times, the effects on the media, the accounts and the hash are those of the commands for which
//! the set stands. Each event has the position in the order of all events that the event of such a command would have.

use crate::nand::{Mode, Spare, Stream, Target};
use base::engine::{Due, EventHash, EventQueue, Handle};
use base::steps;
use base::units::Time;

use super::copies::{Copies, ListPhase, ListStep};
use crate::backend::copy_set::{CopySet, ListPart};
use crate::backend::{Account, Backend, Event, List, Op};

impl Backend {
    #[inline(never)]
    pub(in crate::backend) fn submit_copies<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        list: Handle<List>,
        at: ListPart,
        events: &mut EventQueue<E>,
    ) {
        if !self.rules.timed {
            return self.copy_at_once(list, at);
        }
        self.table.lists[list].submitted = now;
        let Self { fast, dies, unfinished, .. } = self;
        let of_list = fast.copies.dies_of(at);
        for (die, steps) in of_list {
            dies[*die as usize].unfinished += steps;
            *unfinished += u64::from(*steps);
        }
        let first = of_list[0].0;
        self.send_to_controller(now, list, (first, true), events);
    }

    /// Carries a list of a set out at once, with time off.
    pub(in crate::backend) fn copy_at_once(&mut self, list: Handle<List>, ListPart { set, part }: ListPart) {
        let mut copies = std::mem::replace(self.fast.copies.of(set), Copies::new());
        self.make_room(&mut copies);
        for i in 0..copies.parts()[part as usize].steps.len() {
            let step = copies.parts()[part as usize].steps[i];
            if step.is_program() {
                assert!(copies.pages[step.page()].is_read, "a program before the read of its page");
                self.program_copy(&copies, step);
            } else {
                self.read_copy(&mut copies, step);
                copies.pages[step.page()].is_read = true;
            }
            self.count_copy(&copies, step);
        }
        copies.parts_mut()[part as usize].at = copies.parts()[part as usize].steps.len();
        *self.fast.copies.of(set) = copies;
        self.table.finished.push_back(list);
    }

    fn make_room(&self, copies: &mut Copies) {
        if self.payload.is_present() {
            copies.payload.resize(copies.pages.len() * self.media.slot_bytes(), 0);
        }
    }

    /// Begins the first step of a list, which has got its controller.
    pub(in crate::backend) fn begin_copies<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        list: Handle<List>,
        ListPart { set, part }: ListPart,
        events: &mut EventQueue<E>,
    ) {
        let mut copies = std::mem::replace(self.fast.copies.of(set), Copies::new());
        self.make_room(&mut copies);
        if self.controllers.links {
            let controller = self.table.lists[list].controller().expect("a list under way has a controller");
            copies.parts_mut()[part as usize].channel = controller;
        }
        self.begin_step(now, &mut copies, part as usize, events);
        self.await_copies(set, &mut copies, events);
        *self.fast.copies.of(set) = copies;
    }

    /// Schedules the next event of a set.
    fn await_copies<E: From<Event> + Copy>(&self, set: CopySet, copies: &mut Copies, events: &mut EventQueue<E>) {
        let next = next_of(copies).1;
        copies.generation = copies.generation.wrapping_add(1);
        if next != Due::NEVER {
            events.push_at(next, Event::Copies { set: set.number(), generation: copies.generation }.into());
        }
    }

    /// Handles the event of a set, and further events of the set up to `until` that come before any other event.
    /// Returns the time of the last handled event.
    #[inline(never)]
    pub fn run_copies<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        (set, generation): (u32, u16),
        until: Time,
        events: &mut EventQueue<E>,
        hash: &mut EventHash,
    ) -> Time {
        let set = CopySet::new(set);
        if self.fast.copies.of(set).generation != generation {
            return now;
        }
        if !self.media.cannot_fail() {
            self.write_out(set, Some(events));
            return now;
        }
        let mut copies = std::mem::replace(self.fast.copies.of(set), Copies::new());
        let mut now = now;
        let ended = loop {
            let (part, due) = next_of(&copies);
            if due.at() > until || !events.none_before(due) || due == Due::NEVER {
                break None;
            }
            now = due.at();
            let ended = self.next_phase(now, &mut copies, part, events, hash);
            if ended.is_some() {
                break ended;
            }
        };
        self.await_copies(set, &mut copies, events);
        *self.fast.copies.of(set) = copies;
        if let Some(list) = ended {
            self.table.finished.push_back(list);
            if let Some(controller) = self.table.lists[list].controller() {
                let cause = self.fast.copies.of(set).cause;
                self.vacate(now, controller, cause, events);
            }
        }
        now
    }

    /// Ends the phase of a list's step. Returns the list if all its steps are done.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller, the loop above.
    fn next_phase<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        copies: &mut Copies,
        number: usize,
        events: &mut EventQueue<E>,
        hash: &mut EventHash,
    ) -> Option<Handle<List>> {
        steps::count();
        let cause = copies.cause;
        let part = &mut copies.parts_mut()[number];
        let step = part.step().expect("a list under way has a step");
        let (die, channel) = (part.die, part.channel);
        let op = if step.is_program() { Op::Program } else { Op::Read };
        if part.phase == ListPhase::Array {
            hash.add(now, u64::from(die) << 2);
            self.account.at(op, cause).array += self.dies[die as usize].meter.end(now);
            if step.is_program() {
                return self.end_step(now, copies, number, events);
            }
            part.phase = ListPhase::Channel;
            part.due = self.cross_channel(now, channel, events);
            return None;
        }
        hash.add(now, u64::from(channel) << 2 | 1);
        let tally = self.account.at(op, cause);
        tally.bus += self.channels[channel as usize].meter.end(now);
        tally.bytes += self.rules.timing.slot_bytes;
        if !step.is_program() {
            return self.end_step(now, copies, number, events);
        }
        let row = self.media.geometry().page_and_plane(copies.pages[step.page()].offset).0;
        let until = now + self.rules.timing.cycles.busy + self.rules.timing.program_time(row);
        let part = &mut copies.parts_mut()[number];
        (part.phase, part.due) = (ListPhase::Array, events.reserve(until));
        self.dies[die as usize].meter.begin(now, until);
        self.program_copy(copies, step);
        None
    }

    /// Begins a transfer over a channel, and returns its end.
    #[inline]
    fn cross_channel<E: From<Event> + Copy>(&mut self, now: Time, channel: u32, events: &mut EventQueue<E>) -> Due {
        let until = now + self.rules.timing.transfer[1];
        self.channels[channel as usize].meter.begin(now, until);
        events.reserve(until)
    }

    /// Ends a step: begins the program that waits for it, and the next step of its list.
    #[inline]
    fn end_step<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        copies: &mut Copies,
        number: usize,
        events: &mut EventQueue<E>,
    ) -> Option<Handle<List>> {
        let part = &mut copies.parts_mut()[number];
        let step = part.steps[part.at];
        part.at += 1;
        (part.phase, part.due) = (ListPhase::Idle, Due::NEVER);
        self.dies[part.die as usize].unfinished -= 1;
        self.unfinished -= 1;
        self.count_copy(copies, step);
        if !step.is_program() {
            copies.pages[step.page()].is_read = true;
            let program = ListStep::of_program(step);
            let waits =
                |part: &super::copies::CopyList| part.phase == ListPhase::Waiting && part.step() == Some(program);
            if let Some(waiting) = copies.parts().iter().position(waits) {
                self.begin_step(now, copies, waiting, events);
            }
        }
        self.begin_step(now, copies, number, events);
        let part = &copies.parts()[number];
        (part.at == part.steps.len()).then_some(part.list)
    }

    /// Begins the current step of a list, unless all are done or the step's page has not been read.
    #[inline]
    fn begin_step<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        copies: &mut Copies,
        number: usize,
        events: &mut EventQueue<E>,
    ) {
        let Some(step) = copies.parts()[number].step() else { return };
        if step.is_program() && !copies.pages[step.page()].is_read {
            copies.parts_mut()[number].phase = ListPhase::Waiting;
            return;
        }
        let (superblock, offset) = self.place_of(copies, step);
        let die = self.media.geometry().die_of(superblock).get();
        let channel =
            if self.controllers.links { copies.parts()[number].channel } else { self.dies[die as usize].channel };
        self.dies[die as usize].last = Some(copies.cause);
        self.channels[channel as usize].last = Some(copies.cause);
        let (phase, due) = if step.is_program() {
            let due = self.cross_channel(now, channel, events);
            let psn = self.media.geometry().slot(superblock, offset);
            self.media.prefetch_spare(psn);
            (ListPhase::Channel, due)
        } else {
            let row =
                if self.rules.timing.read.len() == 1 { 0 } else { self.media.geometry().page_and_plane(offset).0 };
            let until = now + self.rules.timing.cycles.busy + self.rules.read_time(&self.media, superblock, row);
            self.dies[die as usize].meter.begin(now, until);
            self.read_copy(copies, step);
            (ListPhase::Array, events.reserve(until))
        };
        let part = &mut copies.parts_mut()[number];
        (part.phase, part.due, part.die, part.channel) = (phase, due, die, channel);
    }

    /// Applies the read of a page to the media.
    #[inline]
    fn read_copy(&mut self, copies: &mut Copies, step: ListStep) {
        let range = if self.payload.is_present() { copies.range(step.page()) } else { 0..0 };
        let page = &mut copies.pages[step.page()];
        let read = self.media.read(page.from, &mut copies.payload[range]);
        (page.lpn, page.version, page.lost) = (read.lpn, read.version, !read.readable);
    }

    /// Applies the program of a page to the media.
    #[inline]
    fn program_copy(&mut self, copies: &Copies, step: ListStep) {
        let page = &copies.pages[step.page()];
        let target = Target { superblock: copies.target, offset: page.offset };
        let spare = |_| (Spare::Data { lpn: page.lpn, version: page.version }, page.lost);
        let range = if self.payload.is_present() { copies.range(step.page()) } else { 0..0 };
        let well = self.media.program(target, 1, (Stream::COPIES, Mode::Full), spare, &copies.payload[range]);
        assert!(well, "a program that cannot fail");
    }

    #[inline]
    fn count_copy(&mut self, copies: &Copies, step: ListStep) {
        let tally = self.account.at(if step.is_program() { Op::Program } else { Op::Read }, copies.cause);
        tally.commands += 1;
        tally.pages += 1;
        tally.slots += 1;
    }

    /// Adds the elapsed part of the phases under way to an account.
    pub(in crate::backend) fn add_copies_under_way(&self, now: Time, account: &mut Account) {
        for (copies, part) in self.fast.copies.working() {
            let is_program = part.step().is_some_and(ListStep::is_program);
            let tally = account.at(if is_program { Op::Program } else { Op::Read }, copies.cause);
            if part.phase == ListPhase::Array {
                tally.array += self.dies[part.die as usize].meter.worked(now);
            } else {
                tally.bus += self.channels[part.channel as usize].meter.worked(now);
                tally.bytes += self.rules.timing.slot_bytes;
            }
        }
    }
}

/// The index of the part with the earliest event, and the time and sequence number of that event.
#[inline]
fn next_of(copies: &Copies) -> (usize, Due) {
    let mut best = (0, Due::NEVER);
    for (i, part) in copies.parts().iter().enumerate() {
        best = if part.due < best.1 { (i, part.due) } else { best };
    }
    best
}
