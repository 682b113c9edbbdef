//! Copy-backs of one page after another as one command and, if no other command needs their die, one event.
//!
//! The merges of a block-mapped drive copy most of a block back page by page (Seong et al., Sec. 3.3.1). A *run* is a
//! copy-back with more pages after the present one: consecutive pages of one block to consecutive pages of another.
//!
//! * At every boundary between two pages other commands of the die may go first, so several runs on one die take turns.
//!   If only such runs wait for the die, its work is known until the first of them ends: these boundaries are no
//!   events.
//! * A command that comes to the die meanwhile makes the next boundary an event again. The effects of the boundaries
//!   that have passed (on the media, turns, counts, the event hash) are made up for then, at the end of the run, or at
//!   a power cut.
//! * An observer, and a program that may fail, must see the pages of a run as separate copy-backs. In these cases the
//!   FTL's commands are not joined, and a run is split before its next page.
//! * Ties: a copy-back that starts when another ends on its die inherits that end's sequence number, so ties break the
//!   same way with and without an event.

use std::ops::Range;

use crate::nand::Target;
use base::engine::{Due, EventQueue, Handle};
use base::units::{Lpn, Psn, Span, Time};

use crate::backend::links::Links;
use crate::backend::{Account, Backend, Cause, Class, Command, Event, Op, Primitive, Slot};

/// The dies on which the next boundaries of runs are no events.
#[derive(Clone, Debug, Default)]
pub(in crate::backend) struct CopyBackRuns {
    /// For each die the end of the run that ends first, or `NEVER`; empty if runs are not used.
    ends: Vec<Due>,
    /// The die on which a copy-back has just ended, and the time and sequence number of that end.
    successor: Option<(u32, Due)>,
    /// A scratch list, kept to save its allocation.
    turns: Vec<Handle<Command>>,
}

impl CopyBackRuns {
    /// Room for runs on `dies` dies; 0 if runs are not used.
    pub(super) fn new(dies: usize) -> Self {
        Self { ends: vec![Due::NEVER; dies], ..Self::default() }
    }

    #[inline]
    pub(in crate::backend) const fn are_possible(&self) -> bool {
        !self.ends.is_empty()
    }

    /// True if the next boundaries on a die are no events.
    #[inline]
    pub(in crate::backend) fn is_under_way(&self, die: u32) -> bool {
        self.ends.get(die as usize).is_some_and(|end| *end != Due::NEVER)
    }

    fn take(&mut self, die: u32) -> Option<Due> {
        let end = self.ends.get_mut(die as usize)?;
        Some(std::mem::replace(end, Due::NEVER)).filter(|end| *end != Due::NEVER)
    }
}

/// The number of turns, out of the next `all`, that the run at index `place` has among `runs` runs that take turns.
const fn turns_of(place: usize, runs: usize, all: u32) -> u32 {
    (all + (runs - 1 - place) as u32) / runs as u32
}

impl Backend {
    /// Joins the copy-back of a page to the copy-back `handle`, if the page is the next of the same blocks. Returns
    /// false if it needs a command of its own. The mapping units of consecutive pages must have the same distance.
    ///
    /// The caller must not have submitted the list, or let anything depend on the command.
    pub fn extend_copy_back(&mut self, handle: Handle<Command>, cause: Cause, target: Target, slot: &Slot) -> bool {
        if !self.fast.copy_back_runs.are_possible() || !self.media.cannot_fail() {
            return false;
        }
        let command = &self.table.commands[handle];
        let first = &self.table.slots[handle.index()];
        let pages = command.behind + 1;
        let follows = command.op == Op::CopyBack
            && command.count == 1
            && command.sectors == 0
            && command.cause == cause
            && first.expected
            && slot.expected
            && target == Target { offset: command.target.offset + pages, ..command.target }
            && slot.psn.get() == first.psn.get() + pages;
        let Some(distance) = slot.lpn.get().checked_sub(first.lpn.get()).filter(|_| follows) else { return false };
        let stride = if command.behind == 0 { distance } else { command.stride };
        let geometry = self.media.geometry();
        if distance != stride * pages || geometry.locate(slot.psn).0 != geometry.locate(first.psn).0 {
            return false;
        }
        debug_assert!(command.then == [None; 2], "something waits for a copy-back that is extended");
        let command = &mut self.table.commands[handle];
        (command.behind, command.stride) = (pages, stride);
        true
    }

    /// Begins the array's work on a copy-back, which has taken effect, or on the next page of a run.
    #[inline(never)]
    pub(in crate::backend) fn start_copy_back<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        (delay, time): (Span, Span),
        primitive: Primitive,
        events: &mut EventQueue<E>,
    ) {
        let command = &self.table.commands[handle];
        let die = command.die.get();
        let alone = command.sectors == 0;
        let place = self.fast.copy_back_runs.successor.take_if(|(of, _)| *of == die && alone).map(|(_, place)| place);
        let mut all = delay + time;
        if command.behind > 0 && self.media.cannot_fail() {
            let mut turns = std::mem::take(&mut self.fast.copy_back_runs.turns);
            let ahead = self.turns_ahead(die, handle, &mut turns);
            if ahead > 1 {
                all = self.time_of(&turns, ahead);
                let place = place.unwrap_or_else(|| events.upcoming(now));
                self.fast.copy_back_runs.ends[die as usize] = place.moved_to(now + all);
            }
            self.fast.copy_back_runs.turns = turns;
        }
        self.start_array(now, handle, (delay, all - delay), primitive, (place, events));
    }

    /// Lists the runs that take turns on a die, from the one whose page begins on. Returns the number of pages until
    /// one of them has ended; 1 if any other command waits for the die.
    fn turns_ahead(&self, die: u32, first: Handle<Command>, turns: &mut Vec<Handle<Command>>) -> u32 {
        self.list_turns(die, first, turns);
        let cause = self.table.commands[first].cause;
        let runs = turns.len() as u32;
        let ends = (0..runs).map(|place| {
            let command = &self.table.commands[turns[place as usize]];
            // Excludes a run whose first page opens a block, because blocks must be opened in order.
            let is_known = command.op == Op::CopyBack && command.sectors == 0 && command.effected;
            if is_known && command.class == Class::Other && command.cause == cause {
                command.behind * runs + place + 1
            } else {
                1
            }
        });
        ends.min().unwrap_or(1)
    }

    /// Lists the command whose array works on a die, and those that wait there.
    fn list_turns(&self, die: u32, first: Handle<Command>, turns: &mut Vec<Handle<Command>>) {
        turns.clear();
        turns.push(first);
        let mut next = self.dies[die as usize].queue.peek();
        while let Some(waiting) = next {
            turns.push(waiting);
            next = self.table.commands[waiting].next();
        }
    }

    /// The array time of the page at turn `turn` from now on.
    #[inline]
    fn time_of_turn(&self, turns: &[Handle<Command>], turn: u32) -> Span {
        let timing = &self.rules.timing;
        if timing.read.len() == 1 && timing.program.len() == 1 && timing.slc_mode.is_none() {
            return timing.cycles.busy + timing.read[0] + timing.program[0];
        }
        let runs = turns.len() as u32;
        let (handle, page) = (turns[(turn % runs) as usize], turn / runs);
        let geometry = self.media.geometry();
        let (from, source) = geometry.locate(self.table.slots[handle.index()].psn);
        let row = |offset| geometry.page_and_plane(offset + page).0;
        let program = timing.program_time(row(self.table.commands[handle].target.offset));
        timing.cycles.busy + self.rules.read_time(&self.media, from, row(source)) + program
    }

    /// The array time of the next `count` turns.
    fn time_of(&self, turns: &[Handle<Command>], count: u32) -> Span {
        (0..count).map(|turn| self.time_of_turn(turns, turn)).sum()
    }

    /// Handles the end of a copy-back on the array of a die, or of one page of a run.
    #[inline(never)]
    pub(in crate::backend) fn copied_back<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        die: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let place = events.present();
        let mut handle = handle;
        if self.fast.copy_back_runs.take(die).is_some() {
            (handle, _) = self.pass_boundaries(die, handle, |_| true);
        }
        self.dies[die as usize].array = None;
        self.fast.copy_back_runs.successor = Some((die, place));
        if self.table.commands[handle].behind == 0 {
            self.finish(now, handle, events);
        } else {
            self.end_page(handle);
            self.advance_run(handle, 1);
            self.send_to_die(now, handle, events);
        }
        self.fast.copy_back_runs.successor = None;
        self.next_command(now, die, events);
    }

    /// Ends a page of a run, except the last page.
    fn end_page(&mut self, handle: Handle<Command>) {
        self.count(handle);
        let command = &mut self.table.commands[handle];
        self.dies[command.die.index()].unfinished -= 1;
        self.unfinished -= 1;
        let list = &mut self.table.lists[command.list];
        list.wait = list.wait.max(std::mem::take(&mut command.wait));
    }

    fn advance_run(&mut self, handle: Handle<Command>, pages: u32) {
        let command = &mut self.table.commands[handle];
        command.behind -= pages;
        command.target.offset += pages;
        let slot = &mut self.table.slots[handle.index()];
        slot.psn = Psn::new(slot.psn.get() + pages);
        slot.lpn = Lpn::new(slot.lpn.get() + pages * command.stride);
    }

    /// Makes up for the next boundaries on a die, up to the first that has not passed. Returns the command whose page
    /// began at the last of them, and the end of that page.
    fn pass_boundaries(
        &mut self,
        die: u32,
        first: Handle<Command>,
        has_passed: impl Fn(Time) -> bool,
    ) -> (Handle<Command>, Time) {
        let mut turns = std::mem::take(&mut self.fast.copy_back_runs.turns);
        let ahead = self.turns_ahead(die, first, &mut turns);
        let mut passed = 0;
        let mut end = self.dies[die as usize].meter.since() + self.time_of_turn(&turns, 0);
        while passed + 1 < ahead && has_passed(end) {
            self.fast.note_end(end, die);
            let ended = turns[passed as usize % turns.len()];
            self.end_page(ended);
            self.table.commands[ended].ready = end;
            passed += 1;
            let command = &mut self.table.commands[turns[passed as usize % turns.len()]];
            if end > command.ready {
                command.wait += end - command.ready;
                self.table.lists[command.list].waited_for.insert(command.cause);
            }
            end += self.time_of_turn(&turns, passed);
        }
        let runs = turns.len();
        let present = passed as usize % runs;
        for (place, handle) in turns.iter().enumerate() {
            // The array's present page has begun before.
            let begun = turns_of(place, runs, passed + 1);
            self.copy_ahead(*handle, u32::from(place == 0)..begun);
            self.advance_run(*handle, begun - u32::from(place == present));
        }
        if present > 0 {
            turns.rotate_left(present);
            let class = self.rules.arbitration.commands.queue(Class::Other, self.table.commands[first].collects());
            let Self { dies, table, .. } = self;
            let state = &mut dies[die as usize];
            state.queue.clear();
            turns[1..].iter().for_each(|waiting| state.queue.push(&mut table.commands, class, *waiting));
            state.array = Some(turns[0]);
        }
        let present = turns[0];
        self.fast.copy_back_runs.turns = turns;
        (present, end)
    }

    /// Applies the pages of a run at these distances to the media.
    fn copy_ahead(&mut self, handle: Handle<Command>, pages: Range<u32>) {
        if pages.is_empty() {
            return;
        }
        let &Command { target, stride, stream, .. } = &self.table.commands[handle];
        let slot = self.table.slots[handle.index()];
        let place = |page| (Psn::new(slot.psn.get() + page), target.offset + page);
        let lpn = |page| Lpn::new(slot.lpn.get() + stride * page);
        let copies = pages.clone().map(|page| (place(page).0, place(page).1, Some(lpn(page))));
        if self.media.cannot_fail() && self.media.copy_pages((target.superblock, stream), copies) {
            return;
        }
        for page in pages {
            let (psn, offset) = place(page);
            self.table.commands[handle].target.offset = offset;
            self.table.slots[handle.index()] = Slot { psn, lpn: lpn(page), ..slot };
            self.take_effect(handle);
        }
        self.table.commands[handle].target = target;
        self.table.slots[handle.index()] = slot;
    }

    /// Applies all pages of a command that have not begun to the media.
    pub(in crate::backend) fn copy_rest(&mut self, handle: Handle<Command>) {
        let behind = self.table.commands[handle].behind;
        self.copy_ahead(handle, 1..behind + 1);
        self.advance_run(handle, behind);
    }

    /// Makes the next boundary on a die an event, because a command comes to the die.
    #[cold]
    #[inline(never)]
    pub(in crate::backend) fn interrupt_run<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        die: u32,
        events: &mut EventQueue<E>,
    ) {
        let Some(end) = self.fast.copy_back_runs.take(die) else { return };
        let first = self.dies[die as usize].array.expect("the array of a run under way");
        let (_, next) = self.pass_boundaries(die, first, |at| events.has_passed(end.moved_to(at), now));
        let generation = self.dies[die as usize].meter.reschedule(next);
        events.push_at(end.moved_to(next), Event::Array { die, generation }.into());
    }

    /// Makes the next boundary of all runs an event, because from now on a program may fail.
    pub fn interrupt_runs<E: From<Event> + Copy>(&mut self, now: Time, events: &mut EventQueue<E>) {
        for die in 0..self.fast.copy_back_runs.ends.len() as u32 {
            self.interrupt_run(now, die, events);
        }
    }

    /// Makes up for all boundaries up to a power cut.
    pub(in crate::backend) fn settle_runs(&mut self, now: Time) {
        for die in 0..self.fast.copy_back_runs.ends.len() as u32 {
            if self.fast.copy_back_runs.take(die).is_some() {
                let first = self.dies[die as usize].array.expect("the array of a run under way");
                self.pass_boundaries(die, first, |at| at <= now);
            }
        }
    }

    /// Calls `then` with the time, the die and the cause of the ended page for each boundary up to `now` that was no
    /// event and has not been made up for.
    pub(in crate::backend) fn each_boundary(&self, now: Time, mut then: impl FnMut(Time, u32, Cause)) {
        if !self.fast.copy_back_runs.are_possible() {
            return;
        }
        let mut turns = Vec::new();
        for die in
            (0..self.fast.copy_back_runs.ends.len() as u32).filter(|die| self.fast.copy_back_runs.is_under_way(*die))
        {
            let state = &self.dies[die as usize];
            let first = state.array.expect("the array of a run under way");
            let ahead = self.turns_ahead(die, first, &mut turns);
            let mut end = state.meter.since();
            for turn in 0..ahead - 1 {
                end += self.time_of_turn(&turns, turn);
                if end <= now {
                    then(end, die, self.table.commands[first].cause);
                }
            }
        }
    }

    /// Adds the copied pages of runs under way to an account.
    pub(in crate::backend) fn add_runs_under_way(&self, now: Time, account: &mut Account) {
        self.each_boundary(now, |_, _, cause| {
            let tally = account.at(Op::CopyBack, cause);
            tally.commands += 1;
            tally.pages += 1;
            tally.slots += 1;
        });
    }

    /// With time off: copies all pages of a run except the last, which the caller copies. If a program may fail, the
    /// pages become commands of their own.
    #[cold]
    #[inline(never)]
    pub(in crate::backend) fn copy_all(&mut self, handle: Handle<Command>) {
        if !self.media.cannot_fail() {
            return self.split_run(handle);
        }
        while self.table.commands[handle].behind > 0 {
            self.take_effect(handle);
            self.count(handle);
            self.advance_run(handle, 1);
        }
    }

    /// Gives each page of a run that has not begun a command of its own.
    #[cold]
    #[inline(never)]
    pub(in crate::backend) fn split_run(&mut self, handle: Handle<Command>) {
        let Command { op, cause, die, target, list, class, stride, stream, .. } = self.table.commands[handle];
        let pages = std::mem::take(&mut self.table.commands[handle].behind);
        let then = std::mem::take(&mut self.table.commands[handle].then);
        let slot = self.table.slots[handle.index()];
        let mut last = handle;
        for page in 1..=pages {
            let target = Target { offset: target.offset + page, ..target };
            let command = Command::new(op, cause, die, target, stream, list, class);
            let sibling = self.table.commands[last].sibling;
            let next = self.table.commands.insert(Command { waits: 1, sibling, ..command });
            self.table.make_room();
            self.make_room_for_payload();
            let (psn, lpn) = (Psn::new(slot.psn.get() + page), Lpn::new(slot.lpn.get() + page * stride));
            self.push_slot(next, Slot { psn, lpn, ..slot });
            let before = &mut self.table.commands[last];
            (before.sibling, before.then) = (Some(next), [Some(next), None]);
            last = next;
        }
        self.table.commands[last].then = then;
        let list = &mut self.table.lists[list];
        list.remaining += pages;
        if list.last == Some(handle) {
            list.last = Some(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Config, List, Timing};
    use crate::nand::{FaultSpec, Faults, Geometry, Media, Mode, Part, Spare, Stream};
    use base::engine::EventHash;
    use base::units::SuperblockId;

    const SOURCE: SuperblockId = SuperblockId::new(0);
    const PAGES: u32 = 4;

    /// A backend with one die, whose first block is full of mapping units 10, 12, 14...
    fn die(seed: u64) -> Backend {
        let mut part = Part::preset("K9K8G08U0M").expect("a preset").clone();
        part.bus.command = Span::ZERO;
        let geometry = Geometry::new(1, 1, 1, 1, 1, 4, PAGES, 1, 4).expect("a small array");
        let config =
            Config::new(Timing::new(&part, &geometry, "40MB/s".parse().expect("a rate"), false).expect("a valid part"));
        let mut media = Media::new(geometry, 100, 1, Faults::new(&FaultSpec::default(), seed));
        for page in 0..PAGES {
            let spare = |_| (Spare::Data { lpn: Lpn::new(10 + 2 * page), version: 7 }, false);
            media.program(Target { superblock: SOURCE, offset: page }, 1, (Stream::HOST, Mode::Full), spare, &[]);
        }
        Backend::new(media, &config)
    }

    /// Submits copies of all pages to block `to` as one command.
    fn copy(backend: &mut Backend, to: u32, now: Time, events: &mut EventQueue<Event>) -> Handle<List> {
        let list = backend.open_list(Class::Other, to);
        let target = |page| Target { superblock: SuperblockId::new(to), offset: page };
        let slot = |page| Slot {
            lpn: Lpn::new(10 + 2 * page),
            psn: backend.geometry().slot(SOURCE, page),
            expected: true,
            ..Slot::default()
        };
        let slots: Vec<_> = (0..PAGES).map(slot).collect();
        let command = backend.add_copy_back(list, Cause::Merge, target(0), Stream::COPIES);
        backend.push_slot(command, slots[0]);
        for page in 1..PAGES {
            assert!(backend.extend_copy_back(command, Cause::Merge, target(page), &slots[page as usize]));
        }
        backend.submit(now, list, events);
        list
    }

    /// Handles all events; returns the tag of each list and the time of its end.
    fn run(backend: &mut Backend, events: &mut EventQueue<Event>) -> Vec<(u32, f64)> {
        let (mut hash, mut ends) = (EventHash::default(), Vec::new());
        while let Some((at, event)) = events.pop() {
            backend.handle(at, event, events, &mut hash);
            while let Some(list) = backend.take_finished() {
                ends.push((backend.list(list).tag(), (at - Time::ZERO).as_us_f64()));
            }
        }
        ends
    }

    #[test]
    fn a_run_is_one_event_and_runs_take_turns() {
        // Each page takes 20 us to read and 200 us to program.
        let (mut backend, mut events) = (die(1), EventQueue::default());
        copy(&mut backend, 1, Time::ZERO, &mut events);
        assert_eq!((events.len(), events.next_time()), (1, Some(Time::from_ps(4 * 220_000_000))));
        // A second run comes during the second page: from the third page on the runs take turns.
        copy(&mut backend, 2, Time::from_ps(300_000_000), &mut events);
        assert_eq!(run(&mut backend, &mut events), [(1, 6.0 * 220.0), (2, 8.0 * 220.0)]);
        let tally = backend.account(Time::from_ps(2_000_000_000)).of(Op::CopyBack, Cause::Merge);
        assert_eq!((tally.commands, tally.pages, tally.slots), (8, 8, 8));
        assert_eq!(tally.array, Span::from_us(8 * 220));
        for (page, block) in (0..PAGES).flat_map(|page| [1, 2].map(|block| (page, block))) {
            let psn = backend.geometry().slot(SuperblockId::new(block), page);
            let copied = Spare::Data { lpn: Lpn::new(10 + 2 * page), version: 7 };
            assert_eq!(backend.media().spare(psn), copied, "page {page} of block {block}");
        }
    }

    #[test]
    fn a_power_cut_at_a_boundary_meets_the_page_behind_it() {
        let pages_after_cut = |at: u64, seed| {
            let (mut backend, mut events) = (die(seed), EventQueue::default());
            copy(&mut backend, 1, Time::ZERO, &mut events);
            let now = Time::from_ps(at * 1_000_000);
            assert_eq!(backend.account(now).of(Op::CopyBack, Cause::Merge).commands, at / 220, "pages up to {at} us");
            backend.cut_power(now);
            let spare = |page| backend.media().spare(backend.geometry().slot(SuperblockId::new(1), page));
            (0..PAGES).map(spare).collect::<Vec<_>>()
        };
        for (at, whole) in [(219, 0), (220, 1), (221, 1), (440, 2), (659, 2)] {
            let all: Vec<_> = (0..20).map(|seed| pages_after_cut(at, seed)).collect();
            for pages in &all {
                assert!(pages[..whole].iter().all(|spare| matches!(spare, Spare::Data { .. })), "at {at}: {pages:?}");
                assert!(pages[whole + 1..].iter().all(|spare| *spare == Spare::Empty), "at {at}: {pages:?}");
            }
            assert!(all.iter().any(|pages| pages[whole] == Spare::Torn), "at {at}: none is torn");
        }
    }

    #[test]
    fn a_page_elsewhere_needs_a_command_of_its_own() {
        let (mut backend, place) =
            (die(1), |block, page| Target { superblock: SuperblockId::new(block), offset: page });
        let list = backend.open_list(Class::Other, 1);
        let command = backend.add_copy_back(list, Cause::Merge, place(1, 0), Stream::COPIES);
        let slot = |lpn, psn| Slot { lpn: Lpn::new(lpn), psn: Psn::new(psn), expected: true, ..Slot::default() };
        backend.push_slot(command, slot(10, 0));
        assert!(backend.extend_copy_back(command, Cause::Merge, place(1, 1), &slot(12, 1)));
        for (cause, target, slot, what) in [
            (Cause::Wear, place(1, 2), slot(14, 2), "another cause"),
            (Cause::Merge, place(1, 3), slot(14, 2), "another page of the target"),
            (Cause::Merge, place(2, 2), slot(14, 2), "another target"),
            (Cause::Merge, place(1, 2), slot(16, 3), "another page of the source"),
            (Cause::Merge, place(1, 2), slot(15, 2), "another distance"),
            (Cause::Merge, place(1, 2), slot(8, 2), "an earlier mapping unit"),
        ] {
            assert!(!backend.extend_copy_back(command, cause, target, &slot), "{what}");
        }
        assert!(backend.extend_copy_back(command, Cause::Merge, place(1, 2), &slot(14, 2)));
    }
}
