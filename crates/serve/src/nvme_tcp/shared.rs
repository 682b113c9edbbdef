//! The state that all connections of a subsystem share.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nvme::Subsystem;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::io::NamespaceTarget;
use super::values::Values;
use super::{NvmeLimits, PowerSignal};
use crate::JobFailure;
use crate::server::race;

/// The time between two checks of the drives' health for events. Assumed.
const HEALTH: Duration = Duration::from_secs(10);

/// The state that all connections share.
pub(super) struct SharedState {
    pub(super) limits: NvmeLimits,
    /// The namespaces, in the order of their identifiers, which begin with 1.
    pub(super) targets: Vec<NamespaceTarget>,
    subsystem: Mutex<Subsystem>,
    /// Tells connections that the subsystem has changed.
    changed: watch::Sender<u64>,
    /// The controllers whose hosts have switched the volatile write caches off.
    uncached: Mutex<BTreeSet<u16>>,
    /// True while at least one host has switched the caches off.
    writes_through: Arc<AtomicBool>,
    /// Ends connections when the power goes; without it connections outlive a cut.
    power: Option<PowerSignal>,
    /// True when the server is stopped.
    stop: watch::Receiver<bool>,
    /// The origin of the subsystem's times.
    start: Instant,
}

impl SharedState {
    pub(super) fn new(
        limits: NvmeLimits,
        (targets, writes_through): (Vec<NamespaceTarget>, Arc<AtomicBool>),
        subsystem: Subsystem,
        power: Option<PowerSignal>,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self {
            limits,
            targets,
            subsystem: Mutex::new(subsystem),
            changed: watch::Sender::new(0),
            uncached: Mutex::default(),
            writes_through,
            power,
            stop,
            start: Instant::now(),
        }
    }

    /// The locked subsystem. No caller awaits anything while it holds the lock.
    pub(super) fn subsystem(&self) -> MutexGuard<'_, Subsystem> {
        // Every call leaves the subsystem consistent, so a poisoned lock does no harm.
        self.subsystem.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time since the server has started.
    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Lets the other connections look for events and for the end of their controllers.
    pub(super) fn note_change(&self) {
        self.changed.send_modify(|times| *times += 1);
    }

    /// A receiver of changes from now on.
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

    /// Waits until a drive has lost its power.
    pub(super) async fn without_power(&self) {
        match &self.power {
            Some(power) => power.wait_for_cut().await,
            None => std::future::pending().await,
        }
    }

    /// True if all drives have power, or connections do not depend on the power.
    pub(super) fn is_on(&self) -> bool {
        self.power.as_ref().is_none_or(PowerSignal::is_on)
    }

    /// The namespace with this identifier, which the subsystem has checked.
    pub(super) fn target(&self, namespace: u32) -> &NamespaceTarget {
        &self.targets[namespace as usize - 1]
    }

    /// The drives' values now; `None` if one of them is not served any more.
    pub(super) async fn observe(&self) -> Option<Values> {
        let mut drives = Vec::new();
        for target in &self.targets {
            drives.push(target.observe().await?);
        }
        Some(Values(drives))
    }

    /// Notes whether the host of a controller wants the volatile write caches.
    pub(super) fn set_write_cache(&self, controller: u16, enabled: bool) {
        let mut uncached = self.uncached.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = if enabled { uncached.remove(&controller) } else { uncached.insert(controller) };
        // Removes controllers that have ended.
        let present: BTreeSet<u16> = self.subsystem().controllers().map(|(id, _)| id).collect();
        uncached.retain(|id| present.contains(id));
        self.writes_through.store(!uncached.is_empty(), Ordering::Relaxed);
    }

    /// Makes all written data of all drives durable. `queue` is the I/O queue of the host's flush.
    pub(super) async fn flush(&self, queue: u16) -> Result<(), JobFailure> {
        for target in &self.targets {
            target.flush(queue).await?;
        }
        Ok(())
    }

    /// Deallocates all blocks of namespaces.
    pub(super) async fn format(&self, namespaces: &[u32]) -> Result<(), JobFailure> {
        for namespace in namespaces {
            self.target(*namespace).format().await?;
        }
        Ok(())
    }

    /// Brings all drives to a power state; false if a drive refuses.
    pub(super) async fn set_power_state(&self, state: u8) -> bool {
        let mut accepted = true;
        for target in &self.targets {
            accepted &= target.set_power_state(state).await;
        }
        accepted
    }

    /// Ends controllers whose hosts are silent, and checks the drives' health, until the server ends.
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
