//! Fast ways: sequences of phases that are simulated with fewer events, commands or calls than they have.
//!
//! The contract of each way: all times, the order of all effects on the media, the accounts and the event hash are
//! those of the ordinary way (`operate`), at every moment at which an observer can look. A way that cannot go on turns
//! its remaining steps into commands or events of the ordinary way. `ssd/tests/{quiet, copies, runs}.rs` compare each
//! way with the ordinary way after every step.
//!
//! Which ways a backend takes is decided here, once, from its description. Two things can change that later: an
//! observer, and a program that may fail ([`crate::nand::Media::cannot_fail`]).
//!
//! | way | takes the place of |
//! | --- | --- |
//! | `reads` | the calls of a read whose die and channel nobody else has |
//! | `quiet` | the events of arrays whose reads can only wait for the channel |
//! | `copies`, `copy_run` | the commands of a merge's page copies, where a controller has its dies and channel alone |
//! | `copy_back_run` | the commands and events of copy-backs of consecutive pages |
//! | `serial`, `serial_copies` | all events of a list where nothing works in parallel |
//! | `prefetch` | nothing: it loads ahead what coming events need |

pub(super) mod copies;
pub(super) mod copy_back_run;
mod copy_run;
mod prefetch;
mod quiet;
mod reads;
pub(super) mod serial;
mod serial_copies;

pub(super) use quiet::QuietReads;

use base::engine::EventHash;
use base::units::Time;

use super::controllers::ControllerPool;
use super::rules::Rules;
use super::{Completion, Config, Controllers, Transfer};
use crate::nand::Geometry;

/// The fast ways of a backend, and their work in progress.
#[derive(Clone, Debug)]
pub(super) struct Fast {
    /// True if a read is only an array time and a transfer: reads then go the short way, and their array phases may end
    /// quietly.
    pub(super) plain_reads: bool,
    /// True if the array of an idle die begins a plain read at once, because there are no command cycles and no other
    /// machine to ask.
    pub(super) lone_reads: bool,
    /// The hash of the events that fast ways have left out, once their times have passed.
    pub(super) events: EventHash,
    pub(super) copies: copies::CopySets,
    pub(super) copy_back_runs: copy_back_run::CopyBackRuns,
    pub(super) serial: serial::SerialLists,
}

impl Fast {
    /// Decides which ways a backend takes.
    pub(super) fn new(config: &Config, rules: &Rules, (controllers, geometry): (&ControllerPool, &Geometry)) -> Self {
        let one_page = geometry.row_slots() * config.timing.one_shot == 1;
        // The end of an array's work needs no status, and no other command uses the register.
        let silent = !rules.arbitration.hold
            && !rules.reads_status
            && rules.polls.is_none()
            && !rules.timing.cache_across
            && rules.suspend.is_none()
            && rules.variation.is_none()
            && rules.plane_reads.is_none()
            && rules.errors.is_none();
        let plain_reads = config.has_plain_reads();
        let plain_copies = silent && rules.data_only && !rules.intervenes() && config.ecc.is_none();
        let copy_backs = silent && config.transfer == Transfer::Bus && rules.timing.command.is_zero() && !rules.issues;
        let dies = if one_page && copy_backs { geometry.die_count() } else { 0 };
        Self {
            plain_reads,
            lone_reads: plain_reads && rules.timing.command.is_zero() && rules.plane_reads.is_none(),
            events: EventHash::NOTHING,
            copies: copies::CopySets::new(one_page && plain_copies && controllers.are_exclusive()),
            copy_back_runs: copy_back_run::CopyBackRuns::new(dies as usize),
            serial: serial::SerialLists::default(),
        }
    }

    /// From now on takes no way that leaves out events that an observer sees. Serial lists check for an observer
    /// themselves.
    pub(super) fn show_everything(&mut self) {
        (self.plain_reads, self.lone_reads) = (false, false);
        self.copies = copies::CopySets::new(false);
        self.copy_back_runs = copy_back_run::CopyBackRuns::new(0);
    }

    /// Adds the end of an array's phase that was no event to the hash.
    #[inline]
    pub(super) fn note_end(&mut self, at: Time, die: u32) {
        self.events.add(at, u64::from(die) << 2);
    }

    /// Forgets the work in progress, at a power cut.
    pub(super) fn cut(&mut self) {
        self.copies.clear();
    }
}

/// The quiet reads of a channel, with room for `units` units.
pub(super) fn reads_of_channel(config: &Config, units: u32) -> QuietReads {
    QuietReads::with_capacity(if config.has_plain_reads() { units as usize } else { 0 })
}

impl Config {
    /// True if reads are plain: command cycles, an array time and a transfer, with no wait but the one for the channel.
    /// That excludes status reads, forwarding, software controllers, cache mode across lists, and error correction.
    pub(super) fn has_plain_reads(&self) -> bool {
        let own = matches!(self.controllers, Controllers::None | Controllers::PerDie);
        let timing = &self.timing;
        own && self.transfer == Transfer::Bus
            && self.completion == Completion::ReadyBusy
            && !self.arbitration.hold
            && !self.arbitration.forwards()
            && self.software.is_none()
            && self.supply.is_none()
            && self.ecc.is_none()
            && !timing.cache_across
            && timing.cache_read.is_none()
            && timing.cycles.status.is_zero()
    }
}
