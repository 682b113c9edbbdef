//! Power states, heat and power in a summary.

use base::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::{PowerCounters, PowerStateSelection};

/// Counters of the power management of a drive.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct PowerSummary {
    /// The mean power of the drive in watts; missing without energies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_w: Option<f64>,
    /// Seconds for which requests or flash commands were under way.
    pub active_s: f64,
    /// Seconds without work, in no power state.
    pub idle_s: f64,
    /// Seconds in which the drive entered and left power states.
    pub transition_s: f64,
    /// The operational power state that the host has selected; missing if the drive describes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operational: Option<OperationalStateSummary>,
    /// Entries and residency of each non-operational power state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<PowerStateSummary>,
    /// The number of requests that found the drive in a power state or on its way there.
    pub wakes: u64,
    /// Seconds that all `wakes` requests waited for the drive, added up.
    pub wake_s: f64,
    /// The number of requests that the throttle delayed.
    pub throttled: u64,
    /// Seconds for which the throttle kept the next request waiting.
    pub throttle_s: f64,
    /// The number of array operations that waited for the power cap or for the limit of an operational power state;
    /// missing without either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capped: Option<u64>,
    /// Seconds that these operations waited, added up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap_s: Option<f64>,
    /// Degrees Celsius at the end; missing without a thermal model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub celsius: Option<f64>,
    /// The highest temperature since power-on, in degrees Celsius.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hottest_celsius: Option<f64>,
}

/// The operational power state of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct OperationalStateSummary {
    /// The number of the state at the end of the run.
    pub state: u32,
    /// The number of operational power states of the drive. The non-operational states have the numbers after them.
    pub states: u32,
}

/// One non-operational power state.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct PowerStateSummary {
    /// The number of entries, interrupted ones included.
    pub entries: u64,
    /// Simulated seconds that the drive spent in the state.
    pub residency_s: f64,
}

impl PowerSummary {
    /// The summary of counters over `span`, in which the drive spent `joules`.
    pub(super) fn new(counted: &PowerCounters, joules: Option<f64>, span: Span) -> Self {
        let seconds = Span::as_secs_f64;
        Self {
            mean_w: joules.filter(|_| !span.is_zero()).map(|joules| joules / seconds(span)),
            active_s: seconds(counted.active),
            idle_s: seconds(counted.idle),
            transition_s: seconds(counted.transition),
            operational: counted
                .operational
                .map(|PowerStateSelection { state, states }| OperationalStateSummary { state, states }),
            states: counted
                .states
                .iter()
                .map(|state| PowerStateSummary { entries: state.entries, residency_s: seconds(state.residency) })
                .collect(),
            wakes: counted.wakes,
            wake_s: seconds(counted.wake_time),
            throttled: counted.throttled,
            throttle_s: seconds(counted.throttle_time),
            capped: counted.cap.map(|cap| cap.waits),
            cap_s: counted.cap.map(|cap| seconds(cap.wait_time)),
            celsius: counted.celsius.map(|[now, _]| now),
            hottest_celsius: counted.celsius.map(|[_, hottest]| hottest),
        }
    }

    /// The number of the first non-operational power state.
    #[must_use]
    pub fn first_idle_state(&self) -> u32 {
        self.operational.map_or(1, |operational| operational.states)
    }

    /// Seconds in non-operational power states.
    #[must_use]
    pub fn states_s(&self) -> f64 {
        self.states.iter().map(|state| state.residency_s).sum()
    }
}
