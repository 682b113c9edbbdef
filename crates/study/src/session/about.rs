//! The provenance of results: the resolved inputs of a session.

use base::units::Exact;
use toml::{Table, Value};
use workload::Pacing;

use super::flow::Flow;
use super::settings::{Settings, WARRANTY};
use crate::catalogue::Device;
use crate::plan::TargetState;
use crate::run::{Steady, Stop, WarmUp};
use crate::summary::{Array, Provenance};

/// The resolved device, workloads and session settings.
pub(super) fn about(device: &Device, settings: &Settings, flows: &[Flow<'_>]) -> Provenance {
    let mut config = Table::from_iter([
        ("device".to_owned(), Value::Table(device.config())),
        ("run".to_owned(), Value::Table(run(settings, flows.first()))),
    ]);
    // A flow made by `Flow::of` has no description that could run again.
    if let Some(first) = flows.first().filter(|flow| !flow.config.is_empty()) {
        config.insert("workload".into(), Value::Table(first.config.clone()));
    }
    let others = flows.get(1..).unwrap_or_default();
    if !others.is_empty() {
        config.insert("flow".into(), Value::Array(others.iter().map(beside).collect()));
    }
    Provenance {
        version: settings.program.version.clone(),
        commit: settings.program.commit.clone(),
        seed: settings.seed,
        device: device.name.clone(),
        workload: flows.first().map(|flow| flow.name.clone()).unwrap_or_default(),
        cost: Some(device.resolved.cost()),
        array: Some(Array::of(&device.resolved)),
        config,
    }
}

fn run(settings: &Settings, first: Option<&Flow<'_>>) -> Table {
    let window = first.map_or(settings.window, |first| first.window(settings.window));
    let mut run = Table::new();
    let mut note = |key: &str, value: Value| run.insert(key.into(), value);
    // TOML integers have 64 bits with a sign, so a larger seed is written as text.
    let seed = i64::try_from(settings.seed).map_or_else(|_| settings.seed.to_string().into(), Value::Integer);
    note("seed", seed);
    note("verify", settings.verify.into());
    if let Some(first) = first {
        match first.pacing {
            Some(Pacing::Closed { depth }) => drop(note("depth", i64::from(depth).into())),
            Some(Pacing::Open) => drop(note("open", true.into())),
            // Only a trace has a replay.
            Some(Pacing::Replay { .. }) | None => {}
        }
        if first.queue.get() > 0 {
            note("queue", i64::from(first.queue.get()).into());
        }
        if first.placement.get() > 0 {
            note("placement-id", i64::from(first.placement.get()).into());
        }
    }
    if settings.fairness {
        note("fairness", true.into());
    }
    if let Some(factor) = settings.time_scale {
        note("time-scale", factor.into());
    }
    if let Some(interval) = settings.course.and_then(|course| course.interval) {
        note("series", interval.exact().into());
    }
    match window.warm_up {
        WarmUp::None => {}
        WarmUp::Requests(requests) => drop(note("warm-up", requests.cast_signed().into())),
        WarmUp::Time(span) => drop(note("warm-up", span.exact().into())),
        WarmUp::Bytes(bytes) => drop(note("warm-up", bytes.exact().into())),
        WarmUp::Capacities(times) => drop(note("warm-up", format!("{times}x").into())),
        WarmUp::Steady(Steady { metric, round, .. }) => {
            drop(note("until", TargetState::Steady(metric).to_string().into()));
            drop(note("round", round.to_string().into()));
        }
    }
    match window.stop {
        Stop::AtEnd => {}
        Stop::Requests(limit) => drop(note("limit", limit.cast_signed().into())),
        Stop::Time(span) => drop(note("measure", span.exact().into())),
        Stop::Bytes(bytes) => drop(note("measure", bytes.exact().into())),
        Stop::Capacities(times) => drop(note("measure", format!("{times}x").into())),
        Stop::Worn(round) => {
            drop(note("until", TargetState::Worn.to_string().into()));
            if let Some(round) = round {
                drop(note("round", round.to_string().into()));
            }
            if let Some(rounds) = settings.rounds {
                drop(note("rounds", i64::from(rounds).into()));
            }
            if settings.warranty != WARRANTY {
                drop(note("warranty", settings.warranty.exact().into()));
            }
        }
    }
    if !settings.steps.is_empty() {
        let steps: Vec<Value> = settings.steps.iter().map(|step| step.to_string().into()).collect();
        note("precondition", steps.into());
    }
    if let Some(storage) = settings.storage {
        note("age", storage.to_string().into());
    }
    if let Some(temperature) = settings.temperature {
        note("temperature", temperature.exact().into());
    }
    if let Some(path) = &settings.load {
        note("snapshot", path.display().to_string().into());
    }
    run
}

fn beside(flow: &Flow<'_>) -> Value {
    let mut table = Table::from_iter([
        ("name".to_owned(), flow.name.clone().into()),
        ("queue".to_owned(), i64::from(flow.queue.get()).into()),
        ("workload".to_owned(), Value::Table(flow.config.clone())),
    ]);
    if flow.placement.get() > 0 {
        table.insert("placement-id".into(), i64::from(flow.placement.get()).into());
    }
    match flow.pacing {
        Some(Pacing::Closed { depth }) => drop(table.insert("depth".into(), i64::from(depth).into())),
        Some(Pacing::Open) => drop(table.insert("open".into(), true.into())),
        Some(Pacing::Replay { .. }) | None => {}
    }
    table.into()
}
