//! The backend times command lists on controllers, dies and channels.
//!
//! The FTL builds a [`List`] of commands with dependencies, submits it, and gets it back when it is finished. In
//! between, the list waits for a controller, its commands wait for their dies, and their data waits for the channel.
//! [`Arbitration`] decides which goes first.

mod account;
mod alone;
mod build;
mod cache;
mod cause;
mod channel;
mod command;
mod config;
mod copies;
mod copy_back_run;
mod copy_run;
mod cycles;
mod dispatch;
mod ecc;
mod effect;
mod execute;
mod forward;
mod hold;
mod meter;
mod mode;
mod observe;
mod pages;
mod payload;
mod plain;
mod planted;
mod power;
mod prefetch;
mod processor;
mod queue;
mod quiet;
mod refuse;
mod serial;
mod serial_copies;
mod serial_pages;
mod slots;
mod status;
#[cfg(test)]
mod tests;

pub use account::{Account, Tally};
pub use cause::{Cause, CauseSet, Op};
pub use command::{Class, Command, List, Slot, SlotRef};
pub use config::{
    Arbitration, BusOrder, Completion, Config, ConfigError, Controllers, Cycles, Order, Timing, Transfer,
};
pub use copies::CopySet;
pub use ecc::{Decoders, Ecc};
pub use mode::ModeTimes;
pub use observe::{Level, Moment, Observer, Phase, Primitive, RequestStep, Resource, Stop};
pub use payload::{Payload, SlotContent};
pub use planted::Bug;
pub use serial_pages::HostPage;

use std::collections::VecDeque;

use crate::nand::{Geometry, Media, Sector};
use base::engine::{EventHash, Handle, Slab};
use base::units::{Bytes, DieId, Span, Time};

use command::Stage;
use ecc::Correction;
use meter::Meter;
use processor::Processor;
use queue::Queue;

/// An event that the backend schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The array of a die ends a phase.
    Array {
        /// The die.
        die: u32,
        /// The number of the phase that ends. The backend drops the event of an aborted phase.
        generation: u16,
    },
    /// The status of a die is to be read.
    Poll {
        /// The die.
        die: u32,
        /// The number of the work that is watched.
        watch: u16,
    },
    /// A channel ends a transfer.
    Bus {
        /// The channel.
        channel: u32,
        /// The number of the phase that ends.
        generation: u16,
    },
    /// A codeword that is not the last of its command has crossed a channel.
    Codeword {
        /// The channel.
        channel: u32,
        /// The number of the channel's phase.
        generation: u16,
    },
    /// A decoder has taken a codeword in.
    Decoder {
        /// The decoder.
        decoder: u32,
        /// The number of the phase that ends.
        generation: u16,
    },
    /// The last codeword of a command comes out of its decoder.
    Decoded {
        /// The number of power cuts before it went in.
        cuts: u16,
    },
    /// A phase of page copies ends.
    Copies {
        /// The set of copies.
        set: u32,
        /// The number of the set's event. The backend drops one that another has replaced.
        generation: u16,
    },
    /// The processor ends a job.
    Processor {
        /// The number of the phase that ends.
        generation: u16,
    },
}

/// The flash array with its controllers, channels and processor. `S` is the content of a sector, `O` the observer.
#[derive(Clone, Debug)]
pub struct Backend<S, O = ()> {
    media: Media<S>,
    timing: Timing,
    arbitration: Arbitration,
    forwards: bool,
    /// The data of a program of several pages crosses the channel page by page.
    by_pages: bool,
    /// The time between two polls of a die's status.
    polls: Option<Span>,
    /// A status is read when an array is done.
    reads_status: bool,
    /// Nothing but data takes time on the channel.
    data_only: bool,
    /// The slots of a page, or of a page of each chip of a gang.
    page_slots: u32,
    /// A forwarder or software controllers decide when a waiting command may begin on its die.
    intervenes: bool,
    /// Software controllers do.
    issues: bool,
    /// A read is an array time and a transfer: it goes the short way, and its end may be quiet.
    plain: bool,
    /// The events that quiet ends would have been.
    quiet_hash: EventHash,
    commands: Slab<Command>,
    lists: Slab<List>,
    copies: copies::CopySets<S>,
    copy_back_runs: copy_back_run::CopyBackRuns,
    /// `slots_per_command` entries for every command of the slab.
    slots: Vec<Slot>,
    slots_per_command: u32,
    /// The content of `slots`, one mapping unit each; empty without a payload.
    payload: Payload<S>,
    /// One mapping unit: the target of a read whose sectors merge with those in `payload`.
    scratch: Vec<S>,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    controllers: Vec<Controller>,
    shared: Queue<List>,
    controllers_kind: Controllers,
    processor: Processor,
    /// Error correction: decoders behind the channels.
    correction: Option<Box<Correction>>,
    transfer: Transfer,
    finished: VecDeque<Handle<List>>,
    failures: refuse::Failures,
    /// The serial list under way.
    serial: Option<serial::Serial>,
    /// The times of its commands.
    serial_times: Vec<serial::Times>,
    /// Its pages without commands.
    serial_pages: serial_pages::SerialPages<S>,
    account: Account,
    timed: bool,
    planted: planted::Planted,
    observer: O,
}

/// A die: an array and a register. In cache mode both work at the same time.
#[derive(Clone, Debug)]
struct Die {
    channel: u32,
    /// The command that holds the array. It waits for its command cycles, or works, or is done and held back because
    /// the register is still occupied.
    array: Option<Handle<Command>>,
    held: bool,
    /// The command whose data is in the register, on its way in or out.
    register: Option<Handle<Command>>,
    /// The register holds a complete page that waits for the array.
    loaded: bool,
    queue: Queue<Command>,
    unfinished: u32,
    last: Option<Cause>,
    /// The working time of the array.
    meter: Meter,
    /// The array is done, and its controller has still to read that from the status.
    unnoticed: bool,
    /// The number of the work whose status is read again and again.
    watch: u16,
    /// Lists under way in controllers that have commands for this die. Counted only where chips are held.
    held_by: u32,
}

#[derive(Clone, Debug)]
struct Channel {
    current: Option<Handle<Command>>,
    queue: Queue<Command>,
    last: Option<Cause>,
    meter: Meter,
    /// Bytes that the transfer under way moves.
    bytes: Bytes,
    /// The slot behind those that cross in the transfer under way, if these are pages of a program.
    crosses: u32,
    /// Host reads that wait. Counted only where they go between the pages of a program.
    host_reads: u32,
    /// What it has to do at least after `latest`, where the latest of the reads ends that the arrays have begun, takes until
    /// then.
    busy_until: Time,
    latest: Time,
    /// Reads whose arrays are at work and whose ends are no events, in the order of these ends.
    quiet: VecDeque<quiet::QuietEnd>,
}

/// A controller: executes one command list at a time.
#[derive(Clone, Debug)]
struct Controller {
    list: Option<Handle<List>>,
    queue: Queue<List>,
    last: Option<Cause>,
    busy: Span,
    since: Time,
}

impl Die {
    /// True if it has nothing to do: no command holds it, and none waits.
    #[inline]
    fn is_idle(&self) -> bool {
        self.array.is_none() && self.register.is_none() && self.queue.is_empty()
    }
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
            unnoticed: false,
            watch: 0,
            held_by: 0,
        };
        let channel = Channel {
            current: None,
            queue: Queue::default(),
            last: None,
            meter: Meter::default(),
            bytes: Bytes::default(),
            crosses: 0,
            host_reads: 0,
            busy_until: Time::ZERO,
            latest: Time::ZERO,
            quiet: VecDeque::new(),
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
        let mut backend = Self {
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
            by_pages: config.arbitration.between_pages
                && !config.arbitration.hold
                && geometry.stripe * config.timing.one_shot > config.timing.gang,
            polls: match config.completion {
                Completion::Polling(interval) if !config.arbitration.hold => Some(interval),
                _ => None,
            },
            reads_status: config.completion != Completion::ReadyBusy || !config.timing.cycles.status.is_zero(),
            data_only: config.timing.is_data_only(),
            page_slots: geometry.slots * config.timing.gang,
            intervenes: config.arbitration.forwards() || config.software.is_some(),
            issues: config.software.is_some(),
            plain: false,
            quiet_hash: EventHash::NOTHING,
            commands: Slab::default(),
            lists: Slab::default(),
            copies: copies::CopySets::new(false),
            copy_back_runs: copy_back_run::CopyBackRuns::default(),
            slots: Vec::new(),
            payload: Payload::new(geometry.sectors),
            scratch: vec![S::default(); if S::PRESENT { geometry.sectors as usize } else { 0 }],
            processor: Processor::new(config.software),
            correction: Correction::new(
                config,
                geometry,
                if config.transfer == Transfer::Controller { controllers } else { geometry.channels },
            ),
            finished: VecDeque::new(),
            failures: refuse::Failures::default(),
            serial: None,
            serial_times: Vec::new(),
            serial_pages: serial_pages::SerialPages::default(),
            account: Account::default(),
            timed: true,
            planted: planted::Planted::default(),
            observer,
            media,
        };
        backend.copies = copies::CopySets::new(backend.takes_copies());
        backend.copy_back_runs = copy_back_run::CopyBackRuns::new(backend.takes_copy_back_runs(), backend.dies.len());
        // An observer sees the end of each read.
        backend.plain = !O::LISTENS && config.has_plain_reads();
        if config.has_plain_reads() {
            backend.channels.iter_mut().for_each(|channel| channel.quiet.reserve_exact(per_channel as usize));
        }
        backend
    }

    /// Plants a bug.
    #[cfg(feature = "sabotage")]
    pub const fn plant(&mut self, bug: Option<Bug>) {
        self.planted.bug = bug;
    }

    /// Bytes that a backend over such an array takes, without its media.
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
        let slot = size_of::<Slot>() as u64 + Payload::<S>::memory(geometry.sectors);
        // Assumes one command per die under way, or those of a few requests.
        let commands = dies.max(64) * (size_of::<Command>() as u64 + size_of::<List>() as u64 + slots * slot);
        // The description holds a second copy of the timing tables.
        dies * size_of::<Die>() as u64
            + buses * size_of::<Channel>() as u64
            + controllers * size_of::<Controller>() as u64
            + commands
            + Correction::memory(config, geometry, buses as u32)
            + config.quiet_memory(dies)
            + 2 * config.timing.memory()
    }

    /// The geometry of the flash array.
    #[must_use]
    #[inline]
    pub const fn geometry(&self) -> &Geometry {
        self.media.geometry()
    }

    /// The media.
    #[must_use]
    #[inline]
    pub const fn media(&self) -> &Media<S> {
        &self.media
    }

    /// The media, to retire blocks and plan faults.
    pub const fn media_mut(&mut self) -> &mut Media<S> {
        &mut self.media
    }

    /// True if collection goes before the commands of the host at the dies.
    #[must_use]
    #[inline]
    pub const fn collects_first(&self) -> bool {
        matches!(self.arbitration.commands, Order::CollectionFirst)
    }

    /// The times of commands and transfers.
    #[must_use]
    pub const fn timing(&self) -> &Timing {
        &self.timing
    }

    /// The observer.
    #[must_use]
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    /// The observer, to notify it.
    #[inline]
    pub const fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Notifies the observer that a command reached a stop.
    #[inline]
    fn notify(&mut self, at: Time, handle: Handle<Command>, stop: Stop) {
        if O::LISTENS {
            let command = &self.commands[handle];
            let first = handle.index() * self.slots_per_command as usize;
            let slots = self.slots.get(first..first + command.count as usize).unwrap_or_default();
            self.observer.command(Moment::new(at, stop, handle, command, slots));
        }
    }

    /// Switches time on or off. With time off a list finishes as soon as it is submitted, so that the same FTL can
    /// fill a drive without simulating time.
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

    /// The most slots of a command: those of a row, or of all rows of a word line.
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

    /// The next finished list, in the order of finishing. With it the FTL learns which of its programs failed; from
    /// then on the media judge what new lists program into the failed blocks.
    #[inline]
    pub fn take_finished(&mut self) -> Option<Handle<List>> {
        let list = self.finished.pop_front()?;
        self.report_failures(list);
        Some(list)
    }

    /// True if [`Backend::take_finished`] or [`Backend::take_cpu_done`] would return something.
    #[must_use]
    #[inline]
    pub fn has_ready(&self) -> bool {
        !self.finished.is_empty() || self.processor.has_cpu_done()
    }

    /// Releases a finished list and its commands.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller in each family.
    pub fn release(&mut self, list: Handle<List>) {
        let mut next = self.lists[list].first;
        while let Some(command) = next {
            next = self.commands[command].sibling;
            self.commands.remove(command);
        }
        if let Some(copies) = self.lists[list].copies() {
            self.release_copies(copies);
        }
        self.lists.remove(list);
    }

    /// True if no command and no processor job works, and no finished list waits for [`Backend::take_finished`]. The
    /// FTL may still keep finished lists whose buffers it needs.
    fn is_at_rest(&self) -> bool {
        let works = self.dies.iter().any(|die| die.unfinished > 0) || self.serial.is_some();
        !works && self.finished.is_empty() && self.processor.is_idle()
    }

    /// True if no list exists, and no processor job is under way or waits for [`Backend::take_cpu_done`].
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.lists.is_empty() && self.processor.is_idle()
    }
}
