//! A channel carries one transfer at a time, and may be kept by the command between its transfers.

use crate::nand::Sector;
use base::engine::{EventQueue, Handle};
use base::units::{Bytes, Span, Time};

use super::queue::CLASSES;
use super::{Backend, BusOrder, Class, Command, Event, Observer, Phase, Primitive, Resource, Stage, Transfer};

impl Stage {
    /// The queue of a command at this stage. Only the stage decides; [`BusOrder::ReadFirst`] also asks for the class.
    #[inline]
    const fn under(self, order: BusOrder) -> usize {
        match (order, self) {
            (BusOrder::Fifo, _)
            | (BusOrder::CommandFirst, Self::Command | Self::DataIn | Self::Patch | Self::Status)
            | (BusOrder::DataFirst, Self::DataOut) => 0,
            (BusOrder::CommandFirst | BusOrder::DataFirst | BusOrder::ReadFirst, _) => CLASSES - 1,
        }
    }

    pub(super) const fn primitive(self) -> Primitive {
        match self {
            Self::Command => Primitive::Command,
            Self::Status => Primitive::Status,
            Self::DataIn | Self::Patch => Primitive::DataIn,
            Self::DataOut => Primitive::DataOut,
        }
    }
}

impl<S: Sector, O: Observer> Backend<S, O> {
    /// The channel of a command: the bus of its die, or the link of its controller.
    #[inline]
    pub(super) fn channel_of(&self, handle: Handle<Command>) -> u32 {
        let command = &self.commands[handle];
        match self.transfer {
            Transfer::Bus => self.dies[command.die.index()].channel,
            Transfer::Controller => self.lists[command.list].controller().expect("a command under way has a unit"),
        }
    }

    /// Lets a command have its channel for a transfer, now or later. Every command passes here, most find the channel
    /// free: a call of its own would cost it 25 instructions.
    #[inline(always)]
    #[allow(clippy::inline_always)] // See above.
    pub(super) fn request_bus<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        stage: Stage,
        events: &mut EventQueue<E>,
    ) {
        let command = &mut self.commands[handle];
        command.stage = stage;
        command.ready = now;
        let number = self.channel_of(handle);
        let channel = &self.channels[number as usize];
        // A command that keeps the channel holds it already.
        if channel.current.is_none_or(|current| current == handle) {
            return self.transfer(now, number, handle, events);
        }
        self.wait_for_channel(now, number, handle, events);
    }

    /// The queue of a command on its channel.
    pub(super) fn class_on_channel(&self, handle: Handle<Command>) -> usize {
        match self.arbitration.bus {
            BusOrder::ReadFirst => self.urgency(handle),
            order => self.commands[handle].stage.under(order),
        }
    }

    #[inline(never)]
    fn wait_for_channel<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        self.settle(now, number, events);
        let class = self.class_on_channel(handle);
        self.channels[number as usize].queue.push(&mut self.commands, class, handle);
        if self.by_pages && self.commands[handle].class == Class::HostRead {
            self.channels[number as usize].host_reads += 1;
            self.shorten(now, number, events);
        }
    }

    /// Begins a transfer.
    #[inline(never)]
    pub(super) fn transfer<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) {
        let pages = self.by_pages && {
            let command = &self.commands[handle];
            command.stage == Stage::DataIn && command.sectors == 0
        };
        let (time, bytes) = if pages {
            if !self.channels[number as usize].quiet.is_empty() {
                self.wake_quiet_ends(number, events);
            }
            let until = self.crosses_until(number, handle);
            self.channels[number as usize].crosses = until;
            self.crossing(self.commands[handle].crossed, until)
        } else {
            self.in_one_piece(handle)
        };
        let command = &mut self.commands[handle];
        let channel = &mut self.channels[number as usize];
        if now > command.ready {
            command.wait += now - command.ready;
            if let Some(cause) = channel.last {
                self.lists[command.list].waited_for.insert(cause);
            }
        }
        let until = now + time;
        if channel.busy_until <= now && !pages {
            channel.busy_until = until;
        }
        channel.current = Some(handle);
        channel.last = Some(command.cause);
        channel.bytes = bytes;
        let generation = channel.meter.begin(now, until);
        self.observer.phase(Phase {
            resource: Resource::Channel(number),
            die: command.die.get(),
            primitive: command.stage.primitive(),
            op: command.op,
            cause: command.cause,
            command: handle.number().get(),
            ready: command.ready,
            from: now,
            until,
        });
        events.push(until, Event::Bus { channel: number, generation }.into());
        if self.commands[handle].stage == Stage::DataIn {
            self.fetch_target(handle);
        }
        if self.correction.is_some() && self.commands[handle].stage == Stage::DataOut {
            self.expect_codewords(handle, number, (now, until, generation), events);
        }
    }

    /// The time and the bytes of a transfer that nothing may interrupt.
    #[inline]
    pub(super) fn in_one_piece(&self, handle: Handle<Command>) -> (Span, Bytes) {
        let cycles = if self.data_only { Span::ZERO } else { self.cycles(handle) };
        let command = &self.commands[handle];
        if matches!(command.stage, Stage::Command | Stage::Status) {
            return (cycles, Bytes::default());
        }
        let (data, bytes) = match command.sectors {
            0 => (self.timing.transfer[command.count as usize], self.timing.slot_bytes * u64::from(command.count)),
            part => (self.timing.sectors[part as usize], self.timing.bytes_of(part)),
        };
        (data + cycles, bytes)
    }

    /// Ends a phase of a channel, and charges it to its command.
    #[inline]
    pub(super) fn charge_channel(&mut self, now: Time, number: u32) -> Handle<Command> {
        let channel = &mut self.channels[number as usize];
        let handle = channel.current.expect("a channel that works has a command");
        let command = &self.commands[handle];
        let tally = self.account.at(command.op, command.cause);
        tally.bus += channel.meter.end(now);
        tally.bytes += std::mem::take(&mut channel.bytes);
        handle
    }

    /// Frees a channel and begins the next transfer.
    #[inline]
    pub(super) fn free_channel<E: From<Event> + Copy>(&mut self, now: Time, number: u32, events: &mut EventQueue<E>) {
        let channel = &mut self.channels[number as usize];
        channel.current = None;
        if let Some(next) = channel.queue.pop(&self.commands) {
            if self.by_pages && self.commands[next].class == Class::HostRead {
                channel.host_reads -= 1;
            }
            self.transfer(now, number, next, events);
        }
    }

    /// Keeps the channel of a command while its array works (Seong et al., Fig. 7a). The time is charged when the
    /// array is done.
    pub(super) fn keep_channel(&mut self, handle: Handle<Command>, until: Time) {
        let command = &self.commands[handle];
        let number = self.channel_of(handle);
        let channel = &mut self.channels[number as usize];
        let from = channel.meter.until();
        channel.meter.begin(from, until);
        self.observer.phase(Phase {
            resource: Resource::Channel(number),
            die: command.die.get(),
            primitive: Primitive::Hold,
            op: command.op,
            cause: command.cause,
            command: handle.number().get(),
            ready: from,
            from,
            until,
        });
    }
}
