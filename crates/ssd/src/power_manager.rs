//! Power states, temperature and throttle of a drive with `[power]`. Power states and the throttle delay requests before the drive
//! takes them.
//!
//! A drive with power is active while a request or a flash command is under way, and idle otherwise. The power state of an idle drive
//! is a function of time ([`states`]), so an idle drive has no events.
//!
//! ```text
//!          request: after the exit latency
//!   idle -----------------------------------> active -- nothing under way --> idle (operational, then power states)
//!          work of the FTL: at once
//! ```

mod states;
mod thermal;

use base::units::{Bytes, Energy, Power, Span, Time};
use flash::backend::{AdmissionDelay, PowerCapCounters};

use crate::spec::PowerSpec;
use states::{IdlePhase, visit_phases};
use thermal::Thermal;

/// The number of entries into one power state, and the time in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounters {
    /// The number of entries, interrupted ones included.
    pub entries: u64,
    /// The time in the state, without the entry and the exit.
    pub residency: Span,
}

/// The operational power state that the host has selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PowerStateSelection {
    /// The index of the state in `power.operational`, from 0.
    pub state: u32,
    /// The number of operational states that the drive describes.
    pub states: u32,
}

/// Counters of the power management of a drive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PowerCounters {
    /// The time for which requests or flash commands were under way.
    pub active: Span,
    /// The time without work, in no power state.
    pub idle: Span,
    /// The time in which the drive entered and left power states.
    pub transition: Span,
    /// The operational power state; `None` if the drive describes none.
    pub operational: Option<PowerStateSelection>,
    /// Counters of each non-operational power state, in the order of the device file.
    pub states: Vec<StateCounters>,
    /// The number of requests that found the drive in a power state or on its way there.
    pub wakes: u64,
    /// The sum of the waits of these requests for the drive.
    pub wake_time: Span,
    /// The number of requests that the throttle delayed.
    pub throttled: u64,
    /// The time for which the throttle kept the next request waiting.
    pub throttle_time: Span,
    /// Counters of the power cap; `None` without a cap.
    pub cap: Option<PowerCapCounters>,
    /// The sum, over the dies, of the time that a die was idle while the drive was in no power state.
    pub idle_dies: Span,
    /// The present and the highest temperature in degrees Celsius; `None` without a thermal model.
    pub celsius: Option<[f64; 2]>,
}

impl PowerCounters {
    /// The counts since `earlier`. The operational power state, the temperatures, and the highest power below the cap
    /// have no difference: their values are those of `self`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let state = |(to, from): (&StateCounters, &StateCounters)| StateCounters {
            entries: to.entries - from.entries,
            residency: to.residency - from.residency,
        };
        Self {
            active: self.active - earlier.active,
            idle: self.idle - earlier.idle,
            transition: self.transition - earlier.transition,
            operational: self.operational,
            states: self.states.iter().zip(&earlier.states).map(state).collect(),
            wakes: self.wakes - earlier.wakes,
            wake_time: self.wake_time - earlier.wake_time,
            throttled: self.throttled - earlier.throttled,
            throttle_time: self.throttle_time - earlier.throttle_time,
            idle_dies: self.idle_dies.saturating_sub(earlier.idle_dies),
            cap: self.cap.zip(earlier.cap).map(|(to, from)| PowerCapCounters {
                waits: to.waits - from.waits,
                wait_time: to.wait_time - from.wait_time,
                highest: to.highest,
            }),
            celsius: self.celsius,
        }
    }
}

/// The condition of the drive, and the time of its begin.
#[derive(Clone, Copy, Debug)]
enum Condition {
    /// The drive leaves a power state from `woken` to `from`, and is active from then on.
    Active { woken: Time, from: Time },
    /// Nothing is under way.
    Idle { since: Time },
    /// The drive has no power.
    Off,
}

/// The power management of a drive.
#[derive(Clone, Debug)]
pub(crate) struct PowerManager {
    spec: PowerSpec,
    condition: Condition,
    counters: PowerCounters,
    /// The operational power state that the host has selected.
    state: u32,
    transition_until: Time,
    thermal: Option<Thermal>,
    /// The time until which the throttle delays the next request.
    throttled_until: Time,
    /// The latest time for which an event was queued that admits requests.
    admission_event: Option<Time>,
}

impl PowerManager {
    pub(crate) fn new(spec: &PowerSpec, now: Time) -> Self {
        Self {
            condition: Condition::Idle { since: now },
            counters: PowerCounters {
                states: vec![StateCounters::default(); spec.states.len()],
                ..PowerCounters::default()
            },
            state: spec.select,
            transition_until: Time::ZERO,
            thermal: spec.thermal.map(|rules| Thermal::new(rules, now)),
            throttled_until: Time::ZERO,
            admission_event: None,
            spec: spec.clone(),
        }
    }

    /// Makes an idle drive active at once, for work that needs no admission: the FTL's own work, or work of a request
    /// which the drive has taken.
    #[inline]
    pub(crate) fn note_busy(&mut self, now: Time) {
        if let Condition::Idle { .. } = self.condition {
            self.activate(now, Span::ZERO);
        }
    }

    /// Takes an idle drive out of its power state when a request arrives.
    #[inline]
    pub(crate) fn wake_for_request(&mut self, now: Time) {
        if let Condition::Idle { since } = self.condition {
            let delay = visit_phases(&self.spec.states, now - since, |_, _| {}).wake_time(&self.spec.states);
            self.counters.wakes += u64::from(!delay.is_zero());
            self.counters.wake_time += delay;
            self.activate(now, delay);
        }
    }

    /// Makes the drive active after `delay`.
    fn activate(&mut self, now: Time, delay: Span) {
        self.count_condition(now);
        self.condition = Condition::Active { woken: now, from: now + delay };
    }

    /// Makes the drive idle when the last work under way has ended.
    #[inline]
    pub(crate) fn note_idle(&mut self, now: Time) {
        if let Condition::Active { .. } = self.condition {
            self.count_condition(now);
            self.condition = Condition::Idle { since: now };
        }
    }

    /// Notes that the power fails or is switched off. The flash has spent `flash` so far.
    pub(crate) fn power_off(&mut self, now: Time, flash: Energy) {
        self.read_sensor(now, flash);
        self.count_condition(now);
        self.condition = Condition::Off;
        (self.throttled_until, self.admission_event) = (now, None);
        (self.state, self.transition_until) = (self.spec.select, now);
    }

    /// Selects an operational power state for the host. Returns the power that the flash arrays may draw in it, and the
    /// time for which the drive takes no request; `None` if there is no such state.
    pub(crate) fn select_state(&mut self, now: Time, state: u32) -> Option<(Power, Span)> {
        let spec = &self.spec;
        let (before, after) = (spec.operational.get(self.state as usize)?, spec.operational.get(state as usize)?);
        let transition = if state == self.state { Span::ZERO } else { before.exit + after.entry };
        self.transition_until = self.transition_until.max(now) + transition;
        self.state = state;
        Some((spec.array_power(after), self.transition_until - now))
    }

    /// The power that the flash arrays may draw in the selected operational power state; `None` if the drive describes
    /// none.
    pub(crate) fn array_power(&self) -> Option<Power> {
        self.spec.operational.get(self.state as usize).map(|state| self.spec.array_power(state))
    }

    /// Notes that the power is back, and the drive idle. The flash has spent `flash` so far.
    pub(crate) fn power_on(&mut self, now: Time, flash: Energy) {
        self.read_sensor(now, flash);
        self.condition = Condition::Idle { since: now };
    }

    /// The time until which the drive takes no request, and the reason; `None` if it takes requests now.
    #[inline]
    pub(crate) fn admission_delay(&self, now: Time) -> Option<(Time, AdmissionDelay)> {
        match self.condition {
            Condition::Active { from, .. } if now < from => Some((from, AdmissionDelay::PowerState)),
            _ if now < self.transition_until => Some((self.transition_until, AdmissionDelay::PowerState)),
            _ if now < self.throttled_until => Some((self.throttled_until, AdmissionDelay::Throttle)),
            _ => None,
        }
    }

    /// Notes that a request waits until the end of a delay. Returns true if the caller has to queue an event for that
    /// time.
    pub(crate) fn needs_admission_event(&mut self, now: Time, (until, why): (Time, AdmissionDelay)) -> bool {
        if self.admission_event == Some(until) {
            return false;
        }
        self.admission_event = Some(until);
        if why == AdmissionDelay::Throttle {
            self.counters.throttled += 1;
            self.counters.throttle_time += until - now;
        }
        true
    }

    /// True if the sensor must be read before the drive takes a request.
    #[inline]
    pub(crate) fn is_sensor_due(&self, now: Time) -> bool {
        self.thermal.as_ref().is_some_and(|thermal| thermal.is_due(now))
    }

    /// Reads the sensor; the flash has spent `flash` so far.
    pub(crate) fn read_sensor(&mut self, now: Time, flash: Energy) {
        let spent = flash + self.energy_spent(now);
        if let Some(thermal) = &mut self.thermal {
            thermal.read(now, spent);
        }
    }

    /// Makes the throttle delay the next request after a request of `bytes` bytes.
    #[inline]
    pub(crate) fn throttle_after(&mut self, now: Time, bytes: Bytes) {
        if let Some(thermal) = &self.thermal {
            let time = thermal.throttle_time(bytes);
            if !time.is_zero() {
                self.throttled_until = self.throttled_until.max(now) + time;
            }
        }
    }

    /// Adds the time in the present condition until `now` to the counters.
    fn count_condition(&mut self, now: Time) {
        let counters = &mut self.counters;
        match self.condition {
            Condition::Active { woken, from } => {
                counters.transition += now.min(from) - woken;
                counters.active += now.saturating_since(from);
            }
            Condition::Idle { since } => {
                _ = visit_phases(&self.spec.states, now - since, |phase, span| match phase {
                    IdlePhase::Operational => counters.idle += span,
                    IdlePhase::Entry(state) => {
                        counters.states[state].entries += 1;
                        counters.transition += span;
                    }
                    IdlePhase::State(state) => counters.states[state].residency += span,
                })
            }
            Condition::Off => {}
        }
    }

    /// The energy that the controller and the power states have spent until `now`.
    pub(crate) fn energy_spent(&self, now: Time) -> Energy {
        let PowerSpec { controller, states, .. } = &self.spec;
        let [active, idle] = [controller.active, controller.idle];
        let in_condition = match self.condition {
            Condition::Active { woken, from } => {
                idle.during(now.min(from) - woken) + active.during(now.saturating_since(from))
            }
            Condition::Idle { since } => {
                let mut sum = Energy::ZERO;
                visit_phases(states, now - since, |phase, span| {
                    sum += match phase {
                        IdlePhase::Operational | IdlePhase::Entry(_) => idle.during(span),
                        IdlePhase::State(state) => states[state].power.during(span),
                    };
                });
                sum
            }
            Condition::Off => Energy::ZERO,
        };
        let all = self.counters.energies(&self.spec).map(|(_, energy)| energy);
        all.into_iter().sum::<Energy>() + in_condition
    }

    /// The time with power but in no power state, until `now`.
    pub(crate) fn operational_time(&self, now: Time) -> Span {
        let PowerCounters { active, idle, transition, .. } = self.counters;
        let in_condition = match self.condition {
            Condition::Active { woken, .. } => now - woken,
            Condition::Idle { since } => {
                let mut sum = Span::ZERO;
                visit_phases(&self.spec.states, now - since, |phase, span| {
                    sum += if matches!(phase, IdlePhase::State(_)) { Span::ZERO } else { span };
                });
                sum
            }
            Condition::Off => Span::ZERO,
        };
        active + idle + transition + in_condition
    }

    /// The counters at `now`. The flash has spent `flash` so far, and the idle times of its dies add up to `idle_dies`.
    pub(crate) fn counters(&self, now: Time, flash: Energy, idle_dies: Span) -> PowerCounters {
        let mut copy = Self { thermal: None, ..self.clone() };
        copy.count_condition(now);
        let celsius = self.thermal.as_ref().map(|thermal| {
            let celsius = thermal.celsius(now, flash + self.energy_spent(now));
            [celsius, thermal.hottest(celsius)]
        });
        let states = self.spec.operational.len() as u32;
        let operational = (states > 0).then_some(PowerStateSelection { state: self.state, states });
        PowerCounters { idle_dies, celsius, operational, ..copy.counters }
    }
}

impl PowerCounters {
    /// The energy that the controller and the power states spent in the counted time, by name.
    pub(crate) fn energies(&self, spec: &PowerSpec) -> [(&'static str, Energy); 2] {
        let PowerSpec { controller, states, .. } = spec;
        let controller = controller.active.during(self.active) + controller.idle.during(self.idle + self.transition);
        let states =
            states.iter().zip(&self.states).map(|(state, counters)| state.power.during(counters.residency)).sum();
        [("controller", controller), ("power states", states)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{ControllerPower, OperationalState, PowerState};

    const fn ms(ms: u64) -> Time {
        Time::from_ps(ms * 1_000_000_000)
    }

    fn manager() -> PowerManager {
        let watts = |w: u64| Power::from_uw(w * 1_000_000);
        let controller = ControllerPower { active: watts(3), idle: watts(1) };
        let [idle_after, entry, exit] = [Span::from_ms(100), Span::from_ms(2), Span::from_ms(8)];
        let states = vec![PowerState { power: Power::from_uw(10_000), idle_after, entry, exit }];
        PowerManager::new(&PowerSpec { controller, states, ..PowerSpec::default() }, Time::ZERO)
    }

    #[test]
    fn the_first_request_after_an_idle_time_waits_for_the_exit() {
        let mut manager = manager();
        manager.wake_for_request(ms(40));
        assert_eq!(manager.admission_delay(ms(40)), None, "the drive is operational");
        manager.note_idle(ms(50));
        manager.wake_for_request(ms(1000));
        assert_eq!(manager.admission_delay(ms(1000)), Some((ms(1008), AdmissionDelay::PowerState)));
        assert_eq!(manager.admission_delay(ms(1008)), None);
        manager.note_idle(ms(1010));
        manager.wake_for_request(ms(1111));
        assert_eq!(
            manager.admission_delay(ms(1111)),
            Some((ms(1120), AdmissionDelay::PowerState)),
            "the rest of the entry, too"
        );
        let counters = manager.counters(ms(1120), Energy::ZERO, Span::ZERO);
        assert_eq!((counters.wakes, counters.wake_time), (2, Span::from_ms(17)));
        assert_eq!(counters.states, [StateCounters { entries: 2, residency: Span::from_ms(848) }]);
        assert_eq!((counters.active, counters.idle), (Span::from_ms(12), Span::from_ms(240)));
        assert_eq!(counters.transition, Span::from_ms(2 + 8 + 1 + 9));
    }

    #[test]
    fn the_energy_is_the_time_in_each_condition_times_its_power() {
        let mut manager = manager();
        manager.wake_for_request(ms(40));
        manager.note_idle(ms(50));
        manager.wake_for_request(ms(1000));
        let joules = 3.0 * 0.010 + 1.0 * (0.040 + 0.100 + 0.002) + 0.010 * 0.848;
        assert!((manager.energy_spent(ms(1000)).as_joules() - joules).abs() < 1e-12);
        let counters = manager.counters(ms(1020), Energy::ZERO, Span::ZERO);
        let sum: Energy = counters.energies(&manager.spec).map(|(_, energy)| energy).into_iter().sum();
        assert!((sum.as_joules() - joules - 1.0 * 0.008 - 3.0 * 0.012).abs() < 1e-12);
        assert!((manager.energy_spent(ms(1020)).as_joules() - sum.as_joules()).abs() < 1e-12);
        assert_eq!(manager.operational_time(ms(1020)), Span::from_ms(1020 - 848));
    }

    #[test]
    fn a_transition_between_operational_states_takes_the_exit_of_one_and_the_entry_of_the_other() {
        let state = |watts: u64, entry, exit| {
            let [entry, exit] = [entry, exit].map(Span::from_ms);
            OperationalState { power: Power::from_uw(watts * 1_000_000), entry, exit }
        };
        let spec = PowerSpec { operational: vec![state(8, 1, 2), state(5, 4, 8)], ..manager().spec };
        let mut manager = PowerManager::new(&spec, Time::ZERO);
        let watts = |watts: u64| Power::from_uw(watts * 1_000_000);
        assert_eq!(manager.array_power(), Some(watts(5)), "the controller draws 3 W");
        assert_eq!(manager.select_state(ms(10), 2), None, "that is the first non-operational state");
        assert_eq!(manager.select_state(ms(10), 1), Some((watts(2), Span::from_ms(2 + 4))));
        manager.wake_for_request(ms(11));
        assert_eq!(manager.admission_delay(ms(11)), Some((ms(16), AdmissionDelay::PowerState)));
        assert_eq!(manager.select_state(ms(12), 0), Some((watts(5), Span::from_ms(4 + 8 + 1))), "behind the first one");
        assert_eq!(manager.select_state(ms(25), 0), Some((watts(5), Span::ZERO)));
        assert_eq!(manager.admission_delay(ms(25)), None);
        _ = manager.select_state(ms(30), 1);
        let selected = |manager: &PowerManager, at| manager.counters(ms(at), Energy::ZERO, Span::ZERO).operational;
        assert_eq!(selected(&manager, 30), Some(PowerStateSelection { state: 1, states: 2 }));
        manager.power_off(ms(31), Energy::ZERO);
        manager.power_on(ms(32), Energy::ZERO);
        assert_eq!(selected(&manager, 32), Some(PowerStateSelection { state: 0, states: 2 }), "as after any reset");
        assert_eq!(manager.admission_delay(ms(32)), None);
    }

    #[test]
    fn the_ftls_own_work_begins_at_once_and_a_drive_without_power_spends_nothing() {
        let mut manager = manager();
        manager.note_busy(ms(500));
        assert_eq!(manager.admission_delay(ms(500)), None);
        manager.power_off(ms(600), Energy::ZERO);
        let spent = manager.energy_spent(ms(600));
        assert_eq!(manager.energy_spent(ms(9000)), spent);
        manager.power_on(ms(9000), Energy::ZERO);
        assert_eq!(manager.operational_time(ms(9050)), Span::from_ms(100 + 2 + 100 + 50));
    }
}
