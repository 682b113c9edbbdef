//! When things happen: command lists, units, dies and buses.
//!
//! The FTL builds a [`List`] of commands with dependencies, hands it in and hears of it again when it
//! is finished. In between the list waits for a high-level unit, its commands wait for their dies, and
//! their data waits for the channel; what goes first is [`Arbitration`]'s to say.

mod account;
mod cause;
mod channel;
mod command;
mod config;
mod effect;
mod execute;
mod forward;
mod hold;
mod meter;
mod mode;
mod observe;
mod power;
mod processor;
mod queue;
mod refuse;
mod serial;
#[cfg(test)]
mod tests;

pub use account::{Account, Tally};
pub use cause::{Cause, CauseSet, Op};
pub use command::{Class, Command, List, Slot, SlotRef};
pub use config::{Arbitration, BusOrder, Config, ConfigError, Controllers, Order, Timing, Transfer};
pub use mode::ModeTimes;
pub use observe::{Level, Moment, Observer, Phase, Primitive, RequestStep, Resource, Stop};

use std::collections::VecDeque;

use crate::nand::{Geometry, Media, Sector, Stream, Target};
use base::engine::{Handle, Slab};
use base::units::{Bytes, DieId, Span, SuperblockId, Time};

use command::Stage;
use meter::Meter;
use processor::Processor;
use queue::Queue;

/// Something that happens in the backend at a time of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The array of a die finished what it was doing.
    Array {
        /// The die.
        die: u32,
        /// Which of its phases ends: the event of one that was broken off is dropped.
        generation: u16,
    },
    /// A channel finished a transfer.
    Bus {
        /// The channel.
        channel: u32,
        /// Which of its phases ends.
        generation: u16,
    },
    /// The processor finished what it was doing.
    Processor {
        /// Which of its phases ends.
        generation: u16,
    },
}

/// The flash array and everything that keeps it busy. `S` is what a sector holds, `O` who watches.
#[derive(Clone, Debug)]
pub struct Backend<S, O = ()> {
    media: Media<S>,
    timing: Timing,
    arbitration: Arbitration,
    forwards: bool,
    /// Something stands between a die and what waits for it: a forwarder or a software unit.
    intervenes: bool,
    commands: Slab<Command>,
    lists: Slab<List>,
    /// `slots_per_command` entries for every place of `commands`.
    slots: Vec<Slot>,
    slots_per_command: u32,
    /// The content of `slots`, one mapping unit each; empty if there is none.
    payload: Vec<S>,
    /// One mapping unit, to read a page under what is already in `payload`.
    scratch: Vec<S>,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    controllers: Vec<Controller>,
    shared: Queue<List>,
    controllers_kind: Controllers,
    processor: Processor,
    transfer: Transfer,
    finished: VecDeque<Handle<List>>,
    failures: refuse::Failures,
    /// The list that is carried out where one comes after the other.
    serial: Option<serial::Serial>,
    account: Account,
    timed: bool,
    observer: O,
}

/// A die: an array and a register (in cache mode the register works while the array does).
#[derive(Clone, Debug)]
struct Die {
    channel: u32,
    /// The command that has the array, waiting for its command cycles, working, or done and held back
    /// because the register is still occupied.
    array: Option<Handle<Command>>,
    held: bool,
    /// The command whose data is in the register, on its way in or out.
    register: Option<Handle<Command>>,
    /// The register holds a whole page that waits for the array.
    loaded: bool,
    queue: Queue<Command>,
    unfinished: u32,
    last: Option<Cause>,
    /// What the array works.
    meter: Meter,
    /// Lists under way in units that have commands for it, counted where that matters.
    held_by: u32,
}

#[derive(Clone, Debug)]
struct Channel {
    current: Option<Handle<Command>>,
    queue: Queue<Command>,
    last: Option<Cause>,
    meter: Meter,
    /// What crosses in the phase under way.
    bytes: Bytes,
}

/// A high-level controller: executes one command list at a time.
#[derive(Clone, Debug)]
struct Controller {
    list: Option<Handle<List>>,
    queue: Queue<List>,
    last: Option<Cause>,
    busy: Span,
    since: Time,
}

impl<S: Sector, O: Observer> Backend<S, O> {
    /// A backend over `media`.
    #[must_use]
    pub fn new(media: Media<S>, config: &Config, observer: O) -> Self {
        let geometry = media.geometry();
        let per_channel = geometry.chips * geometry.dies;
        let die = |i: u32| Die {
            channel: i / per_channel,
            array: None,
            held: false,
            register: None,
            loaded: false,
            queue: Queue::default(),
            unfinished: 0,
            last: None,
            meter: Meter::default(),
            held_by: 0,
        };
        let channel = Channel {
            current: None,
            queue: Queue::default(),
            last: None,
            meter: Meter::default(),
            bytes: Bytes::default(),
        };
        let controller =
            Controller { list: None, queue: Queue::default(), last: None, busy: Span::ZERO, since: Time::ZERO };
        let controllers = match config.controllers {
            Controllers::None => 0,
            Controllers::PerDie => geometry.die_count(),
            Controllers::PerChannel => geometry.channels,
            Controllers::Shared(count) => count,
            Controllers::Background(count) => 1 + count,
        };
        Self {
            dies: (0..geometry.die_count()).map(die).collect(),
            channels: match config.transfer {
                Transfer::Bus => vec![channel; geometry.channels as usize],
                Transfer::Controller => vec![channel; controllers as usize],
            },
            controllers: vec![controller; controllers as usize],
            shared: Queue::default(),
            controllers_kind: config.controllers,
            transfer: config.transfer,
            slots_per_command: geometry.row_slots() * config.timing.one_shot,
            timing: config.timing.clone(),
            arbitration: config.arbitration,
            forwards: config.arbitration.forwards(),
            intervenes: config.arbitration.forwards() || config.software.is_some(),
            commands: Slab::default(),
            lists: Slab::default(),
            slots: Vec::new(),
            payload: Vec::new(),
            scratch: vec![S::default(); if S::PRESENT { geometry.sectors as usize } else { 0 }],
            processor: Processor::new(config.software),
            finished: VecDeque::new(),
            failures: refuse::Failures::default(),
            serial: None,
            account: Account::default(),
            timed: true,
            observer,
            media,
        }
    }

    /// Bytes that a backend over such an array takes, besides those of the media.
    #[must_use]
    pub fn memory(geometry: &Geometry, config: &Config) -> u64 {
        let (dies, channels) = (u64::from(geometry.die_count()), u64::from(geometry.channels));
        let controllers = match config.controllers {
            Controllers::None => 0,
            Controllers::PerDie => dies,
            Controllers::PerChannel => channels,
            Controllers::Shared(count) => u64::from(count),
            Controllers::Background(count) => 1 + u64::from(count),
        };
        let buses = if config.transfer == Transfer::Controller { controllers } else { channels };
        let slots = u64::from(geometry.row_slots()) * u64::from(config.timing.one_shot);
        let slot = size_of::<Slot>() as u64 + u64::from(geometry.sectors) * size_of::<S>() as u64;
        // A command for each die is under way, or those of some requests.
        let commands = dies.max(64) * (size_of::<Command>() as u64 + size_of::<List>() as u64 + slots * slot);
        // The tables of times are in the description too.
        dies * size_of::<Die>() as u64
            + buses * size_of::<Channel>() as u64
            + controllers * size_of::<Controller>() as u64
            + commands
            + 2 * config.timing.memory()
    }

    /// The array's shape.
    #[must_use]
    #[inline]
    pub const fn geometry(&self) -> &Geometry {
        self.media.geometry()
    }

    /// The flash itself.
    #[must_use]
    #[inline]
    pub const fn media(&self) -> &Media<S> {
        &self.media
    }

    /// The flash itself, to retire blocks and plan faults.
    pub const fn media_mut(&mut self) -> &mut Media<S> {
        &mut self.media
    }

    /// How long things take.
    #[must_use]
    pub const fn timing(&self) -> &Timing {
        &self.timing
    }

    /// Whoever watches.
    #[must_use]
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    /// Whoever watches, to be told something.
    #[inline]
    pub const fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Tells whoever watches where a command is.
    #[inline]
    fn notify(&mut self, at: Time, handle: Handle<Command>, stop: Stop) {
        if O::LISTENS {
            let command = &self.commands[handle];
            let first = handle.index() * self.slots_per_command as usize;
            let slots = self.slots.get(first..first + command.count as usize).unwrap_or_default();
            self.observer.command(Moment::new(at, stop, handle, command, slots));
        }
    }

    /// Switches time on or off. With time off a list is finished as soon as it is submitted: the same
    /// FTL then fills a drive without simulating when.
    ///
    /// # Panics
    /// If anything is under way.
    pub fn set_timed(&mut self, timed: bool) {
        assert!(self.is_at_rest(), "time is switched while commands are under way");
        self.timed = timed;
    }

    /// True if time is on.
    #[must_use]
    #[inline]
    pub const fn is_timed(&self) -> bool {
        self.timed
    }

    /// Slots that one command may carry: those of a row, or of a word line's rows.
    #[must_use]
    pub const fn slots_per_command(&self) -> u32 {
        self.slots_per_command
    }

    /// Commands submitted to a die and not finished.
    #[must_use]
    #[inline]
    pub fn load(&self, die: DieId) -> u32 {
        self.dies[die.index()].unfinished
    }

    /// Everything up to `now`, by operation and cause: commands as they finish, times as they pass, bytes with the
    /// transfer that moves them.
    #[must_use]
    pub fn account(&self, now: Time) -> Account {
        let mut account = self.account;
        for die in &self.dies {
            if let Some(handle) = die.array {
                let command = &self.commands[handle];
                account.at(command.op, command.cause).array += die.meter.worked(now);
            }
        }
        for channel in &self.channels {
            if let Some(handle) = channel.current {
                let command = &self.commands[handle];
                let tally = account.at(command.op, command.cause);
                tally.bus += channel.meter.worked(now);
                tally.bytes += channel.bytes;
            }
        }
        account
    }

    /// Forgets what was counted, e.g. after preconditioning.
    ///
    /// # Panics
    /// If anything is under way.
    pub fn reset_account(&mut self) {
        assert!(self.is_at_rest(), "counters are reset while commands are under way");
        self.account = Account::default();
        self.dies.iter_mut().for_each(|die| die.meter.reset());
        self.channels.iter_mut().for_each(|channel| channel.meter.reset());
        self.controllers.iter_mut().for_each(|controller| controller.busy = Span::ZERO);
        self.processor.reset();
    }

    /// Time each die's array worked until `now`.
    pub fn die_busy(&self, now: Time) -> impl Iterator<Item = Span> + '_ {
        self.dies.iter().map(move |die| die.meter.busy(now))
    }

    /// Time each channel was held until `now`.
    pub fn channel_busy(&self, now: Time) -> impl Iterator<Item = Span> + '_ {
        self.channels.iter().map(move |channel| channel.meter.busy(now))
    }

    /// Time each unit held a list until `now`; the foreground unit, if there is one, is the first.
    pub fn controller_busy(&self, now: Time) -> impl Iterator<Item = Span> + '_ {
        self.controllers.iter().map(move |controller| {
            controller.busy
                + if controller.list.is_some() { now.saturating_since(controller.since) } else { Span::ZERO }
        })
    }

    /// Begins a command list. `tag` is the FTL's own and comes back with the list.
    #[inline]
    pub fn open_list(&mut self, class: Class, tag: u32) -> Handle<List> {
        self.lists.insert(List::new(class, tag, self.failures.reported()))
    }

    /// Adds a read of slots in one row of a superblock, to be named with [`Backend::push_slot`].
    #[inline]
    pub fn add_read(&mut self, list: Handle<List>, cause: Cause, superblock: SuperblockId) -> Handle<Command> {
        self.add(list, Op::Read, cause, Target { superblock, offset: 0 }, Stream::Host)
    }

    /// Adds a program from `target` on, its slots to be filled with [`Backend::push_slot`].
    #[inline]
    pub fn add_program(&mut self, list: Handle<List>, cause: Cause, target: Target, stream: Stream) -> Handle<Command> {
        self.add(list, Op::Program, cause, target, stream)
    }

    /// Adds a copy-back to `target`; each slot names its source.
    pub fn add_copy_back(&mut self, list: Handle<List>, cause: Cause, target: Target) -> Handle<Command> {
        self.add(list, Op::CopyBack, cause, target, Stream::Copies)
    }

    /// Adds an erase.
    pub fn add_erase(&mut self, list: Handle<List>, cause: Cause, superblock: SuperblockId) -> Handle<Command> {
        self.add(list, Op::Erase, cause, Target { superblock, offset: 0 }, Stream::Host)
    }

    #[inline]
    fn add(&mut self, list: Handle<List>, op: Op, cause: Cause, target: Target, stream: Stream) -> Handle<Command> {
        let die = self.geometry().die_of(target.superblock);
        let class = self.lists[list].class;
        let handle = self.commands.insert(Command::new(op, cause, die, target, stream, list, class));
        let needed = self.commands.places() * self.slots_per_command as usize;
        if self.slots.len() < needed {
            self.slots.resize(needed, Slot::default());
            if S::PRESENT {
                let sectors = self.geometry().sectors as usize;
                self.payload.resize(needed * sectors, S::default());
            }
        }
        let list = &mut self.lists[list];
        list.remaining += 1;
        match list.last.replace(handle) {
            Some(last) => self.commands[last].sibling = Some(handle),
            None => list.first = Some(handle),
        }
        handle
    }

    /// Adds a slot to a command, with its payload cleared.
    ///
    /// # Panics
    /// If the command carries as many slots as it can.
    #[inline]
    pub fn push_slot(&mut self, command: Handle<Command>, slot: Slot) -> SlotRef {
        let count = self.commands[command].count;
        assert!(count < self.slots_per_command, "more slots than one command carries");
        self.commands[command].count = count + 1;
        let place = command.index() * self.slots_per_command as usize + count as usize;
        self.slots[place] = slot;
        if S::PRESENT {
            self.payload_of(SlotRef(place as u32)).fill(S::default());
        }
        SlotRef(place as u32)
    }

    /// The payload of a slot: one entry per sector, none if the device has no payload.
    pub fn payload_of(&mut self, slot: SlotRef) -> &mut [S] {
        if !S::PRESENT {
            return &mut [];
        }
        let sectors = self.media.geometry().sectors as usize;
        &mut self.payload[slot.0 as usize * sectors..][..sectors]
    }

    /// Lets `program` take what `read` read: its slot `to` gets the payload of `from` where its own mask
    /// has no sectors yet, and its spare data unless it has its own. `program` waits for `read`.
    pub fn forward(&mut self, read: Handle<Command>, from: SlotRef, program: Handle<Command>, to: SlotRef) {
        self.slots[from.0 as usize].forward = Some(to);
        self.depend(read, program);
    }

    /// Lets `second` start only after `first` has finished. They may be of different lists, as long as that
    /// of `first` is handed in first.
    ///
    /// # Panics
    /// If three commands depend on `first`: no more than two may.
    pub fn depend(&mut self, first: Handle<Command>, second: Handle<Command>) {
        if self.commands[first].done {
            return;
        }
        let (before, behind) = (self.commands[first].list, self.commands[second].list);
        if before != behind {
            self.lists[before].leads = true;
            self.lists[behind].follows = true;
        }
        let then = &mut self.commands[first].then;
        if then.contains(&Some(second)) {
            return;
        }
        let free = then.iter_mut().find(|place| place.is_none()).expect("at most two commands wait for one");
        *free = Some(second);
        self.commands[second].waits += 1;
    }

    /// Lets a command move so many sectors over the channel, with their share of the spare bytes, and not all its
    /// slots: for a read of a part of them (random data out), or a program that is given the rest. They are spread
    /// over all lanes of a channel: if one lane has more than the others, count each for as many.
    ///
    /// A copy-back with sectors is three phases on its die: the array reads, the sectors come in, the array programs
    /// (Seong et al., Sec. 2.1). Sectors in the `mask` of a slot come from its payload, the others from its source;
    /// an `expected` slot has a version of its own and otherwise that of its source, like a program that takes what a
    /// read gives. The channel is free while the array works.
    ///
    /// # Panics
    /// If it is none, or more than its slots have.
    pub fn set_sectors(&mut self, command: Handle<Command>, sectors: u32) {
        let all = self.commands[command].count * self.geometry().sectors;
        assert!((1..=all).contains(&sectors), "{sectors} of {all} sectors to move");
        self.commands[command].sectors = sectors;
    }

    /// Slots that the program leaves unused beyond the ones it carries; they count as padding.
    pub fn set_padding(&mut self, command: Handle<Command>, slots: u32) {
        self.commands[command].padding = slots;
    }

    /// A list.
    #[must_use]
    #[inline]
    pub fn list(&self, list: Handle<List>) -> &List {
        &self.lists[list]
    }

    /// A command.
    #[must_use]
    #[inline]
    pub fn command(&self, command: Handle<Command>) -> &Command {
        &self.commands[command]
    }

    /// The slots of a command, in order, and where their payload is.
    #[inline]
    pub fn slots(&self, command: Handle<Command>) -> impl Iterator<Item = (SlotRef, Slot)> + '_ {
        let first = command.index() * self.slots_per_command as usize;
        let range = first..first + self.commands[command].count as usize;
        range.map(|place| (SlotRef(place as u32), self.slots[place]))
    }

    /// One slot of a command.
    #[must_use]
    #[inline]
    pub fn slot(&self, command: Handle<Command>, i: u32) -> (SlotRef, Slot) {
        let place = command.index() * self.slots_per_command as usize + i as usize;
        (SlotRef(place as u32), self.slots[place])
    }

    /// The next list that has finished, in the order in which they did. With it the FTL hears which of its programs failed:
    /// what it asks of their blocks in lists that it opens from now on, it asks knowingly.
    #[inline]
    pub fn take_finished(&mut self) -> Option<Handle<List>> {
        let list = self.finished.pop_front()?;
        self.report_failures(list);
        Some(list)
    }

    /// True if [`Backend::take_finished`] or [`Backend::take_cpu_done`] has something to give.
    #[must_use]
    #[inline]
    pub fn has_ready(&self) -> bool {
        !self.finished.is_empty() || self.processor.has_cpu_done()
    }

    /// Forgets a finished list and its commands.
    #[inline]
    pub fn release(&mut self, list: Handle<List>) {
        let mut next = self.lists[list].first;
        while let Some(command) = next {
            next = self.commands[command].sibling;
            self.commands.remove(command);
        }
        self.lists.remove(list);
    }

    /// True if nothing works, and nothing waits to be looked at. There may be finished lists that an FTL keeps for what
    /// is in their buffers.
    fn is_at_rest(&self) -> bool {
        let works = self.dies.iter().any(|die| die.unfinished > 0) || self.serial.is_some();
        !works && self.finished.is_empty() && self.processor.is_idle()
    }

    /// True if no list and no thought is under way or waits to be looked at.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.lists.is_empty() && self.processor.is_idle()
    }
}
