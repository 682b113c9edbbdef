//! The effect of changes of a drive: its own run beside runs with one key changed, from the same state and under the
//! same requests.
//!
//! [`Culprit::largest`] names the parts that take the most time, [`changes`] the keys that act on them, [`run`]
//! measures.

mod culprit;
mod lever;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::Serialize;

use crate::catalogue::{Device, device_from};
use crate::config::Document;
use crate::execute::{at_once, each};
use crate::session::{Session, SessionError};
use crate::snapshot::State;
use crate::summary::Summary;
use crate::watch::journey::JourneyPart;

pub use culprit::Culprit;

/// A change of one key of a device.
#[derive(Clone, Debug)]
pub struct Change {
    /// The key and its value, as `--set` takes them.
    pub set: String,
    /// The part of the time of requests on which the key acts.
    pub part: JourneyPart,
    /// The device with the change applied.
    pub device: Device,
}

/// The changes of this device that act on the culprits, without changes that its family does not have or that change
/// nothing.
#[must_use]
pub fn changes(document: &Document, culprits: &[Culprit]) -> Vec<Change> {
    let Ok(base) = device_from(document) else { return Vec::new() };
    let config = base.config();
    let mut all: Vec<Change> = Vec::new();
    for culprit in culprits {
        for set in lever::settings(&config, culprit) {
            let mut document = document.clone();
            let device = document.set(&set).and_then(|()| device_from(&document));
            // The check of the description refuses a key of another family, which has no effect.
            let Ok(device) = device else { continue };
            let known = all.iter().any(|change| change.device.resolved.spec == device.resolved.spec);
            if !known && device.resolved.spec != base.resolved.spec {
                all.push(Change { set, part: culprit.part, device });
            }
        }
    }
    all
}

/// The state from which a trial started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// The state of the unchanged drive.
    Same,
    /// A state of the changed drive, preconditioned with the same steps, because its format of data differs.
    Own,
}

impl Start {
    /// The name of the start in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Own => "own",
        }
    }
}

/// The prices of a drive: capacity, RAM and flash.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Price {
    /// The capacity that the host sees, in bytes.
    pub capacity_bytes: u64,
    /// RAM for tables and the write buffer, in bytes.
    pub ram_bytes: u64,
    /// The price of the flash, relative to a GiB of MLC flash.
    pub cost_gib_mlc: f64,
}

impl Price {
    fn of(device: &Device) -> Self {
        let resolved = &device.resolved;
        Self {
            capacity_bytes: resolved.capacity().bytes().get(),
            ram_bytes: resolved.table_ram().get() + resolved.buffer_ram().get(),
            cost_gib_mlc: resolved.cost().total(),
        }
    }
}

/// A run with one change, or without a change.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Trial {
    /// The changed key and its value, as `--set` takes them; `null` for the unchanged drive.
    pub set: Option<String>,
    /// The part of the time of requests on which the key acts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = JourneyPart::ALL.map(JourneyPart::name)))]
    pub acts_on: Option<&'static str>,
    /// The state from which the run started.
    pub start: Start,
    /// The prices of the changed drive.
    pub price: Price,
    /// The results; missing if the drive cannot run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Summary>,
    /// The reason for which the drive cannot run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Runs the unchanged drive, and the drive with each change. `session` makes the session of a device with its
/// workloads, from the state that it gets; with `None`, from the session's own start. `progress` receives the number of
/// finished runs and of all runs.
///
/// # Errors
///
/// If the unchanged drive cannot be prepared.
pub fn run<'a, E: std::fmt::Display>(
    (base, changes): (&'a Device, &'a [Change]),
    session: impl Fn(&'a Device, Option<State>) -> Result<Session<'a>, E> + Sync,
    threads: Option<NonZeroUsize>,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Vec<Trial>, Trouble<E>> {
    let state = session(base, None).map_err(Trouble::Open)?.into_state().map_err(Trouble::Session)?;
    let jobs: Vec<Option<&Change>> = std::iter::once(None).chain(changes.iter().map(Some)).collect();
    let trial = |change: &Option<&'a Change>| {
        let device = change.map_or(base, |change| &change.device);
        let start = if state.is_of(&device.resolved) { Start::Same } else { Start::Own };
        let from = (start == Start::Same).then(|| state.clone());
        let outcome = session(device, from).map_err(|error| error.to_string());
        let outcome = outcome.and_then(|session| session.run().map_err(|error| error.to_string()));
        let (run, error) = match outcome {
            Ok(outcome) => (Some(outcome.first().summary()), None),
            Err(error) => (None, Some(error)),
        };
        let acts_on = change.map(|change| change.part.name());
        Trial { set: change.map(|change| change.set.clone()), acts_on, start, price: Price::of(device), run, error }
    };
    let done = AtomicUsize::new(0);
    Ok(each(jobs.len(), at_once(threads), |job| {
        let trial = trial(&jobs[job]);
        progress(done.fetch_add(1, Ordering::Relaxed) as u64 + 1, jobs.len() as u64);
        trial
    }))
}

/// The reason that there are no trials.
#[derive(Debug)]
pub enum Trouble<E> {
    /// A workload cannot be opened.
    Open(E),
    /// The drive cannot be prepared.
    Session(SessionError),
}

#[cfg(test)]
mod tests;
