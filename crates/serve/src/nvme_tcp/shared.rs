//! What all connections of a subsystem have in common.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base::units::{Lba, Sectors};
use nvme::Subsystem;
use ssd::{QueueId, Resolved, ZoneAction};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep_until};

use super::io::Target;
use super::values::Values;
use super::{NvmeLimits, PowerSignal};
use crate::server::race;
use crate::{Disk, Failed, Job, Operation};

/// How often the drive's health is looked at for events. Assumed.
const HEALTH: Duration = Duration::from_secs(10);

/// What all connections have in common.
pub(super) struct Shared {
    pub(super) limits: NvmeLimits,
    pub(super) target: Target,
    pub(super) has_power_states: bool,
    subsystem: Mutex<Subsystem>,
    resolved: Resolved,
    blocks: u64,
    /// Tells connections that the subsystem has changed.
    changed: watch::Sender<u64>,
    /// The controllers whose hosts have switched the volatile write cache off.
    uncached: Mutex<BTreeSet<u16>>,
    /// Connections end when the power goes; without it they outlive a cut.
    power: Option<PowerSignal>,
    /// True when the server is stopped.
    stop: watch::Receiver<bool>,
    /// Times count from here.
    start: Instant,
}

impl Shared {
    pub(super) fn new(
        limits: NvmeLimits,
        target: Target,
        (subsystem, resolved): (Subsystem, Resolved),
        power: Option<PowerSignal>,
        stop: watch::Receiver<bool>,
    ) -> Self {
        let operational = resolved.spec.power.as_ref().map_or(0, |power| power.operational.len());
        let blocks = subsystem.description().namespaces.first().map_or(0, |namespace| namespace.blocks);
        Self {
            limits,
            target,
            has_power_states: operational > 0,
            subsystem: Mutex::new(subsystem),
            resolved,
            blocks,
            changed: watch::Sender::new(0),
            uncached: Mutex::default(),
            power,
            stop,
            start: Instant::now(),
        }
    }

    /// The subsystem. No caller waits for anything while it has it.
    pub(super) fn subsystem(&self) -> MutexGuard<'_, Subsystem> {
        // Every call of the subsystem leaves it whole.
        self.subsystem.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time of the subsystem.
    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Lets the other connections look for events and for the end of their controllers.
    pub(super) fn note_change(&self) {
        self.changed.send_modify(|times| *times += 1);
    }

    /// Hears of changes from now on.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Waits until the server is stopped.
    pub(super) async fn stopped(&self) {
        // An error means that the server is gone.
        let _ = self.stop.clone().wait_for(|stop| *stop).await;
    }

    /// True if connections end when the power goes.
    pub(super) const fn ends_with_power(&self) -> bool {
        self.power.is_some()
    }

    /// Waits until the power has gone.
    pub(super) async fn without_power(&self) {
        match &self.power {
            Some(power) => power.wait_for_cut().await,
            None => std::future::pending().await,
        }
    }

    /// True if the power is on, as far as connections depend on it.
    pub(super) fn is_on(&self) -> bool {
        self.power.as_ref().is_none_or(PowerSignal::is_on)
    }

    /// The drive's submission queue for an I/O queue of a controller: 1 to the first one, and round again behind the last.
    pub(super) fn drive_queue(&self, queue: u16) -> QueueId {
        let number = usize::from(queue.saturating_sub(1)) % self.target.engine.queues();
        QueueId::new(number as u16)
    }

    /// The drive's values now; `None` if the drive is not served any more.
    pub(super) async fn observe(&self) -> Option<Values> {
        let (to, seen) = oneshot::channel();
        let (resolved, blocks) = (self.resolved.clone(), self.blocks);
        self.target.engine.observe_then(true, move |seen| drop(to.send(Values::of(&seen, &resolved, blocks))));
        seen.await.ok()
    }

    /// Notes whether the host of a controller wants the volatile write cache.
    pub(super) fn set_write_cache(&self, controller: u16, enabled: bool) {
        let mut uncached = self.uncached.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = if enabled { uncached.remove(&controller) } else { uncached.insert(controller) };
        // Controllers whose hosts have gone want nothing.
        let present: BTreeSet<u16> = self.subsystem().controllers().map(|(id, _)| id).collect();
        uncached.retain(|id| present.contains(id));
        self.target.writes_through.store(!uncached.is_empty(), Ordering::Relaxed);
    }

    /// Carries out a job on the whole drive.
    async fn ask(&self, operation: Operation) -> Result<(), Failed> {
        let (to, result) = oneshot::channel();
        let sectors = if operation.is_bare() { Sectors::new(0) } else { self.target.engine.capacity() };
        let job = Job::new(operation, Lba::new(0), sectors, move |result| _ = to.send(result.map(drop)));
        self.target.engine.submit(job);
        result.await.unwrap_or(Err(Failed::NoPower))
    }

    /// Makes durable what was written.
    pub(super) async fn flush(&self) -> Result<(), Failed> {
        self.ask(Operation::Flush).await
    }

    /// Deallocates all blocks: discards them, or resets all zones.
    pub(super) async fn format(&self) -> Result<(), Failed> {
        match self.resolved.zones {
            Some(_) => self.ask(Operation::ManageZones(ZoneAction::Reset)).await?,
            None => self.ask(Operation::Discard).await?,
        }
        self.flush().await
    }

    /// Gives up controllers whose hosts are silent, and looks at the drive's health, until the server ends.
    pub(super) async fn keep_time(&self) {
        let mut changes = self.changes();
        let mut health = Instant::now() + HEALTH;
        loop {
            let deadline = self.subsystem().deadline().map(|deadline| self.start + deadline);
            let until = deadline.map_or(health, |deadline| deadline.min(health));
            race(sleep_until(until), changes.changed()).await;
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                self.subsystem().expire(self.now());
                self.note_change();
                changes.mark_unchanged();
            }
            if health <= Instant::now() {
                health = Instant::now() + HEALTH;
                if self.subsystem().controllers().next().is_some()
                    && let Some(values) = self.observe().await
                {
                    self.subsystem().check_health(&values);
                    self.note_change();
                }
            }
        }
    }
}
