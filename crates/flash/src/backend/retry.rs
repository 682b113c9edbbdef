//! Read retry: data that a decoder cannot correct is read again, with the next step of the part's retry table, and in
//! the end several times for soft decoding.
//!
//! The media draw the errors of a read when its array begins ([`crate::nand::ErrorModel`]). So the backend knows how
//! many attempts the read will take, and the drive learns it attempt by attempt. When the decoder has failed, the
//! command goes back to its die, before all others of its queue, and repeats all its phases: command cycles, array,
//! transfer, decoder. Each phase takes as long as in the first attempt, plus the array time of the step, so the laws of
//! the accounts hold unchanged. An attempt sends all data of its command again, even data of several pages. It may
//! suspend a program or an erase like any other read. Between two attempts the die serves commands of earlier queues.
//! Retries of planes that read by themselves come behind commands for the whole die that have waited longer.
//!
//! Reads with time off, scans of spare areas and blank reads have no errors.

use base::engine::{EventQueue, Handle};
use base::units::{Span, Time};

use super::command::Preparation;
use super::planted::Bug;
use super::read_attempts::Attempts;
use super::{Backend, Command, CommandState, Event, Primitive, Stop};
use crate::nand::Attempt;

impl Backend {
    /// Draws the errors of a read that begins, unless it is a retry. Marks data that stays uncorrectable as lost.
    #[cold]
    #[inline(never)]
    pub(super) fn draw_errors(&mut self, now: Time, handle: Handle<Command>) {
        let Self { rules, media, table, .. } = self;
        let Some(model) = &rules.errors else { return };
        let first = table.first_slot(handle);
        let command = &table.commands[handle];
        if command.blank || command.scanned > 0 || command.count == 0 {
            return;
        }
        let slots = &mut table.slots[first..first + command.count as usize];
        media.set_clock(now);
        let step = slots.iter().map(|slot| media.first_step(slot.psn)).max().unwrap_or(0);
        let codeword = model.decoding().sectors;
        let of_unit = media.geometry().sectors / codeword;
        // If only a part of the data crosses the channel, it is that of the first mapping units.
        let mut left = if command.sectors == 0 { u32::MAX } else { command.sectors.div_ceil(codeword) };
        let mut attempt = Attempt::Step(step);
        for slot in slots.iter_mut() {
            let codewords = of_unit.min(left);
            left -= codewords;
            let needed = media.attempt(slot.psn, step, codewords);
            if needed == Attempt::None {
                media.lose(slot.psn);
                slot.lost = true;
            }
            attempt = attempt.max(needed);
        }
        let retries = model.retries(step, attempt);
        table.attempts.set(handle, Attempts { first: step, failed: 0, retries, last: attempt });
        media.note_attempts(slots.iter().map(|slot| slot.psn), (retries, attempt));
    }

    /// After the last attempt of a read: remembers its step if it was a retry that succeeded.
    fn end_attempts(&mut self, handle: Handle<Command>, attempts: Attempts) {
        let Self { media, table, .. } = self;
        table.attempts.set(handle, Attempts::FIRST);
        if let Attempt::Step(step) = attempts.last
            && attempts.retries > 0
        {
            media.remember_step(table.slots_of(handle).iter().map(|slot| slot.psn), step);
        }
    }

    /// Array time of an attempt in addition to the time of a read without retry.
    pub(super) fn retry_time(&self, handle: Handle<Command>) -> Span {
        let Attempts { first, failed, .. } = self.table.attempts.of(handle);
        self.rules.errors.as_ref().map_or(Span::ZERO, |model| model.retry_time(first + failed))
    }

    /// The primitive of an array's work on a read: a first read or a retry.
    pub(super) fn read_primitive(&self, handle: Handle<Command>) -> Primitive {
        if self.table.attempts.of(handle).is_retry() { Primitive::Retry } else { Primitive::Read }
    }

    /// Sends a read back to its die if the decoder has failed on its data. Returns false if the data is correct or no
    /// attempt is left.
    #[inline]
    pub(super) fn retry<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) -> bool {
        let attempts = self.table.attempts.of(handle);
        if attempts.failed == attempts.retries {
            self.end_attempts(handle, attempts);
            return false;
        }
        self.table.attempts.set(handle, Attempts { failed: attempts.failed + 1, ..attempts });
        let command = &mut self.table.commands[handle];
        (command.state, command.ready, command.copied) = (CommandState::Queued, now, false);
        command.preparation = Preparation::None;
        let (op, cause, unit) = (command.op, command.cause, command.unit);
        self.account.at(op, cause).retries += 1;
        if self.rules.planted.is(Bug::RetryAtTheDecoder) {
            return self.retry(now, handle, events);
        }
        let class = self.class_at_die(handle);
        self.dies[unit as usize].queue.push_front(&mut self.table.commands, class, handle);
        self.notify(now, handle, Stop::Ready);
        self.next_command(now, unit, events);
        true
    }
}
