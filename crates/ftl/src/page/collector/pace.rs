//! The pace of collection: the number of copies that a pool may have in progress.
//!
//! `start` and `stop` say when a pool is short of free superblocks. A pace says how much of the flash collection may
//! use meanwhile: none while the host is busy, all of it while the host is idle. A pool that can no longer wait is
//! exempt (`must_collect`), so no pace can stop the drive.

mod formula;
mod own;
mod pool;
mod window;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use base::fault::Faults;
use base::units::{Span, Time};
use flash::backend::Cause;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Collector, CollectorState};
use crate::event::Event;
use crate::page::block_manager::pool::Holds;
use crate::port::Flash;
use crate::sabotage::Sabotage;

pub use own::register_collection_policy;
pub use pool::CollectionPool;
pub use window::CollectionWindow;

/// The number of copies that a pool short of free superblocks may have in progress: at most `parallel`, and fewer if
/// the pace says so. The pace is overruled, and a pool has at least one copy in progress, in three cases: a write waits
/// for a superblock of the pool; only the superblocks are free that the host leaves to copies; or victims of the pool
/// are to be retired or levelled. Pools of translation pages have `parallel` copies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, tag = "policy", rename_all = "kebab-case")]
pub enum PaceSpec {
    /// The number that `parallel` gives.
    #[default]
    Full,
    /// The value of a formula, rounded down. A value that is not a number counts as 0.
    Formula {
        /// The formula, with the operators and functions of `ftl.gc.victim.score`. Names: `free` (superblocks of the pool),
        /// `start`, `stop` and `parallel` (as in `ftl.gc`), `copies` (of the pool, in progress), `erases` (of the pool, in
        /// progress), `waiting` (mapping units that wait for a superblock of the pool), `writes` (programs of the host in progress
        /// in the pool), `commands` (flash commands of the die that wait or are in progress), `u` (share of valid mapping units
        /// in the candidate with the fewest, 1 without a candidate) and `idle` (seconds since the latest read, write or discard
        /// reached the FTL).
        #[schemars(extend("examples" = ["if(idle > 0.001, parallel, 0)", "if(writes > 0, 1, parallel)"]))]
        copies: Cow<'static, str>,
    },
    /// The number that `parallel` gives in the drive's own windows of time, and none in other windows: drives of an
    /// array take turns.
    Window(CollectionWindow),
    /// The number that a policy of the program gives; the program has registered the policy.
    Own {
        /// The name under which the policy is registered.
        name: Cow<'static, str>,
        /// The version with which the policy is registered. A resolved device has the version, so that a store of
        /// results keeps the results of two versions apart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<String>,
    },
}

/// Decides how many copies a pool may have in progress.
///
/// A function from a pool to a number is a policy. A policy has no state of its own, so equal pools collect at an equal
/// pace.
pub trait CollectionPolicy: Send + Sync {
    /// The most copies that the pool may have in progress now; with 0 the pool collects later. The drive asks when a
    /// write, a copy or an erase of the pool has ended. While the pool waits, the drive also asks 0.1 ms, 0.2 ms, 0.4
    /// ms and so on after the latest request.
    fn copies(&self, pool: &CollectionPool<'_>) -> u32;
}

impl<F: Fn(&CollectionPool<'_>) -> u32 + Send + Sync> CollectionPolicy for F {
    fn copies(&self, pool: &CollectionPool<'_>) -> u32 {
        self(pool)
    }
}

impl fmt::Debug for dyn CollectionPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a collection policy")
    }
}

impl PaceSpec {
    /// A formula for the conformance suite and the swarm: under it pools wait until the drive is idle.
    #[must_use]
    pub const fn sample() -> Self {
        Self::Formula { copies: Cow::Borrowed("if(idle > 0.0005, parallel, (free < 2) + (u < 0.2) - writes)") }
    }

    pub(in crate::page) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the faults of the formula, or of the policy's name.
    pub(crate) fn check(&self, faults: &mut Faults) {
        match self {
            Self::Full => {}
            Self::Formula { copies } => {
                if let Err(error) = formula::ByFormula::parse(copies) {
                    faults.add("ftl.gc.pace.copies", error.to_string(), "e.g. \"if(idle > 0.001, parallel, 0)\"");
                }
            }
            Self::Window(window) => window.check(faults),
            Self::Own { name, version } => {
                let keys = ("ftl.gc.pace.name", "ftl.gc.pace.version");
                own::POLICIES.check(keys, name, version.as_deref(), faults);
            }
        }
    }

    /// The description, with the version if a policy of the program is registered under its name.
    pub(crate) fn written_out(self) -> Self {
        match self {
            Self::Own { name, .. } => {
                let version = own::POLICIES.version(&name);
                Self::Own { name, version }
            }
            other => other,
        }
    }

    /// Creates the state of the pace for a new drive; `None` for [`PaceSpec::Full`], which needs no state.
    pub(in crate::page) fn pace(&self) -> Option<Box<Pace>> {
        let (policy, looks): (Arc<dyn CollectionPolicy>, _) = match self {
            Self::Full => return None,
            Self::Window(window) => (Arc::new(*window), Looks::At(*window)),
            Self::Formula { copies } => {
                let formula = formula::ByFormula::parse(copies).expect("the description is checked");
                let looks = if formula.asks_for_idle() { Looks::Again } else { Looks::No };
                (Arc::new(formula), looks)
            }
            Self::Own { name, .. } => (own::POLICIES.policy(name).expect("the description is checked"), Looks::Again),
        };
        Some(Box::new(Pace { policy, looks, latest: Time::ZERO, next_look: None, is_due: false }))
    }
}

/// Time from the latest request to the first event at which waiting pools ask the policy again. Each further event has
/// twice the distance from the request.
const FIRST_LOOK: Span = Span::from_us(100);
/// The number of these events, limited so that an idle drive comes to rest: the last event is 14 minutes after the
/// latest request.
const LOOKS: u32 = 24;

/// The times at which waiting pools ask the policy again although nothing else happens.
#[derive(Clone, Copy, Debug)]
enum Looks {
    /// At no time: the policy does not depend on the time.
    No,
    /// At times with doubling distances from the latest request.
    Again,
    /// At the beginning of the drive's next window.
    At(CollectionWindow),
}

/// The policy of a drive, and the time at which waiting pools ask it again.
#[derive(Clone, Debug)]
pub(in crate::page) struct Pace {
    policy: Arc<dyn CollectionPolicy>,
    looks: Looks,
    latest: Time,
    /// The time of the pending event at which waiting pools ask the policy again.
    next_look: Option<Time>,
    /// True if that event has come and waiting pools have not asked yet.
    is_due: bool,
}

impl Pace {
    /// The time after `now` at which waiting pools ask the policy again.
    fn look_after(&self, now: Time) -> Option<Time> {
        match self.looks {
            Looks::No => None,
            Looks::Again => (0..LOOKS).map(|power| self.latest + FIRST_LOOK * (1 << power)).find(|look| *look > now),
            Looks::At(window) => Some(window.next(now)),
        }
    }
}

impl Pace {
    /// Marks the event as due, if its time has come.
    pub(in crate::page) fn wake(&mut self, now: Time) {
        if self.next_look.is_some_and(|look| look <= now) {
            (self.next_look, self.is_due) = (None, true);
        }
    }
}

impl CollectorState {
    /// Notes the time of a request that has reached the FTL.
    #[inline]
    pub(in crate::page) fn note_request(&mut self, now: Time) {
        if let Some(pace) = &mut self.pace {
            pace.latest = now;
        }
    }

    /// True if waiting pools must ask the policy again now.
    #[inline]
    pub(in crate::page) fn is_due(&self) -> bool {
        self.pace.as_ref().is_some_and(|pace| pace.is_due)
    }

    /// True if waiting pools must ask the policy again now. A second call returns false.
    pub(in crate::page) fn take_due(&mut self) -> bool {
        self.pace.as_mut().is_some_and(|pace| std::mem::take(&mut pace.is_due))
    }
}

impl Collector<'_> {
    /// The most copies that a pool may have in progress now, from `parallel` and the pace.
    #[inline]
    pub(super) fn copies_allowed(&mut self, flash: &mut Flash<'_>, pool: u32) -> u32 {
        if self.state.pace.is_none() { self.blocks.gc.parallel } else { self.paced(flash, pool) }
    }

    #[inline(never)]
    fn paced(&mut self, flash: &mut Flash<'_>, pool: u32) -> u32 {
        let most = self.blocks.gc.parallel;
        let gc = &self.blocks.pools[pool as usize].gc;
        let collects = gc.active || !gc.victims.is_empty() || !gc.failing.is_empty() || self.blocks.may_refresh(pool);
        if self.blocks.kind_in(pool) == Holds::Pages || !collects {
            return most;
        }
        let least = u32::from(self.must_collect(pool) && !self.blocks.planted.is(Sabotage::PaceObeyed));
        let Some(pace) = &mut self.state.pace else { return most };
        let asked = pace.policy.copies(&CollectionPool::new(self.blocks, flash, pool, pace.latest)).min(most);
        let allowed = asked.max(least);
        if allowed < most
            && flash.backend.is_timed()
            && pace.next_look.is_none()
            && let Some(look) = pace.look_after(flash.now)
        {
            pace.next_look = Some(look);
            flash.events.push(look, Event::Ftl);
        }
        allowed
    }

    /// True if a pool cannot put off its collection: a write waits, the host could open no further superblock, or a
    /// victim has to be emptied for another reason than its garbage. The same holds if translation pages are about to
    /// take a superblock of the pool.
    pub(super) fn must_collect(&self, pool: u32) -> bool {
        let chosen = &self.blocks.pools[pool as usize];
        let for_garbage = chosen.gc.failing.is_empty()
            && chosen.gc.victims.iter().all(|v| matches!(v.cause, Cause::Gc | Cause::Fold));
        chosen.free.len() <= 1 + chosen.kept_for_copies()
            || !for_garbage
            || self.blocks.may_refresh(pool)
            || !chosen.queue.waiting.is_empty()
            || self.blocks.gave_up
            || self.writer.unplaced.iter().any(|waiting| !waiting.is_empty())
            || self.writer.wants_block(self.blocks, pool)
    }
}

#[cfg(test)]
mod tests;
