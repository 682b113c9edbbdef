//! The loss of power: commands that capacitors complete, and the cut.

use base::engine::Handle;
use base::units::Time;

use super::suspend::Tear;
use super::{Backend, Command, CommandState, List, Op};

impl Backend {
    /// Completes lists on capacitor power, before [`Backend::cut_power`]: commands that have begun end, and the others
    /// follow in the order of their dependencies. Faults are off meanwhile: a program that fails at that very moment is
    /// not modelled.
    pub fn save(&mut self, now: Time, lists: &[Handle<List>]) {
        self.settle_runs(now);
        self.media.faults_mut().suspend(true);
        let mut more = true;
        while std::mem::take(&mut more) {
            for list in lists {
                let mut next = self.table.lists[*list].first;
                while let Some(command) = next {
                    next = self.table.commands[command].sibling;
                    if self.table.commands[command].waits > 0 || self.table.commands[command].is_done() {
                        continue;
                    }
                    if !self.table.commands[command].effected {
                        self.take_effect(command);
                    }
                    self.copy_rest(command);
                    self.pass_on(command);
                    self.table.commands[command].state = CommandState::Done;
                    self.end_suspension(command);
                    for then in self.table.commands[command].then.into_iter().flatten() {
                        self.table.commands[then].waits -= 1;
                    }
                    more = true;
                }
            }
        }
        self.media.faults_mut().suspend(false);
    }

    /// Ends the suspension of a command that capacitors have completed, so that it is not torn.
    fn end_suspension(&mut self, command: Handle<Command>) {
        let &Command { op, target, .. } = &self.table.commands[command];
        let die = self.media.geometry().die_of(target.superblock).index();
        if let Some(suspension) = &mut self.dies[die].suspension {
            suspension.tear = suspension.tear.take().filter(|tear| (tear.op, tear.target) != (op, target));
        }
    }

    /// Cuts the power. Programs and erases under way are torn, and so are copy-backs in any of their phases. All
    /// waiting commands are lost; the media stay. Counters stay, and every phase under way is charged with its elapsed
    /// time; the event of its end is dropped.
    pub fn cut_power(&mut self, now: Time) {
        self.settle_runs(now);
        self.account = self.account(now);
        self.fast.events = self.quiet_ends(now);
        self.cut_serial(now);
        let copying = self.copies_being_programmed(now);
        for (number, die) in self.dies.iter_mut().enumerate() {
            let array = die.torn_by_cut(now, &self.table.commands).map(|handle| {
                let &Command { op, target, count, .. } = &self.table.commands[handle];
                Tear { op, target, count }
            });
            let suspended = die.suspension.as_ref().and_then(|suspension| suspension.tear);
            for Tear { op, target, count } in suspended.into_iter().chain(array) {
                match op {
                    Op::Read => {}
                    Op::Program | Op::CopyBack => self.media.tear_program(target, count),
                    Op::Erase => self.media.tear_erase(target.superblock),
                }
            }
            if let Some((_, target)) = copying.iter().find(|(die, _)| *die == number) {
                self.media.tear_program(*target, 1);
            }
            die.cut(now);
        }
        self.unfinished = 0;
        if let Some(cap) = &mut self.cap {
            cap.cut();
        }
        self.channels.iter_mut().for_each(|channel| channel.cut(now));
        self.controllers.cut(now);
        self.processor.cut(now);
        if let Some(decoders) = &mut self.decoders {
            decoders.cut(now, self.rules.planted);
        }
        self.fast.cut();
        self.table.clear();
        self.payload.clear();
    }
}
