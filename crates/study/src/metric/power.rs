//! The metrics of power management by name.

use super::dimension::Dimension;
use crate::summary::PowerSummary;

/// The names.
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
    /// The metric whose name has this part after `power`.
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

    pub(super) fn of(&self, of: &PowerSummary) -> Option<f64> {
        let states = of.states_s();
        let all = of.active_s + of.idle_s + of.transition_s + states;
        let share = |seconds: f64| (all > 0.0).then(|| seconds / all);
        match self.name {
            "mean" => of.mean_w,
            "active" => share(of.active_s),
            "idle" => share(of.idle_s),
            "states" => share(states),
            "wakes" => Some(of.wakes as f64),
            "wake-time" => Some(of.wake_s * 1e6),
            "throttled" => Some(of.throttled as f64),
            "throttle-time" => Some(of.throttle_s * 1e6),
            "capped" => of.capped.map(|waits| waits as f64),
            "cap-time" => of.cap_s.map(|seconds| seconds * 1e6),
            _ => of.hottest_celsius,
        }
    }
}
