//! The way of a list from the FTL to the dies: the list waits for a controller, and its commands without open
//! dependencies go to their dies.

use base::engine::{EventQueue, Handle};
use base::units::{DieId, Time};

use super::controllers::Admission;
use super::planted::Bug;
use super::{Backend, Cause, Command, CommandState, Event, List, Stop};

impl Backend {
    /// Submits a list. [`Backend::take_finished`] returns it.
    ///
    /// # Panics
    /// If the list is empty.
    #[inline]
    pub fn submit<E: From<Event> + Copy>(&mut self, now: Time, list: Handle<List>, events: &mut EventQueue<E>) {
        if self.table.lists[list].copies().is_some()
            && let Some(copies) = self.copies_of(list)
        {
            return self.submit_copies(now, list, copies, events);
        }
        let first = self.table.lists[list].first.expect("a list of at least one command");
        if !self.rules.timed {
            self.run_at_once(list);
            return;
        }
        if self.rules.plane_reads.is_some() {
            self.choose_units(first);
        }
        let entry = &mut self.table.lists[list];
        entry.submitted = now;
        if self.observer.is_some() || entry.spreads || self.fast.copy_back_runs.are_possible() {
            let mut next = Some(first);
            while let Some(command) = next {
                let &Command { die, behind, sibling, .. } = &self.table.commands[command];
                self.dies[die.index()].unfinished += 1 + behind;
                self.unfinished += u64::from(1 + behind);
                self.notify(now, command, Stop::Submitted);
                next = sibling;
            }
        } else {
            self.dies[self.table.commands[first].die.index()].unfinished += entry.remaining;
            self.unfinished += u64::from(entry.remaining);
        }
        let command = &self.table.commands[first];
        self.send_to_controller(now, list, (command.die.get(), command.collects()), events);
    }

    /// Sends a list to its controller, or queues it there. The first command gives the list its die and its preference.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller for commands and one for copies.
    pub(super) fn send_to_controller<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        list: Handle<List>,
        (die, collects): (u32, bool),
        events: &mut EventQueue<E>,
    ) {
        let lists = &mut self.table.lists;
        let class = self.rules.arbitration.commands.queue(lists[list].class, collects);
        match self.controllers.admit(lists, list, class, (die, self.dies[die as usize].channel)) {
            Admission::Dies => self.dispatch(now, list, events),
            Admission::Controller(controller) => self.occupy(now, controller, list, events),
            Admission::Waits => {}
            Admission::Search => self.assign(now, events),
        }
    }

    /// Gives every free controller the first list whose chips are free.
    fn assign<E: From<Event> + Copy>(&mut self, now: Time, events: &mut EventQueue<E>) {
        loop {
            let Self { controllers, table, fast, dies, .. } = self;
            let commands = &table.commands;
            let fit = controllers.first_fit(&mut table.lists, |lists, list| {
                let (mut free, mut chips) = (true, 0);
                let mut wants = |die: DieId| {
                    free &= dies[die.index()].held_by == 0;
                    chips |= 1 << (die.get() % 64);
                };
                let mut next = lists[list].first;
                while let Some(command) = next {
                    next = commands[command].sibling;
                    wants(commands[command].die);
                }
                if let Some(at) = lists[list].copies() {
                    fast.copies.dies_of(at).iter().for_each(|(die, _)| wants(DieId::new(*die)));
                }
                (free, chips)
            });
            let Some((controller, list)) = fit else { return };
            self.hold_chips(list, true);
            self.occupy(now, controller, list, events);
        }
    }

    /// Marks the dies of a list as held, or releases them.
    fn hold_chips(&mut self, list: Handle<List>, held: bool) {
        let Self { table, fast, dies, .. } = self;
        let mut mark = |die: usize, times: u32| {
            let by = &mut dies[die].held_by;
            *by = if held { *by + times } else { *by - times };
        };
        if let Some(copies) = table.lists[list].copies() {
            return fast.copies.dies_of(copies).iter().for_each(|(die, steps)| mark(*die as usize, *steps));
        }
        let mut next = table.lists[list].first;
        while let Some(command) = next {
            next = table.commands[command].sibling;
            mark(table.commands[command].die.index(), 1);
        }
    }

    /// Executes a list at once, with time off: in its order as far as the dependencies allow.
    fn run_at_once(&mut self, list: Handle<List>) {
        while self.table.lists[list].remaining > 0 {
            let before = self.table.lists[list].remaining;
            let mut next = self.table.lists[list].first;
            while let Some(command) = next {
                if self.table.commands[command].behind > 0 {
                    self.copy_all(command);
                }
                next = self.table.commands[command].sibling;
                if self.table.commands[command].waits > 0 || self.table.commands[command].is_done() {
                    continue;
                }
                self.take_effect(command);
                self.pass_on(command);
                self.count(command);
                self.table.commands[command].state = CommandState::Done;
                for then in self.table.commands[command].then.into_iter().flatten() {
                    self.table.commands[then].waits -= 1;
                }
                self.table.lists[list].remaining -= 1;
            }
            assert!(self.table.lists[list].remaining < before, "commands of a list wait for each other");
        }
        self.table.finished.push_back(list);
    }

    /// Gives a list to a free controller.
    #[inline(never)]
    pub(super) fn occupy<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        controller: u32,
        list: Handle<List>,
        events: &mut EventQueue<E>,
    ) {
        if let Some(observer) = &mut self.observer {
            let first = self.table.lists[list].first.expect("a list of at least one command");
            let cause = self.table.commands[first].cause;
            observer.controller(now, controller, Some((list.number().get(), cause)));
        }
        self.controllers.occupy(now, controller, list, &mut self.table.lists);
        self.dispatch(now, list, events);
    }

    /// Ends the list of a controller, which takes the next list.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller for commands and one for copies.
    pub(super) fn vacate<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        controller: u32,
        cause: Cause,
        events: &mut EventQueue<E>,
    ) {
        let left = self.controllers.vacate(now, controller, cause);
        if let Some(observer) = &mut self.observer {
            observer.controller(now, controller, None);
        }
        if self.controllers.hold_chips() {
            self.hold_chips(left.expect("a controller that ends a list has it"), false);
            return self.assign(now, events);
        }
        if let Some(next) = self.controllers.take_next(controller, &self.table.lists) {
            self.occupy(now, controller, next, events);
        }
    }

    /// Sends the commands without open dependencies to their dies.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller with controllers and one without.
    fn dispatch<E: From<Event> + Copy>(&mut self, now: Time, list: Handle<List>, events: &mut EventQueue<E>) {
        let entry = &mut self.table.lists[list];
        entry.dispatched = true;
        if let Some(copies) = entry.copies() {
            if self.media.cannot_fail() {
                return self.begin_copies(now, list, copies, events);
            }
            self.write_out(copies.set, Some(events));
        }
        let entry = &self.table.lists[list];
        let (first, spreads) = (entry.first, entry.spreads);
        if spreads || self.rules.intervenes() || self.rules.timing.cache_across {
            return self.dispatch_widely(now, first, events);
        }
        // All commands are queued before the first starts, so that the die knows whether the next one can follow in
        // cache mode. A single command needs no queue.
        let (mut ready, mut queued) = (None, false);
        let mut next = first;
        while let Some(handle) = next {
            let command = &self.table.commands[handle];
            next = command.sibling;
            if command.waits > 0 {
                continue;
            }
            if let Some(before) = ready.replace(handle) {
                self.enqueue(now, before, events);
                queued = true;
            }
        }
        match ready {
            Some(last) if queued => {
                self.enqueue(now, last, events);
                self.next_command(now, self.table.commands[last].unit, events);
            }
            Some(alone) => self.send_to_die(now, alone, events),
            None => {}
        }
    }

    /// Sends commands to their dies if the list has several dies, or if a die may begin or load a command although it
    /// is occupied.
    #[inline(never)]
    fn dispatch_widely<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        first: Option<Handle<Command>>,
        events: &mut EventQueue<E>,
    ) {
        if let Some(alone) = first.filter(|first| self.table.commands[*first].sibling.is_none()) {
            if self.table.commands[alone].waits == 0 {
                self.send_to_die(now, alone, events);
            }
            return;
        }
        let mut next = first;
        while let Some(handle) = next {
            next = self.table.commands[handle].sibling;
            if self.table.commands[handle].waits == 0 {
                self.enqueue(now, handle, events);
            }
        }
        let mut next = first;
        while let Some(handle) = next {
            next = self.table.commands[handle].sibling;
            self.next_command(now, self.table.commands[handle].unit, events);
        }
    }

    /// Sends a command to its die, which begins it at once if it is idle.
    #[inline]
    pub(super) fn send_to_die<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let unit = self.table.commands[handle].unit;
        let alone = !self.rules.issues && self.rules.plane_reads.is_none();
        if alone && self.dies[unit as usize].is_idle() {
            self.table.commands[handle].ready = now;
            self.notify(now, handle, Stop::Ready);
            return self.begin(now, handle, events);
        }
        self.enqueue(now, handle, events);
        self.next_command(now, unit, events);
    }

    /// The queue in which a command waits for its die.
    #[inline]
    pub(super) fn class_at_die(&self, handle: Handle<Command>) -> usize {
        let command = &self.table.commands[handle];
        if let Some(suspend) = &self.rules.suspend {
            return suspend.queue(command);
        }
        let reordered = self.rules.planted.is(Bug::BlockReordered) && !command.cause.is_of_host();
        self.rules.arbitration.commands.queue(command.class, command.collects() || reordered)
    }

    #[inline]
    pub(super) fn enqueue<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let command = &mut self.table.commands[handle];
        command.ready = now;
        let die = command.unit;
        if self.fast.copy_back_runs.is_under_way(die) {
            self.interrupt_run(now, die, events);
        }
        let class = self.class_at_die(handle);
        self.dies[die as usize].queue.push(&mut self.table.commands, class, handle);
        self.notify(now, handle, Stop::Ready);
    }
}
