//! Counts and times by operation and cause.

use std::ops::{AddAssign, Sub};

use base::engine::EventHash;
use base::units::{Bytes, Span, Time};

use super::{Backend, Cause, Op};

/// The sums over the commands of one operation and one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of finished commands.
    pub commands: u64,
    /// Physical pages read, programmed or copied, or blocks erased.
    pub pages: u64,
    /// Mapping units of data carried; 0 for an erase.
    pub slots: u64,
    /// Bytes that crossed the channel, including spare bytes.
    pub bytes: Bytes,
    /// Time the array worked, counted once per command for all its planes.
    pub array: Span,
    /// Time that the further planes of multi-plane operations worked, counted once for each plane; zero unless the
    /// part's `further_plane` makes their power different.
    pub further_planes: Span,
    /// Time the channel was held.
    pub bus: Span,
    /// Time in which decoders took the commands' codewords in.
    pub decode: Span,
    /// Attempts to read after the first of each command.
    pub retries: u64,
    /// Suspensions of the commands' operations.
    pub suspensions: u64,
    /// Time for which suspended operations stood still.
    pub suspended: Span,
    /// Time that the array took to stop and to resume; part of `array`.
    pub suspend_overhead: Span,
    /// Additional time that the reads would have waited for the ends of operations, had these not been suspended for
    /// them.
    pub suspend_gain: Span,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, rhs: Self) {
        self.commands += rhs.commands;
        self.pages += rhs.pages;
        self.slots += rhs.slots;
        self.bytes += rhs.bytes;
        self.array += rhs.array;
        self.further_planes += rhs.further_planes;
        self.bus += rhs.bus;
        self.decode += rhs.decode;
        self.retries += rhs.retries;
        self.suspensions += rhs.suspensions;
        self.suspended += rhs.suspended;
        self.suspend_overhead += rhs.suspend_overhead;
        self.suspend_gain += rhs.suspend_gain;
    }
}

impl Sub for Tally {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self {
            commands: self.commands - rhs.commands,
            pages: self.pages - rhs.pages,
            slots: self.slots - rhs.slots,
            bytes: self.bytes - rhs.bytes,
            array: self.array - rhs.array,
            further_planes: self.further_planes - rhs.further_planes,
            bus: self.bus - rhs.bus,
            decode: self.decode - rhs.decode,
            retries: self.retries - rhs.retries,
            suspensions: self.suspensions - rhs.suspensions,
            suspended: self.suspended - rhs.suspended,
            suspend_overhead: self.suspend_overhead - rhs.suspend_overhead,
            suspend_gain: self.suspend_gain - rhs.suspend_gain,
        }
    }
}

/// A tally for every operation and cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    tallies: [[Tally; Cause::COUNT]; Op::COUNT],
}

impl Account {
    /// The tally of one operation and cause, to read.
    #[must_use]
    pub const fn of(&self, op: Op, cause: Cause) -> Tally {
        self.tallies[op as usize][cause as usize]
    }

    /// The tally of one operation and cause, to be added to.
    #[inline]
    pub const fn at(&mut self, op: Op, cause: Cause) -> &mut Tally {
        &mut self.tallies[op as usize][cause as usize]
    }

    /// The sum over all causes.
    #[must_use]
    pub fn op(&self, op: Op) -> Tally {
        self.tallies[op as usize].iter().fold(Tally::default(), |mut sum, tally| {
            sum += *tally;
            sum
        })
    }

    /// Every (operation, cause) with at least one command, in order.
    pub fn rows(&self) -> impl Iterator<Item = (Op, Cause, Tally)> {
        Op::ALL
            .into_iter()
            .flat_map(|op| Cause::ALL.into_iter().map(move |cause| (op, cause)))
            .map(|(op, cause)| (op, cause, self.of(op, cause)))
            .filter(|(_, _, tally)| *tally != Tally::default())
    }

    /// The counts and times since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut difference = *self;
        for op in Op::ALL {
            for cause in Cause::ALL {
                *difference.at(op, cause) = self.of(op, cause) - earlier.of(op, cause);
            }
        }
        difference
    }
}

impl Backend {
    /// The account up to `now`, by operation and cause. A command counts when it finishes, time as it passes, and
    /// bytes when their transfer begins.
    #[must_use]
    pub fn account(&self, now: Time) -> Account {
        let mut account = self.account;
        for die in &self.dies {
            if let Some(handle) = die.array {
                let command = &self.table.commands[handle];
                let tally = account.at(command.op, command.cause);
                tally.array += die.meter.worked(now);
                if self.rules.supply.is_some() {
                    tally.further_planes += self.further_plane_time(handle, die.meter.worked(now));
                }
            }
            if let Some((op, cause, since)) = die.suspension.as_ref().and_then(|suspension| suspension.standing()) {
                account.at(op, cause).suspended += now - since;
            }
        }
        for channel in &self.channels {
            if let Some(handle) = channel.current {
                let command = &self.table.commands[handle];
                let tally = account.at(command.op, command.cause);
                tally.bus += channel.meter.worked(now);
                tally.bytes += channel.begun_bytes(now, &self.rules, &self.table.commands);
            }
        }
        self.add_copies_under_way(now, &mut account);
        self.add_runs_under_way(now, &mut account);
        for (handle, worked) in self.decoders.iter().flat_map(|decoders| decoders.under_way(now)) {
            let command = &self.table.commands[handle];
            account.at(command.op, command.cause).decode += worked;
        }
        account
    }

    /// Resets all counters, e.g. after preconditioning.
    ///
    /// # Panics
    ///
    /// If any command or job is under way.
    pub fn reset_account(&mut self) {
        assert!(self.is_at_rest(), "counters are reset while commands are under way");
        self.account = Account::default();
        self.media.reset_error_counters();
        self.fast.events = EventHash::NOTHING;
        self.dies.iter_mut().for_each(|die| die.meter.reset());
        self.channels.iter_mut().for_each(|channel| channel.meter.reset());
        self.controllers.reset();
        if let Some(cap) = &mut self.cap {
            cap.reset_counters();
        }
        self.processor.reset();
        if let Some(decoders) = &mut self.decoders {
            decoders.reset();
        }
    }

    /// Time that each die's array worked until `now`. While one of `P` planes reads by itself, its die works by `1 /
    /// P`.
    pub fn die_busy(&self, now: Time) -> impl Iterator<Item = Span> + '_ {
        let geometry = self.media.geometry();
        let (dies, planes) = self.dies.split_at(geometry.die_count() as usize);
        let mut planes = planes.chunks(geometry.planes as usize);
        dies.iter().map(move |die| {
            let planes: Option<Span> =
                planes.next().map(|planes| planes.iter().map(|plane| plane.meter.busy(now)).sum());
            die.meter.busy(now) + planes.map_or(Span::ZERO, |all| all / u64::from(geometry.planes))
        })
    }

    /// Time for which each channel was held until `now`.
    pub fn channel_busy(&self, now: Time) -> impl Iterator<Item = Span> + '_ {
        self.channels.iter().map(move |channel| channel.meter.busy(now))
    }

    /// Time for which each controller held a list until `now`; a foreground controller is the first.
    pub fn controller_busy(&self, now: Time) -> impl Iterator<Item = Span> + '_ {
        self.controllers.busy(now)
    }

    /// Time that the processor worked until `now`.
    #[must_use]
    pub fn processor_busy(&self, now: Time) -> Span {
        self.processor.busy(now)
    }

    /// Time that each decoder worked until `now`; empty without error correction.
    pub fn decoder_busy(&self, now: Time) -> impl Iterator<Item = Span> + '_ {
        self.decoders.iter().flat_map(move |decoders| decoders.busy(now))
    }
}
