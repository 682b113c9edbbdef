//! The page copies of a merge as one object.
//!
//! A merge copies up to a block of pages. As commands, each page takes a read, a program and their slots. A [`CopySet`]
//! has a few bytes for each page and its two steps instead, and the [run](super::copy_run) carries them out without a
//! queue. The lists of a set are ordinary lists: they wait for a controller, and finish one by one. In each list one
//! step follows another, and a program waits for the read of its page, which may be a step of another list.
//!
//! This needs a list that has its dies and its channel for itself while a controller executes it, so that no other
//! command waits for them or makes it wait. If that does not hold, or an observer sees the commands, or operations may
//! fail, a set turns into commands, at any moment between two events ([`Backend::write_out`]).

use crate::nand::{Geometry, Stream, Target};
use base::engine::{Due, EventQueue, Handle};
use base::units::{DieId, Lpn, Psn, Span, SuperblockId, Time};

use crate::backend::copy_set::{CopySet, ListPart};
use crate::backend::{Backend, Cause, Command, CommandState, Event, List, Slot};

/// A step of a list: the read or the program of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::backend) struct ListStep(u32);

impl ListStep {
    const fn new(page: usize, is_program: bool) -> Self {
        Self((page as u32) << 1 | is_program as u32)
    }

    #[inline]
    pub(in crate::backend) const fn page(self) -> usize {
        (self.0 >> 1) as usize
    }

    #[inline]
    pub(in crate::backend) const fn is_program(self) -> bool {
        self.0 & 1 != 0
    }

    /// The step that programs the page of a read step.
    #[inline]
    pub(in crate::backend) const fn of_program(read: Self) -> Self {
        Self(read.0 | 1)
    }
}

#[derive(Clone, Copy, Debug)]
pub(in crate::backend) struct PageCopy {
    pub(in crate::backend) from: Psn,
    /// The page's offset in the target.
    pub(in crate::backend) offset: u32,
    /// The mapping unit in the spare area, once the page is read.
    pub(in crate::backend) lpn: Lpn,
    pub(in crate::backend) version: u32,
    pub(in crate::backend) lost: bool,
    /// True once the data has left the source's die.
    pub(in crate::backend) is_read: bool,
    /// The mapping unit that the source must hold, if the FTL knows it beforehand.
    pub(in crate::backend) expected: Option<Lpn>,
    /// The index of the part with its read, and of the part with its program.
    parts: [u16; 2],
}

impl PageCopy {
    #[inline]
    pub(in crate::backend) fn new(from: Psn, offset: u32, expected: Option<Lpn>, parts: [u16; 2]) -> Self {
        let lpn = expected.unwrap_or_default();
        Self { from, offset, lpn, version: 0, lost: false, is_read: false, expected, parts }
    }
}

/// The phase of a list's current step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::backend) enum ListPhase {
    /// No controller has the list yet, or all its steps are done.
    Idle,
    /// A program waits for the read of its page.
    Waiting,
    Array,
    /// Data crosses the channel.
    Channel,
}

/// A list of a set: its steps, and its present phase.
#[derive(Clone, Debug)]
pub(in crate::backend) struct CopyList {
    pub(in crate::backend) list: Handle<List>,
    pub(in crate::backend) steps: Vec<ListStep>,
    /// The dies of the part with the number of steps on each, the die of the first step first.
    pub(in crate::backend) dies: Vec<(u32, u32)>,
    /// The index of the current step.
    pub(in crate::backend) at: usize,
    pub(in crate::backend) phase: ListPhase,
    pub(in crate::backend) die: u32,
    pub(in crate::backend) channel: u32,
    /// The end of the present phase.
    pub(in crate::backend) due: Due,
    /// True if the FTL has released the list; its handle may belong to another list.
    released: bool,
}

impl CopyList {
    #[inline]
    pub(in crate::backend) fn step(&self) -> Option<ListStep> {
        self.steps.get(self.at).copied()
    }

    fn add_steps(&mut self, die: DieId, steps: u32) {
        match self.dies.iter_mut().find(|(of, _)| *of == die.get()) {
            Some((_, count)) => *count += steps,
            None => self.dies.push((die.get(), steps)),
        }
    }

    /// True if all steps of the part are done, so that the FTL has the list back.
    const fn is_over(&self) -> bool {
        self.at > 0 && self.at == self.steps.len()
    }
}

/// The pages and the parts of a set. Ended sets keep their memory for later sets.
#[derive(Clone, Debug)]
pub(in crate::backend) struct Copies {
    pub(in crate::backend) cause: Cause,
    pub(in crate::backend) target: SuperblockId,
    pub(in crate::backend) pages: Vec<PageCopy>,
    /// The content of the pages, one mapping unit each; empty if sectors have no content.
    pub(in crate::backend) payload: Vec<u8>,
    /// The parts. Those behind the first `used` are left over from earlier sets.
    parts: Vec<CopyList>,
    used: usize,
    /// The number of lists that have not been released.
    kept: usize,
    /// The number of the set's latest event; earlier events are dropped.
    pub(in crate::backend) generation: u16,
}

impl Copies {
    pub(in crate::backend) const fn new() -> Self {
        Self {
            cause: Cause::Merge,
            target: SuperblockId::new(0),
            pages: Vec::new(),
            payload: Vec::new(),
            parts: Vec::new(),
            used: 0,
            kept: 0,
            generation: 0,
        }
    }

    #[inline]
    pub(in crate::backend) fn parts(&self) -> &[CopyList] {
        &self.parts[..self.used]
    }

    #[inline]
    pub(in crate::backend) fn parts_mut(&mut self) -> &mut [CopyList] {
        &mut self.parts[..self.used]
    }

    #[inline]
    fn place_of(&self, step: ListStep, geometry: &Geometry) -> (SuperblockId, u32) {
        let page = &self.pages[step.page()];
        if step.is_program() { (self.target, page.offset) } else { geometry.locate(page.from) }
    }

    /// The bytes of a page in the payload.
    #[inline]
    pub(in crate::backend) fn range(&self, page: usize) -> std::ops::Range<usize> {
        let slot = self.payload.len() / self.pages.len();
        page * slot..(page + 1) * slot
    }
}

#[derive(Clone, Debug)]
pub(in crate::backend) struct CopySets {
    pub(in crate::backend) sets: Vec<Copies>,
    free: Vec<CopySet>,
    /// True if the backend can carry out copies in bulk.
    in_bulk: bool,
    /// A scratch list, kept to save its allocation.
    pub(in crate::backend) charges: Vec<(u32, [Span; 2])>,
}

impl CopySets {
    pub(in crate::backend) const fn new(in_bulk: bool) -> Self {
        Self { sets: Vec::new(), free: Vec::new(), in_bulk, charges: Vec::new() }
    }

    #[inline]
    pub(in crate::backend) fn of(&mut self, set: CopySet) -> &mut Copies {
        &mut self.sets[set.index()]
    }

    /// Removes all sets, at a power loss. The queue must have no event of a set any more.
    pub(in crate::backend) fn clear(&mut self) {
        self.sets.clear();
        self.free.clear();
    }

    fn is_free(&self, set: usize) -> bool {
        self.sets[set].used == 0
    }

    /// The dies of a list, each with the number of its steps there.
    pub(in crate::backend) fn dies_of(&self, at: ListPart) -> &[(u32, u32)] {
        &self.sets[at.set.index()].parts[at.part as usize].dies
    }

    pub(in crate::backend) fn release(&mut self, ListPart { set, part }: ListPart) {
        let copies = self.of(set);
        copies.parts[part as usize].released = true;
        copies.kept -= 1;
        if copies.kept == 0 {
            copies.used = 0;
            self.free.push(set);
        }
    }

    /// The parts whose array or channel works, each with the cause of its set.
    pub(in crate::backend) fn working(&self) -> impl Iterator<Item = (&Copies, &CopyList)> {
        let used = self.sets.iter().flat_map(|copies| copies.parts().iter().map(move |part| (copies, part)));
        used.filter(|(_, part)| matches!(part.phase, ListPhase::Array | ListPhase::Channel))
    }
}

impl Backend {
    /// Begins a set of page copies into a superblock.
    pub fn open_copies(&mut self, cause: Cause, target: SuperblockId) -> CopySet {
        let set = self.fast.copies.free.pop().unwrap_or_else(|| {
            self.fast.copies.sets.push(Copies::new());
            CopySet::new(self.fast.copies.sets.len() as u32 - 1)
        });
        let copies = self.fast.copies.of(set);
        (copies.cause, copies.target) = (cause, target);
        copies.pages.clear();
        copies.payload.clear();
        (copies.used, copies.kept) = (0, 0);
        set
    }

    /// Adds copies of pages of a superblock, each to an offset of the set's target. The reads go to one list, and the
    /// programs to another list or the same. Each step waits for the step before it in its list.
    ///
    /// The caller must submit all lists of the set without another call of the FTL in between, those with the programs
    /// last, and the lists must hold nothing but copies of this set.
    pub fn push_copies(
        &mut self,
        set: CopySet,
        [from, to]: [Handle<List>; 2],
        source: SuperblockId,
        pages: impl Iterator<Item = (u32, Psn)>,
    ) {
        let parts = [self.part_of(set, from), self.part_of(set, to)];
        if from != to {
            self.table.lists[from].relation.lead();
            self.table.lists[to].relation.follow();
        }
        let Self { fast, media, .. } = self;
        let copies = fast.copies.of(set);
        let before = copies.pages.len();
        copies.pages.extend(pages.map(|(offset, psn)| PageCopy::new(psn, offset, None, parts)));
        let new = before..copies.pages.len();
        let [reads, programs] = parts.map(usize::from);
        if reads == programs {
            copies.parts[reads]
                .steps
                .extend(new.clone().flat_map(|page| [false, true].map(|to| ListStep::new(page, to))));
        } else {
            copies.parts[reads].steps.extend(new.clone().map(|page| ListStep::new(page, false)));
            copies.parts[programs].steps.extend(new.clone().map(|page| ListStep::new(page, true)));
        }
        let geometry = media.geometry();
        copies.parts[reads].add_steps(geometry.die_of(source), new.len() as u32);
        copies.parts[programs].add_steps(geometry.die_of(copies.target), new.len() as u32);
    }

    /// The index of the part for a list in a set; adds a part if the list has none.
    #[inline]
    pub(in crate::backend) fn part_of(&mut self, set: CopySet, list: Handle<List>) -> u16 {
        if let Some(ListPart { part, .. }) = self.table.lists[list].copies() {
            return part;
        }
        let copies = self.fast.copies.of(set);
        let part = copies.used;
        if part == copies.parts.len() {
            let (steps, dies, phase, due) = (Vec::new(), Vec::new(), ListPhase::Idle, Due::NEVER);
            copies.parts.push(CopyList { list, steps, dies, at: 0, phase, die: 0, channel: 0, due, released: false });
        }
        let entry = &mut copies.parts[part];
        (entry.list, entry.at, entry.phase, entry.due) = (list, 0, ListPhase::Idle, Due::NEVER);
        entry.released = false;
        entry.steps.clear();
        entry.dies.clear();
        copies.used += 1;
        copies.kept += 1;
        let part = u16::try_from(part).expect("fewer lists of one set than 2^16");
        self.table.lists[list].join(ListPart { set, part });
        part
    }

    /// The set of a list that is submitted, if the set is carried out in bulk. If it cannot be, the set becomes
    /// commands.
    pub(in crate::backend) fn copies_of(&mut self, list: Handle<List>) -> Option<ListPart> {
        let part = self.table.lists[list].copies()?;
        if self.fast.copies.in_bulk && self.media.cannot_fail() {
            return Some(part);
        }
        self.write_out::<Event>(part.set, None);
        None
    }

    #[inline]
    pub(in crate::backend) fn place_of(&self, copies: &Copies, step: ListStep) -> (SuperblockId, u32) {
        copies.place_of(step, self.geometry())
    }

    /// Turns a set into commands, whatever part of it is done. From then on its lists are like any others.
    #[cold]
    #[inline(never)]
    pub(in crate::backend) fn write_out<E: From<Event> + Copy>(
        &mut self,
        set: CopySet,
        events: Option<&mut EventQueue<E>>,
    ) {
        assert!(!self.fast.copies.is_free(set.index()), "a set in use");
        let mut copies = std::mem::replace(self.fast.copies.of(set), Copies::new());
        copies.generation = copies.generation.wrapping_add(1);
        for part in copies.parts().iter().filter(|part| !part.released) {
            self.table.lists[part.list].leave_copies();
        }
        let mut commands: Vec<[Option<Handle<Command>>; 2]> = Vec::new();
        let mut last: Vec<Option<Handle<Command>>> = vec![None; copies.used];
        for (i, page) in copies.pages.iter().enumerate() {
            let [read, program] = page.parts.map(|part| {
                let part = &copies.parts[usize::from(part)];
                (!part.is_over()).then_some(part.list)
            });
            let PageCopy { from: psn, lpn, version, lost, .. } = *page;
            let read = read.map(|list| {
                let read = self.add_read(list, copies.cause, self.geometry().locate(psn).0);
                let slot = Slot { psn, lpn, version, lost, expected: page.expected.is_some(), ..Slot::default() };
                (read, self.push_slot(read, slot))
            });
            let program = program.map(|list| {
                let target = Target { superblock: copies.target, offset: page.offset };
                let program = self.add_program(list, copies.cause, target, Stream::COPIES);
                // The data that a finished list has read is now in the slot of its program.
                let slot =
                    if read.is_none() { Slot { lpn, version, lost, ..Slot::default() } } else { Slot::default() };
                (program, self.push_slot(program, slot))
            });
            if self.payload.is_present()
                && !copies.payload.is_empty()
                && let Some((_, slot)) = read.or(program)
            {
                self.payload.put(slot.0 as usize, &copies.payload[copies.range(i)]);
            }
            if let (Some((read, from)), Some((program, to))) = (read, program) {
                self.forward(read, from, program, to);
            }
            let both = [read, program].map(|command| command.map(|(command, _)| command));
            for (part, command) in page.parts.into_iter().zip(both) {
                let Some(command) = command else { continue };
                if let Some(before) = last[usize::from(part)].replace(command) {
                    self.depend(before, command);
                }
            }
            commands.push(both);
        }
        let command_of =
            |step: ListStep| commands[step.page()][usize::from(step.is_program())].expect("a list under way");
        for part in copies.parts().iter().filter(|part| !part.is_over()) {
            for step in &part.steps[..part.at] {
                self.mark_done(command_of(*step));
            }
        }
        let mut events = events;
        for part in copies.parts() {
            let Some(step) = part.step() else { continue };
            if matches!(part.phase, ListPhase::Array | ListPhase::Channel) {
                let events = events.as_deref_mut().expect("a set under way");
                self.put_in_place(part, command_of(step), step, events);
            }
        }
        copies.used = 0;
        *self.fast.copies.of(set) = copies;
        self.fast.copies.free.push(set);
    }

    /// Marks a command as done, because its step was done before the set became commands.
    fn mark_done(&mut self, handle: Handle<Command>) {
        self.pass_on(handle);
        let command = &mut self.table.commands[handle];
        (command.state, command.effected) = (CommandState::Done, true);
        let (list, then) = (command.list, command.then);
        self.table.lists[list].remaining -= 1;
        for then in then.into_iter().flatten() {
            self.table.commands[then].waits -= 1;
        }
    }

    /// Puts a new command into the state of the current step of a list.
    fn put_in_place<E: From<Event> + Copy>(
        &mut self,
        part: &CopyList,
        handle: Handle<Command>,
        step: ListStep,
        events: &mut EventQueue<E>,
    ) {
        let begun = !step.is_program() || part.phase == ListPhase::Array;
        let command = &mut self.table.commands[handle];
        command.effected = begun;
        command.state = match part.phase {
            ListPhase::Array => CommandState::Array,
            _ if step.is_program() => CommandState::DataIn,
            _ => CommandState::DataOut,
        };
        let die = &mut self.dies[part.die as usize];
        if part.phase == ListPhase::Array {
            die.array = Some(handle);
            let generation = die.meter.generation();
            return events.push_at(part.due, Event::Array { die: part.die, generation }.into());
        }
        die.register = Some(handle);
        let channel = &mut self.channels[part.channel as usize];
        (channel.current, channel.bytes, channel.crosses) = (Some(handle), self.rules.timing.slot_bytes, 1);
        let generation = channel.meter.generation();
        events.push_at(part.due, Event::Bus { channel: part.channel, generation }.into());
    }

    /// The programs of sets on which arrays work now: the die and the target of each.
    pub(in crate::backend) fn copies_being_programmed(&self, now: Time) -> Vec<(usize, Target)> {
        let of = |(copies, part): (&Copies, &CopyList)| {
            let step = part.step().filter(|step| step.is_program() && part.phase == ListPhase::Array)?;
            let works = self.dies[part.die as usize].meter.works(now);
            let (superblock, offset) = self.place_of(copies, step);
            works.then_some((part.die as usize, Target { superblock, offset }))
        };
        self.fast.copies.working().filter_map(of).collect()
    }
}
