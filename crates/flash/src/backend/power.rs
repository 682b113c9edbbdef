//! Power loss.

use crate::nand::Sector;
use base::engine::Handle;
use base::units::{Bytes, Time};

use super::{Backend, List, Observer, Op};

impl<S: Sector, O: Observer> Backend<S, O> {
    /// Completes lists on capacitor power, before [`Backend::cut_power`]: commands that have begun end, and the
    /// others follow in the order of their dependencies. Faults are off meanwhile: a program that fails at that very
    /// moment is not modelled.
    pub fn save(&mut self, now: Time, lists: &[Handle<List>]) {
        self.settle_runs(now);
        lists.iter().for_each(|list| self.write_serial_pages_out(*list));
        self.media.faults_mut().suspend(true);
        let mut more = true;
        while std::mem::take(&mut more) {
            for list in lists {
                let mut next = self.lists[*list].first;
                while let Some(command) = next {
                    next = self.commands[command].sibling;
                    if self.commands[command].waits > 0 || self.commands[command].done {
                        continue;
                    }
                    if !self.commands[command].effected {
                        self.take_effect(command);
                    }
                    self.copy_rest(command);
                    self.pass_on(command);
                    self.commands[command].done = true;
                    for then in self.commands[command].then.into_iter().flatten() {
                        self.commands[then].waits -= 1;
                    }
                    more = true;
                }
            }
        }
        self.media.faults_mut().suspend(false);
    }

    /// Cuts the power. Programs and erases under way are torn, and so are copy-backs in any of their phases. All
    /// waiting commands are lost; the media stay. The counters stay, and every phase under way is charged with its
    /// elapsed time; the event of its end is dropped.
    pub fn cut_power(&mut self, now: Time) {
        self.settle_runs(now);
        self.account = self.account(now);
        self.drop_quiet_ends(now);
        self.cut_turn(now);
        let copying = self.copies_being_programmed(now);
        for number in 0..self.dies.len() {
            let die = &mut self.dies[number];
            // An array whose time is not running has changed nothing.
            let working = die.array.filter(|handle| {
                let between_phases = self.commands[*handle].wants_data();
                !die.held && die.meter.works(now) || between_phases
            });
            let working = working.filter(|handle| !self.commands[*handle].done);
            let filling = die.register.filter(|handle| self.commands[*handle].op == Op::CopyBack);
            die.meter.end(now);
            if let Some(handle) = working.or(filling) {
                let (target, count) = (self.commands[handle].target, self.commands[handle].count);
                match self.commands[handle].op {
                    Op::Read => {}
                    Op::Program | Op::CopyBack => self.media.tear_program(target, count),
                    Op::Erase => self.media.tear_erase(target.superblock),
                }
            }
            if let Some((_, target)) = copying.iter().find(|(die, _)| *die == number) {
                self.media.tear_program(*target, 1);
            }
            let die = &mut self.dies[number];
            (die.array, die.register, die.held, die.loaded) = (None, None, false, false);
            (die.unnoticed, die.watch) = (false, die.watch.wrapping_add(1));
            die.queue.clear();
            (die.unfinished, die.held_by) = (0, 0);
            die.last = None;
        }
        for channel in &mut self.channels {
            channel.meter.end(now);
            channel.bytes = Bytes::default();
            channel.current = None;
            channel.queue.clear();
            channel.host_reads = 0;
            channel.last = None;
        }
        for controller in &mut self.controllers {
            if controller.list.take().is_some() {
                controller.busy += now - controller.since;
            }
            controller.queue.clear();
            controller.last = None;
        }
        self.processor.cut(now);
        if let Some(correction) = &mut self.correction {
            correction.cut(now, self.planted);
        }
        self.shared.clear();
        self.lists.clear();
        self.copies.clear();
        self.serial_pages.clear();
        self.commands.clear();
        self.slots.clear();
        self.payload.clear();
        self.finished.clear();
        self.failures.clear();
    }
}
