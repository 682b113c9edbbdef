//! Metrics of power management: `power.NAME`.

use super::dimension::Dimension;
use crate::summary::PowerSummary;

/// The part of each name behind `power.`.
pub(super) const NAMES: [&str; 11] = [
    "mean",
    "active",
    "idle",
    "states",
    "wakes",
    "wake-time",
    "throttled",
    "throttle-time",
    "hottest",
    "capped",
    "cap-time",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PowerStat {
    name: &'static str,
    dimension: Dimension,
}

impl PowerStat {
    /// The metric `power.NAME`; `None` if there is no such name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let name = NAMES.into_iter().find(|known| *known == name)?;
        let dimension = match name {
            "active" | "idle" | "states" => Dimension::Share,
            "wakes" | "throttled" | "capped" => Dimension::Count,
            "wake-time" | "throttle-time" | "cap-time" => Dimension::Time,
            _ => Dimension::Plain,
        };
        Some(Self { name, dimension })
    }

    pub(super) const fn dimension(&self) -> Dimension {
        self.dimension
    }

    /// The value in a summary; `None` if the run has no such number.
    pub(super) fn value(&self, power: &PowerSummary) -> Option<f64> {
        let states = power.states_s();
        let all = power.active_s + power.idle_s + power.transition_s + states;
        let share = |seconds: f64| (all > 0.0).then(|| seconds / all);
        match self.name {
            "mean" => power.mean_w,
            "active" => share(power.active_s),
            "idle" => share(power.idle_s),
            "states" => share(states),
            "wakes" => Some(power.wakes as f64),
            "wake-time" => Some(power.wake_s * 1e6),
            "throttled" => Some(power.throttled as f64),
            "throttle-time" => Some(power.throttle_s * 1e6),
            "capped" => power.capped.map(|waits| waits as f64),
            "cap-time" => power.cap_s.map(|seconds| seconds * 1e6),
            _ => power.hottest_celsius,
        }
    }
}
