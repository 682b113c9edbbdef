//! The backend: times command lists on controllers, dies and channels.
//!
//! The FTL builds a [`List`] of commands with dependencies, submits it, and gets it back when it is finished. In
//! between, the list waits for a controller, its commands wait for their dies, and their data waits for the channel.
//! [`Arbitration`] decides which waiting command or data goes first.

mod account;
mod build;
mod cache;
mod cause;
mod channel;
mod command;
mod command_table;
mod config;
mod controllers;
mod copy_set;
mod decoders;
mod die;
mod effect;
mod failures;
mod fast;
mod forward;
mod links;
mod load;
mod meter;
mod observe;
mod operate;
mod payload;
mod plane_reads;
mod planes;
mod planted;
mod power;
mod power_cap;
mod primitive;
mod processor;
mod queue;
mod read_attempts;
mod retry;
mod rules;
mod spec;
mod status;
mod submit;
mod supply;
mod suspend;
#[cfg(test)]
mod tests;
mod transfer;
mod variation;

pub use account::{Account, Tally};
pub use cause::{Cause, CauseSet, Op};
pub use command::{Class, Command, List, Slot, SlotRef};
pub use config::{
    Arbitration, BusOrder, Completion, Config, ConfigError, Controllers, Cycles, Order, SlcTiming, Timing, Transfer,
};
pub use copy_set::CopySet;
pub use observe::{AdmissionDelay, Level, Moment, Observer, Phase, RequestStep, Resource, Stop};
pub use payload::{Payload, SlotContent, SlotMut};
pub use planted::Bug;
pub use power_cap::PowerCapCounters;
pub use primitive::Primitive;
pub use spec::{Decoders, Ecc, PlaneReadSpec, PowerCapSpec, ReadScope, StopPoint, SuspendSpec, SuspensionTarget};
pub use supply::Supply;
pub use variation::VariationSpec;

use crate::nand::{Geometry, Media, SectorKind};
use base::engine::{EventQueue, Handle};
use base::units::{DieId, Span, Time};

use channel::Channel;
use command::CommandState;
use command_table::CommandTable;
use controllers::ControllerPool;
use decoders::DecoderPool;
use die::Die;
use fast::Fast;
use power_cap::PowerCap;
use processor::Processor;
use read_attempts::ReadAttempts;
use rules::Rules;

/// An event that the backend schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The array of a die ends a phase.
    Array {
        /// The number of the die, or of a plane that reads by itself.
        die: u32,
        /// The number of the phase that ends. The backend drops the event of an aborted phase.
        generation: u16,
    },
    /// The status of a die is to be read.
    Poll {
        /// Number of the die, over all channels.
        die: u32,
        /// The number of the array work whose status is polled.
        watch: u16,
    },
    /// A channel ends a transfer.
    Bus {
        /// Number of the channel, from 0.
        channel: u32,
        /// The number of the phase that ends. The backend drops the event of an aborted phase.
        generation: u16,
    },
    /// A codeword that is not the last of its command has crossed a channel.
    Codeword {
        /// Number of the channel, from 0.
        channel: u32,
        /// The number of the channel's phase. The backend drops the event of an aborted phase.
        generation: u16,
    },
    /// A decoder has taken a codeword in.
    Decoder {
        /// Number of the decoder in the pool of its channel or drive.
        decoder: u32,
        /// The number of the phase that ends. The backend drops the event of an aborted phase.
        generation: u16,
    },
    /// The last codeword of a command comes out of its decoder.
    Decoded {
        /// The number of power cuts before the codeword went in. The backend drops the event of a codeword that a power
        /// cut has lost.
        cuts: u16,
    },
    /// A phase of page copies ends.
    Copies {
        /// Index of the set among the sets of copies under way.
        set: u32,
        /// The number of the set's event. The backend drops an event that a later event has replaced.
        generation: u16,
    },
    /// A window of the power cap begins, and some operation waits for it.
    PowerWindow,
    /// The processor ends a job.
    Processor {
        /// The number of the phase that ends. The backend drops the event of an aborted phase.
        generation: u16,
    },
}

/// The flash array with its controllers, channels and processor.
///
/// Each machine has its own rules, and depends on no other. The backend leads a command from one machine to the next:
/// `submit` from the FTL to the die, `operate` through the die and the channel, `effect` to the media.
#[derive(Clone, Debug)]
pub struct Backend {
    rules: Rules,
    media: Media,
    table: CommandTable,
    /// The content of each slot in `table.slots`, one mapping unit each; empty if sectors have no content.
    payload: Payload,
    controllers: ControllerPool,
    processor: Processor,
    dies: Vec<Die>,
    /// Commands submitted and not finished, of all dies.
    unfinished: u64,
    channels: Vec<Channel>,
    /// Error correction behind the channels; with `None` it takes no time.
    decoders: Option<Box<DecoderPool>>,
    /// The cap on the power of the arrays, if there is one.
    cap: Option<Box<PowerCap>>,
    fast: Fast,
    account: Account,
    observer: Option<Box<dyn Observer>>,
}

impl Backend {
    /// Creates the backend of `media`; all dies and channels are idle.
    #[must_use]
    pub fn new(media: Media, config: &Config) -> Self {
        let geometry = media.geometry();
        let controllers = ControllerPool::new(config.controllers, config.transfer, geometry);
        let links = config.links(geometry);
        let dies_of_channel = geometry.chips * geometry.dies;
        let units_of_channel = dies_of_channel * config.units_of_die(geometry);
        let rules = Rules::new(config, geometry);
        let units = rules.units(geometry.die_count());
        let table = CommandTable::new(geometry.row_slots() * config.timing.one_shot);
        let fast = Fast::new(config, &rules, (&controllers, geometry));
        let cap = config.supply.and_then(|supply| supply.cap);
        let cap = cap.map(|cap| Box::new(PowerCap::new(cap, config.arbitration.commands, units as usize)));
        Self {
            table,
            payload: Payload::with_scratch(media.kind(), geometry.sectors),
            controllers,
            processor: Processor::new(config.software),
            dies: (0..units).map(|unit| Die::of(&rules, rules.die_of(unit) / dies_of_channel)).collect(),
            channels: (0..links).map(|_| Channel::new(fast::reads_of_channel(config, units_of_channel))).collect(),
            unfinished: 0,
            decoders: DecoderPool::new(config, geometry, links),
            cap,
            fast,
            account: Account::default(),
            rules,
            observer: None,
            media,
        }
    }

    /// Plants a bug for tests of the conformance suite.
    #[cfg(feature = "sabotage")]
    pub const fn plant(&mut self, bug: Option<Bug>) {
        self.rules.planted.bug = bug;
    }

    /// Bytes of the simulator's memory for a backend over such an array, without its media.
    #[must_use]
    pub fn memory(geometry: &Geometry, kind: SectorKind, config: &Config) -> u64 {
        let dies = u64::from(geometry.die_count());
        let links = config.links(geometry);
        let slots = u64::from(geometry.row_slots()) * u64::from(config.timing.one_shot);
        let slot = size_of::<Slot>() as u64 + Payload::memory(kind, geometry.sectors);
        // Assumes one command under way for each die, or the commands of a few requests.
        let commands = dies.max(64)
            * (size_of::<Command>() as u64 + size_of::<List>() as u64 + slots * slot + ReadAttempts::memory(config));
        let units = dies * u64::from(config.units_of_die(geometry));
        // The description has a second copy of the timing tables.
        units * Die::memory(config)
            + u64::from(links) * size_of::<Channel>() as u64
            + ControllerPool::memory(config.controllers, geometry)
            + commands
            + DecoderPool::memory(config, geometry, links)
            + config.supply.and_then(|supply| supply.cap).map_or(0, |_| PowerCap::memory(units))
            + config.quiet_memory(units)
            + 2 * config.timing.memory()
    }

    /// The geometry of the flash array.
    #[must_use]
    #[inline]
    pub const fn geometry(&self) -> &Geometry {
        self.media.geometry()
    }

    /// The media with the contents and states of all blocks.
    #[must_use]
    #[inline]
    pub const fn media(&self) -> &Media {
        &self.media
    }

    /// The media, e.g. to retire blocks and plan faults.
    pub const fn media_mut(&mut self) -> &mut Media {
        &mut self.media
    }

    /// True if commands of collection go before commands of the host at the dies.
    #[must_use]
    #[inline]
    pub const fn collects_first(&self) -> bool {
        matches!(self.rules.arbitration.commands, Order::CollectionFirst)
    }

    /// The times of commands and transfers.
    #[must_use]
    pub const fn timing(&self) -> &Timing {
        &self.rules.timing
    }

    /// Notifies an observer of all commands from now on.
    ///
    /// # Panics
    ///
    /// If a list exists.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        assert!(self.table.lists.is_empty(), "an observer comes while a list is under way");
        self.fast.show_everything();
        self.observer = Some(observer);
    }

    /// The observer that [`Backend::observe`] has installed, if any.
    #[must_use]
    #[inline]
    pub fn observer(&self) -> Option<&dyn Observer> {
        self.observer.as_deref()
    }

    /// The attached observer, for callers that report events to the observer; `None` if there is none.
    #[inline]
    pub fn observer_mut(&mut self) -> Option<&mut dyn Observer> {
        self.observer.as_deref_mut()
    }

    /// Notifies the observer that a command reached a stop.
    #[inline]
    fn notify(&mut self, at: Time, handle: Handle<Command>, stop: Stop) {
        if let Some(observer) = &mut self.observer {
            let slots = self.table.slots_of(handle);
            observer.command(Moment::new(at, stop, handle, &self.table.commands[handle], slots));
        }
    }

    /// Switches time on or off. With time off a list finishes as soon as it is submitted, so that the same FTL can fill
    /// a drive without simulating time.
    ///
    /// # Panics
    ///
    /// If any command or job is under way.
    pub fn set_timed(&mut self, timed: bool) {
        assert!(self.is_at_rest(), "time is switched while commands are under way");
        self.rules.timed = timed;
    }

    /// Returns false while a drive is preconditioned without time: commands then take effect at once.
    #[must_use]
    #[inline]
    pub const fn is_timed(&self) -> bool {
        self.rules.timed
    }

    /// The most slots of a command: the slots of a row, or of all rows of a word line.
    #[must_use]
    pub const fn slots_per_command(&self) -> u32 {
        self.table.slots_per_command
    }

    /// The number of commands submitted to a die and not finished.
    #[must_use]
    #[inline]
    pub fn load(&self, die: DieId) -> u32 {
        self.dies[die.index()].unfinished
    }

    /// The list of a handle, which must not be released yet.
    #[must_use]
    #[inline]
    pub fn list(&self, list: Handle<List>) -> &List {
        &self.table.lists[list]
    }

    /// The command of a handle, whose list must not be released yet.
    #[must_use]
    #[inline]
    pub fn command(&self, command: Handle<Command>) -> &Command {
        &self.table.commands[command]
    }

    /// The next finished list, in the order of finishing. The FTL learns from it which of its programs failed. Lists
    /// opened after this call must not program the failed blocks: the media refuse such programs.
    #[inline]
    pub fn take_finished(&mut self) -> Option<Handle<List>> {
        let list = self.table.finished.pop_front()?;
        self.table.report_failures(list);
        Some(list)
    }

    /// True if [`Backend::take_finished`] or [`Backend::take_cpu_done`] would return something.
    #[must_use]
    #[inline]
    pub fn has_ready(&self) -> bool {
        !self.table.finished.is_empty() || self.processor.has_cpu_done()
    }

    /// Occupies the processor for `span`, behind its earlier jobs; then [`Backend::take_cpu_done`] returns `token`.
    /// With time off the token is ready at once.
    pub fn use_cpu<E: From<Event> + Copy>(&mut self, now: Time, span: Span, token: u32, events: &mut EventQueue<E>) {
        self.processor.add_job((now, self.rules.timed), (span, token), events);
    }

    /// The token of the next finished job of the FTL, in the order of finishing.
    pub fn take_cpu_done(&mut self) -> Option<u32> {
        self.processor.take_cpu_done()
    }

    /// Releases a finished list and its commands.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller in each family.
    pub fn release(&mut self, list: Handle<List>) {
        if let Some(copies) = self.table.lists[list].copies() {
            self.fast.copies.release(copies);
        }
        self.table.release(list);
    }

    /// True if no command and no processor job is in progress, and no finished list waits for
    /// [`Backend::take_finished`]. The FTL may still keep finished lists whose buffers it needs.
    fn is_at_rest(&self) -> bool {
        let works = self.dies.iter().any(|die| die.unfinished > 0) || self.fast.serial.is_under_way();
        !works && self.table.finished.is_empty() && self.processor.is_idle()
    }

    /// True if a command or a job of the processor is under way or waits.
    #[must_use]
    #[inline]
    pub fn is_at_work(&self) -> bool {
        self.unfinished > 0 || self.fast.serial.is_under_way() || !self.processor.is_idle()
    }

    /// True if no list exists, and no processor job is under way or waits for [`Backend::take_cpu_done`].
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.table.lists.is_empty() && self.processor.is_idle()
    }
}
