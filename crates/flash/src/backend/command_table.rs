//! The command lists of an array, from the FTL's first call until the FTL takes a list back.
//!
//! Lists, commands and slots refer to each other by handle. This module depends on no time, die or channel.

use std::collections::VecDeque;

use base::engine::{Handle, Slab};
use base::units::DieId;

use super::failures::Failures;
use super::read_attempts::ReadAttempts;
use super::{Cause, Class, Command, List, Op, Slot, SlotRef};
use crate::nand::{Stream, Target};

/// All lists, with their commands and the slots of these.
#[derive(Clone, Debug)]
pub(super) struct CommandTable {
    pub(super) commands: Slab<Command>,
    pub(super) lists: Slab<List>,
    /// The slots of all commands: `slots_per_command` entries for each index in `commands`.
    pub(super) slots: Vec<Slot>,
    pub(super) slots_per_command: u32,
    /// Finished lists, in the order of finishing, until the FTL takes them back.
    pub(super) finished: VecDeque<Handle<List>>,
    pub(super) failures: Failures,
    /// The attempts of reads with bit errors.
    pub(super) attempts: ReadAttempts,
}

impl CommandTable {
    pub(super) fn new(slots_per_command: u32) -> Self {
        Self {
            commands: Slab::default(),
            lists: Slab::default(),
            slots: Vec::new(),
            slots_per_command,
            finished: VecDeque::new(),
            failures: Failures::default(),
            attempts: ReadAttempts::default(),
        }
    }

    /// Removes all lists and commands, at a power cut.
    pub(super) fn clear(&mut self) {
        self.lists.clear();
        self.commands.clear();
        self.slots.clear();
        self.finished.clear();
        self.failures.clear();
        self.attempts.clear();
    }

    #[inline]
    pub(super) fn open(&mut self, class: Class, tag: u32) -> Handle<List> {
        self.lists.insert(List::new(class, tag, self.failures.reported()))
    }

    #[inline]
    pub(super) fn add(
        &mut self,
        list: Handle<List>,
        op: Op,
        cause: Cause,
        (die, target): (DieId, Target),
        stream: Stream,
    ) -> Handle<Command> {
        let class = self.lists[list].class;
        let handle = self.commands.insert(Command::new(op, cause, die, target, stream, list, class));
        self.make_room();
        let list = &mut self.lists[list];
        list.remaining += 1;
        match list.last.replace(handle) {
            Some(last) => {
                let last = &mut self.commands[last];
                last.sibling = Some(handle);
                list.spreads |= last.die != die;
            }
            None => list.first = Some(handle),
        }
        handle
    }

    /// Grows the slots, so that each index of the slab of commands has its slots.
    #[inline]
    pub(super) fn make_room(&mut self) {
        let needed = self.commands.places() * self.slots_per_command as usize;
        if self.slots.len() < needed {
            self.slots.resize(needed, Slot::default());
        }
    }

    /// The index of a command's first slot.
    #[inline]
    pub(super) const fn first_slot(&self, command: Handle<Command>) -> usize {
        command.index() * self.slots_per_command as usize
    }

    /// The slots of a command, in order.
    #[inline]
    pub(super) fn slots_of(&self, command: Handle<Command>) -> &[Slot] {
        let first = self.first_slot(command);
        &self.slots[first..first + self.commands[command].count as usize]
    }

    /// Adds a slot to a command. Returns the slot's index.
    #[inline(always)]
    #[allow(clippy::inline_always)] // A slot is built in its final place: a call would copy it.
    pub(super) fn push_slot(&mut self, command: Handle<Command>, slot: Slot) -> usize {
        let count = &mut self.commands[command].count;
        assert!(*count < self.slots_per_command, "more slots than one command carries");
        let place = command.index() * self.slots_per_command as usize + *count as usize;
        *count += 1;
        self.slots[place] = slot;
        place
    }

    /// Makes `second` wait until `first` has finished.
    pub(super) fn depend(&mut self, first: Handle<Command>, second: Handle<Command>) {
        if self.commands[first].is_done() {
            return;
        }
        let (before, behind) = (self.commands[first].list, self.commands[second].list);
        if before != behind {
            self.lists[before].relation.lead();
            self.lists[behind].relation.follow();
        }
        let then = &mut self.commands[first].then;
        if then.contains(&Some(second)) {
            return;
        }
        let free = then.iter_mut().find(|place| place.is_none()).expect("at most two commands wait for one");
        *free = Some(second);
        self.commands[second].waits += 1;
    }

    /// Forwards data from `read` to `program`, which waits for the read.
    pub(super) fn forward(&mut self, read: Handle<Command>, from: SlotRef, program: Handle<Command>, to: SlotRef) {
        self.slots[from.0 as usize].forward = Some(to);
        self.depend(read, program);
    }

    /// Ends a command in its list. Returns the controller of the list if that was the list's last command.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Every command ends here.
    pub(super) fn end_in_list(&mut self, handle: Handle<Command>) -> Option<u32> {
        let &Command { list, wait, .. } = &self.commands[handle];
        let entry = &mut self.lists[list];
        entry.remaining -= 1;
        entry.wait = entry.wait.max(wait);
        if entry.remaining > 0 {
            return None;
        }
        self.finished.push_back(list);
        entry.controller()
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller in each family.
    pub(super) fn release(&mut self, list: Handle<List>) {
        let mut next = self.lists[list].first;
        while let Some(command) = next {
            next = self.commands[command].sibling;
            self.commands.remove(command);
        }
        self.lists.remove(list);
    }

    /// True if a program has failed in the superblock of a command since its list was opened.
    #[cold]
    pub(super) fn has_unheard_failure(&self, handle: Handle<Command>) -> bool {
        let command = &self.commands[handle];
        // Failures before a power loss are not here: the FTL learned of them from the media.
        let reported = self.failures.blocks.get(&command.target.superblock).copied();
        reported.is_some_and(|reported| reported.is_none_or(|reported| self.lists[command.list].known < reported))
    }

    /// Notes a failed program; its list will report it to the FTL.
    #[cold]
    pub(super) fn note_failure(&mut self, handle: Handle<Command>) {
        self.failures.note(self.commands[handle].target.superblock);
    }

    /// Numbers the report of a list's failures, when the FTL takes the list back.
    #[inline]
    pub(super) fn report_failures(&mut self, list: Handle<List>) {
        if !self.failures.blocks.is_empty() {
            self.report_noted_failures(list);
        }
    }

    #[cold]
    fn report_noted_failures(&mut self, list: Handle<List>) {
        let reported = self.failures.reported + 1;
        let mut next = self.lists[list].first;
        while let Some(handle) = next {
            let command = &self.commands[handle];
            next = command.sibling;
            if command.failed
                && !command.refused
                && let Some(unheard) = self.failures.blocks.get_mut(&command.target.superblock)
            {
                *unheard = Some(reported);
                self.failures.reported = reported;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use base::units::{Lpn, SuperblockId};

    use super::*;

    const SLOTS: u32 = 2;

    fn add(table: &mut CommandTable, list: Handle<List>, op: Op, die: u32) -> Handle<Command> {
        let target = Target { superblock: SuperblockId::new(0), offset: 0 };
        table.add(list, op, Cause::Host, (DieId::new(die), target), Stream::HOST)
    }

    fn lpn(lpn: u32) -> Slot {
        Slot { lpn: Lpn::new(lpn), ..Slot::default() }
    }

    #[test]
    fn commands_follow_each_other_in_their_list_and_have_their_slots() {
        let mut table = CommandTable::new(SLOTS);
        let list = table.open(Class::HostRead, 7);
        let commands = [0, 0, 1].map(|die| add(&mut table, list, Op::Read, die));
        for (i, command) in (0..).zip(commands) {
            table.push_slot(command, lpn(i));
        }
        assert_eq!(table.push_slot(commands[1], lpn(9)), commands[1].index() * SLOTS as usize + 1);
        let entry = &table.lists[list];
        assert_eq!((entry.tag(), entry.first(), entry.remaining, entry.spreads), (7, Some(commands[0]), 3, true));
        let siblings = commands.map(|command| table.commands[command].sibling());
        assert_eq!(siblings, [Some(commands[1]), Some(commands[2]), None]);
        let held = |command| table.slots_of(command).iter().map(|slot| slot.lpn.get()).collect::<Vec<_>>();
        assert_eq!(commands.map(held), [vec![0], vec![1, 9], vec![2]]);
    }

    #[test]
    #[should_panic(expected = "more slots than one command carries")]
    fn a_command_takes_no_more_slots_than_there_is_room_for() {
        let mut table = CommandTable::new(SLOTS);
        let list = table.open(Class::Other, 0);
        let command = add(&mut table, list, Op::Program, 0);
        (0..=SLOTS).for_each(|i| _ = table.push_slot(command, lpn(i)));
    }

    #[test]
    fn a_command_waits_once_for_another_that_is_not_done() {
        let mut table = CommandTable::new(SLOTS);
        let [before, behind] = [table.open(Class::Other, 0), table.open(Class::Other, 1)];
        let (done, read) = (add(&mut table, before, Op::Read, 0), add(&mut table, before, Op::Read, 0));
        let program = add(&mut table, behind, Op::Program, 1);
        table.commands[done].state = super::super::CommandState::Done;
        table.depend(done, program);
        assert_eq!((table.commands[program].waits, table.lists[before].relation.leads()), (0, false));
        let from = SlotRef(table.push_slot(read, lpn(3)) as u32);
        let to = SlotRef(table.push_slot(program, lpn(3)) as u32);
        table.forward(read, from, program, to);
        table.depend(read, program);
        assert_eq!((table.commands[program].waits, table.commands[read].then), (1, [Some(program), None]));
        assert_eq!((table.lists[before].relation.leads(), table.lists[behind].relation.follows()), (true, true));
        assert_eq!(table.slots[from.0 as usize].forward, Some(to));
    }

    #[test]
    fn a_list_ends_with_its_last_command_and_its_places_are_used_again() {
        let mut table = CommandTable::new(SLOTS);
        let list = table.open(Class::Other, 0);
        table.lists[list].take_controller(4);
        let commands = [0, 1].map(|die| add(&mut table, list, Op::Erase, die));
        let us = base::units::Span::from_us;
        (table.commands[commands[0]].wait, table.commands[commands[1]].wait) = (us(8), us(3));
        assert_eq!(table.end_in_list(commands[0]), None);
        assert_eq!(table.finished.pop_front(), None);
        assert_eq!(table.end_in_list(commands[1]), Some(4));
        assert_eq!(table.finished.pop_front(), Some(list));
        assert_eq!(table.lists[list].wait(), us(8), "the longest wait of its commands");
        table.release(list);
        let list = table.open(Class::Other, 0);
        [0, 1].iter().for_each(|die| _ = add(&mut table, list, Op::Erase, *die));
        assert_eq!((table.commands.places(), table.slots.len()), (2, 2 * SLOTS as usize));
    }
}
