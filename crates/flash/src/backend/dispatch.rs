//! From the FTL to the dies: a list waits for a controller, and its commands without open dependencies go to their dies.

use crate::nand::Sector;
use base::engine::{EventQueue, Handle};
use base::units::Time;

use super::planted::Bug;
use super::{Backend, Class, Command, Controllers, Event, List, Observer, Stop, Transfer};

/// The controller of host reads, if there are foreground and background controllers.
pub(super) const FOREGROUND: u32 = 0;

impl<S: Sector, O: Observer> Backend<S, O> {
    /// Submits a list. [`Backend::take_finished`] returns it.
    ///
    /// # Panics
    /// If the list is empty.
    #[inline]
    pub fn submit<E: From<Event> + Copy>(&mut self, now: Time, list: Handle<List>, events: &mut EventQueue<E>) {
        if self.lists[list].copies().is_some()
            && let Some(copies) = self.copies_of(list)
        {
            return self.submit_copies(now, list, copies, events);
        }
        let first = self.lists[list].first.expect("a list of at least one command");
        if !self.timed {
            self.run_at_once(list);
            return;
        }
        let entry = &mut self.lists[list];
        entry.submitted = now;
        if O::LISTENS || entry.spreads || self.copy_back_runs.are_possible() {
            let mut next = Some(first);
            while let Some(command) = next {
                self.dies[self.commands[command].die.index()].unfinished += 1 + self.commands[command].behind;
                self.notify(now, command, Stop::Submitted);
                next = self.commands[command].sibling;
            }
        } else {
            self.dies[self.commands[first].die.index()].unfinished += entry.remaining;
        }
        let command = &self.commands[first];
        self.send_to_controller(now, list, (command.die.get(), command.collects()), events);
    }

    /// Lets a list have its controller, now or later. The die and whether it collects are those of its first command.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller for commands and one for copies.
    pub(super) fn send_to_controller<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        list: Handle<List>,
        (die, collects): (u32, bool),
        events: &mut EventQueue<E>,
    ) {
        let class = self.arbitration.commands.queue(self.lists[list].class, collects);
        let controller = match self.controllers_kind {
            Controllers::None => return self.dispatch(now, list, events),
            Controllers::PerDie => die,
            Controllers::PerChannel => self.dies[die as usize].channel,
            Controllers::Shared(_) if self.transfer == Transfer::Controller => {
                self.shared.push(&mut self.lists, class, list);
                return self.assign(now, events);
            }
            Controllers::Background(_) if self.lists[list].class == Class::HostRead => FOREGROUND,
            Controllers::Shared(_) | Controllers::Background(_) => {
                let all = self.controllers.iter().enumerate().skip(self.first_shared());
                match all.clone().find(|(_, controller)| controller.list.is_none()) {
                    Some((free, _)) => free as u32,
                    None => return self.shared.push(&mut self.lists, class, list),
                }
            }
        };
        if self.controllers[controller as usize].list.is_none() {
            self.occupy(now, controller, list, events);
        } else {
            self.controllers[controller as usize].queue.push(&mut self.lists, class, list);
        }
    }

    /// The first controller that takes any list: behind the foreground controller, if there is one.
    const fn first_shared(&self) -> usize {
        matches!(self.controllers_kind, Controllers::Background(_)) as usize
    }

    /// Executes a list at once, in its order as far as the dependencies allow.
    fn run_at_once(&mut self, list: Handle<List>) {
        while self.lists[list].remaining > 0 {
            let before = self.lists[list].remaining;
            let mut next = self.lists[list].first;
            while let Some(command) = next {
                if self.commands[command].behind > 0 {
                    self.copy_all(command);
                }
                next = self.commands[command].sibling;
                if self.commands[command].waits > 0 || self.commands[command].done {
                    continue;
                }
                self.take_effect(command);
                self.pass_on(command);
                self.count(command);
                self.commands[command].done = true;
                for then in self.commands[command].then.into_iter().flatten() {
                    self.commands[then].waits -= 1;
                }
                self.lists[list].remaining -= 1;
            }
            assert!(self.lists[list].remaining < before, "commands of a list wait for each other");
        }
        self.finished.push_back(list);
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
        let taker = &mut self.controllers[controller as usize];
        taker.list = Some(list);
        taker.since = now;
        if O::LISTENS {
            let cause = self.lists[list].first.map(|first| self.commands[first].cause);
            let cause = cause.expect("a list of at least one command");
            self.observer.controller(now, controller, Some((list.number().get(), cause)));
        }
        let waiting = &mut self.lists[list];
        waiting.take_controller(controller);
        if now > waiting.submitted {
            waiting.wait = now - waiting.submitted;
            if let Some(cause) = taker.last {
                waiting.waited_for.insert(cause);
            }
        }
        self.dispatch(now, list, events);
    }

    /// Sends the commands without open dependencies to their dies.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller with controllers and one without.
    fn dispatch<E: From<Event> + Copy>(&mut self, now: Time, list: Handle<List>, events: &mut EventQueue<E>) {
        let entry = &mut self.lists[list];
        entry.dispatched = true;
        if let Some(copies) = entry.copies() {
            if self.media.cannot_fail() {
                return self.begin_copies(now, list, copies, events);
            }
            self.write_out(copies.set, Some(events));
        }
        let entry = &self.lists[list];
        let (first, spreads) = (entry.first, entry.spreads);
        if spreads || self.intervenes || self.timing.cache_across {
            return self.dispatch_widely(now, first, events);
        }
        // All commands are queued before the first starts, so that the die sees whether the next one can follow in
        // cache mode. A lone one needs no queue.
        let (mut ready, mut queued) = (None, false);
        let mut next = first;
        while let Some(handle) = next {
            let command = &self.commands[handle];
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
                self.next_command(now, self.commands[last].die.get(), events);
            }
            Some(alone) => self.send_to_die(now, alone, events),
            None => {}
        }
    }

    /// The same for a list of several dies, or where a die may begin or take in something although it is occupied.
    #[inline(never)]
    fn dispatch_widely<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        first: Option<Handle<Command>>,
        events: &mut EventQueue<E>,
    ) {
        if let Some(alone) = first.filter(|first| self.commands[*first].sibling.is_none()) {
            if self.commands[alone].waits == 0 {
                self.send_to_die(now, alone, events);
            }
            return;
        }
        let mut next = first;
        while let Some(handle) = next {
            next = self.commands[handle].sibling;
            if self.commands[handle].waits == 0 {
                self.enqueue(now, handle, events);
            }
        }
        let mut next = first;
        while let Some(handle) = next {
            next = self.commands[handle].sibling;
            self.next_command(now, self.commands[handle].die.get(), events);
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
        let die = self.commands[handle].die;
        let state = &self.dies[die.index()];
        if !self.issues && state.is_idle() {
            self.commands[handle].ready = now;
            self.notify(now, handle, Stop::Ready);
            return self.begin(now, handle, events);
        }
        self.enqueue(now, handle, events);
        self.next_command(now, die.get(), events);
    }

    #[inline]
    pub(super) fn enqueue<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let command = &mut self.commands[handle];
        command.ready = now;
        let die = command.die.get();
        if self.copy_back_runs.is_under_way(die) {
            self.interrupt_run(now, die, events);
        }
        let command = &self.commands[handle];
        let reordered = self.planted.is(Bug::BlockReordered) && !command.cause.is_of_host();
        let class = self.arbitration.commands.queue(command.class, command.collects() || reordered);
        let die = command.die.index();
        self.dies[die].queue.push(&mut self.commands, class, handle);
        self.notify(now, handle, Stop::Ready);
    }
}
