//! Power states, temperature and throttle of a drive with `[power]`: what delays requests before the drive takes them.
//!
//! The manager follows two conditions of the drive: it works (a request or a flash command is under way), or it is idle. The
//! way of an idle drive through its power states is a function of time ([`states`]), so an idle drive has no events.
//!
//! ```text
//!          request: exit latency, then work
//!   idle ------------------------------------> works -- nothing under way --> idle (operational, then power states)
//!          the FTL's own work: at once
//! ```

mod states;
mod thermal;

use base::units::{Bytes, Energy, Span, Time};
use flash::backend::{AdmissionDelay, PowerCapCounters};

use crate::spec::PowerSpec;
use states::{IdlePhase, walk};
use thermal::Thermal;

/// Transitions and residency of one power state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounters {
    /// Entries, those that a request broke off included.
    pub entries: u64,
    /// Time in the state, without the entry and the exit.
    pub residency: Span,
}

/// What the power management of a drive did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PowerCounters {
    /// Time for which requests or flash commands were under way.
    pub active: Span,
    /// Time without work, in no power state.
    pub idle: Span,
    /// Time in which the drive entered and left power states.
    pub transition: Span,
    /// Each power state.
    pub states: Vec<StateCounters>,
    /// Requests that found the drive in a power state or on its way there.
    pub wakes: u64,
    /// Their waits for the drive, all together.
    pub wake_time: Span,
    /// Requests that the throttle delayed.
    pub throttled: u64,
    /// Time for which the throttle kept the next request waiting.
    pub throttle_time: Span,
    /// What the power cap did; `None` without one.
    pub cap: Option<PowerCapCounters>,
    /// Time that dies were idle while the drive was in no power state, all dies together.
    pub idle_dies: Span,
    /// The present and the highest temperature in degrees Celsius; `None` without a thermal model.
    pub celsius: Option<[f64; 2]>,
}

impl PowerCounters {
    /// The difference to `earlier`. Temperatures stay those of the later moment.
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

/// What the drive does.
#[derive(Clone, Copy, Debug)]
enum Condition {
    /// It works from the second time on; from the first one on it leaves a power state.
    Works([Time; 2]),
    /// Nothing is under way since then.
    Idle(Time),
    /// It has no power.
    Off,
}

/// The power management of a drive.
#[derive(Clone, Debug)]
pub(crate) struct PowerManager {
    spec: PowerSpec,
    condition: Condition,
    counters: PowerCounters,
    thermal: Option<Thermal>,
    /// When the throttle takes the next request.
    throttled_until: Time,
    /// The time of the event that lets requests in, if there is one.
    announced: Option<Time>,
}

impl PowerManager {
    pub(crate) fn new(spec: &PowerSpec, now: Time) -> Self {
        Self {
            condition: Condition::Idle(now),
            counters: PowerCounters {
                states: vec![StateCounters::default(); spec.states.len()],
                ..PowerCounters::default()
            },
            thermal: spec.thermal.map(|rules| Thermal::new(rules, now)),
            throttled_until: Time::ZERO,
            announced: None,
            spec: spec.clone(),
        }
    }

    /// Something is under way that no request waits for, or that the drive has already taken.
    #[inline]
    pub(crate) fn note_busy(&mut self, now: Time) {
        if let Condition::Idle(_) = self.condition {
            self.begin(now, Span::ZERO);
        }
    }

    /// A request has come.
    #[inline]
    pub(crate) fn request(&mut self, now: Time) {
        if let Condition::Idle(since) = self.condition {
            let delay = walk(&self.spec.states, now - since, |_, _| {}).wake_time(&self.spec.states);
            self.counters.wakes += u64::from(!delay.is_zero());
            self.counters.wake_time += delay;
            self.begin(now, delay);
        }
    }

    fn begin(&mut self, now: Time, delay: Span) {
        self.charge(now);
        self.condition = Condition::Works([now, now + delay]);
    }

    /// Nothing is under way any more.
    #[inline]
    pub(crate) fn note_idle(&mut self, now: Time) {
        if let Condition::Works(_) = self.condition {
            self.charge(now);
            self.condition = Condition::Idle(now);
        }
    }

    /// The power fails or is switched off: the drive has drawn `drawn` beside its controller.
    pub(crate) fn power_off(&mut self, now: Time, flash: Energy) {
        self.read_sensor(now, flash);
        self.charge(now);
        self.condition = Condition::Off;
        (self.throttled_until, self.announced) = (now, None);
    }

    pub(crate) fn power_on(&mut self, now: Time, flash: Energy) {
        self.read_sensor(now, flash);
        self.condition = Condition::Idle(now);
    }

    /// Until when no request is taken, and why; `None` if one is taken now.
    #[inline]
    pub(crate) fn delay(&self, now: Time) -> Option<(Time, AdmissionDelay)> {
        match self.condition {
            Condition::Works([_, from]) if now < from => Some((from, AdmissionDelay::PowerState)),
            _ if now < self.throttled_until => Some((self.throttled_until, AdmissionDelay::Throttle)),
            _ => None,
        }
    }

    /// Notes that a request waits until then. True if no event marks the time yet.
    pub(crate) fn announce(&mut self, now: Time, (until, why): (Time, AdmissionDelay)) -> bool {
        if self.announced == Some(until) {
            return false;
        }
        self.announced = Some(until);
        if why == AdmissionDelay::Throttle {
            self.counters.throttled += 1;
            self.counters.throttle_time += until - now;
        }
        true
    }

    /// True if the sensor is to be read before the drive takes a request.
    #[inline]
    pub(crate) fn is_sensor_due(&self, now: Time) -> bool {
        self.thermal.as_ref().is_some_and(|thermal| thermal.is_due(now))
    }

    /// Reads the sensor; the flash has spent `flash` so far.
    pub(crate) fn read_sensor(&mut self, now: Time, flash: Energy) {
        let spent = flash + self.spent(now);
        if let Some(thermal) = &mut self.thermal {
            thermal.read(now, spent);
        }
    }

    /// The drive takes a request of this size.
    #[inline]
    pub(crate) fn take(&mut self, now: Time, bytes: Bytes) {
        if let Some(thermal) = &self.thermal {
            let time = thermal.throttle_time(bytes);
            if !time.is_zero() {
                self.throttled_until = self.throttled_until.max(now) + time;
            }
        }
    }

    /// Charges the time of the condition until `now`.
    fn charge(&mut self, now: Time) {
        let counters = &mut self.counters;
        match self.condition {
            Condition::Works([leaves, works]) => {
                counters.transition += now.min(works) - leaves;
                counters.active += now.saturating_since(works);
            }
            Condition::Idle(since) => {
                _ = walk(&self.spec.states, now - since, |phase, span| match phase {
                    IdlePhase::Operational => counters.idle += span,
                    IdlePhase::Entering(state) => {
                        counters.states[state].entries += 1;
                        counters.transition += span;
                    }
                    IdlePhase::In(state) => counters.states[state].residency += span,
                })
            }
            Condition::Off => {}
        }
    }

    /// What the controller and the power states have spent until `now`.
    pub(crate) fn spent(&self, now: Time) -> Energy {
        let PowerSpec { controller, states, .. } = &self.spec;
        let [active, idle] = [controller.active, controller.idle];
        let under_way = match self.condition {
            Condition::Works([leaves, works]) => {
                idle.during(now.min(works) - leaves) + active.during(now.saturating_since(works))
            }
            Condition::Idle(since) => {
                let mut sum = Energy::ZERO;
                walk(states, now - since, |phase, span| {
                    sum += match phase {
                        IdlePhase::Operational | IdlePhase::Entering(_) => idle.during(span),
                        IdlePhase::In(state) => states[state].power.during(span),
                    };
                });
                sum
            }
            Condition::Off => Energy::ZERO,
        };
        let all = self.counters.energies(&self.spec).map(|(_, energy)| energy);
        all.into_iter().sum::<Energy>() + under_way
    }

    /// Time in no power state until `now`.
    pub(crate) fn operational(&self, now: Time) -> Span {
        let PowerCounters { active, idle, transition, .. } = self.counters;
        let under_way = match self.condition {
            Condition::Works([leaves, _]) => now - leaves,
            Condition::Idle(since) => {
                let mut sum = Span::ZERO;
                walk(&self.spec.states, now - since, |phase, span| {
                    sum += if matches!(phase, IdlePhase::In(_)) { Span::ZERO } else { span };
                });
                sum
            }
            Condition::Off => Span::ZERO,
        };
        active + idle + transition + under_way
    }

    /// The counters at `now`, by when the flash has spent `flash`.
    pub(crate) fn counters(&self, now: Time, flash: Energy, idle_dies: Span) -> PowerCounters {
        let mut copy = Self { thermal: None, ..self.clone() };
        copy.charge(now);
        let celsius = self.thermal.as_ref().map(|thermal| {
            let celsius = thermal.celsius(now, flash + self.spent(now));
            [celsius, thermal.hottest(celsius)]
        });
        PowerCounters { idle_dies, celsius, ..copy.counters }
    }
}

impl PowerCounters {
    /// What the controller and the power states spent in the counted time.
    pub(crate) fn energies(&self, spec: &PowerSpec) -> [(&'static str, Energy); 2] {
        let PowerSpec { controller, states, .. } = spec;
        let controller = controller.active.during(self.active) + controller.idle.during(self.idle + self.transition);
        let states = states.iter().zip(&self.states).map(|(state, of)| state.power.during(of.residency)).sum();
        [("controller", controller), ("power states", states)]
    }
}

#[cfg(test)]
mod tests {
    use base::units::Power;

    use super::*;
    use crate::spec::{ControllerPower, PowerState};

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
        manager.request(ms(40));
        assert_eq!(manager.delay(ms(40)), None, "the drive is operational");
        manager.note_idle(ms(50));
        manager.request(ms(1000));
        assert_eq!(manager.delay(ms(1000)), Some((ms(1008), AdmissionDelay::PowerState)));
        assert_eq!(manager.delay(ms(1008)), None);
        manager.note_idle(ms(1010));
        manager.request(ms(1111));
        assert_eq!(manager.delay(ms(1111)), Some((ms(1120), AdmissionDelay::PowerState)), "the rest of the entry, too");
        let counters = manager.counters(ms(1120), Energy::ZERO, Span::ZERO);
        assert_eq!((counters.wakes, counters.wake_time), (2, Span::from_ms(17)));
        assert_eq!(counters.states, [StateCounters { entries: 2, residency: Span::from_ms(848) }]);
        assert_eq!((counters.active, counters.idle), (Span::from_ms(12), Span::from_ms(240)));
        assert_eq!(counters.transition, Span::from_ms(2 + 8 + 1 + 9));
    }

    #[test]
    fn the_energy_is_the_time_in_each_condition_times_its_power() {
        let mut manager = manager();
        manager.request(ms(40));
        manager.note_idle(ms(50));
        manager.request(ms(1000));
        let joules = 3.0 * 0.010 + 1.0 * (0.040 + 0.100 + 0.002) + 0.010 * 0.848;
        assert!((manager.spent(ms(1000)).as_joules() - joules).abs() < 1e-12);
        let counters = manager.counters(ms(1020), Energy::ZERO, Span::ZERO);
        let sum: Energy = counters.energies(&manager.spec).map(|(_, energy)| energy).into_iter().sum();
        assert!((sum.as_joules() - joules - 1.0 * 0.008 - 3.0 * 0.012).abs() < 1e-12);
        assert!((manager.spent(ms(1020)).as_joules() - sum.as_joules()).abs() < 1e-12);
        assert_eq!(manager.operational(ms(1020)), Span::from_ms(1020 - 848));
    }

    #[test]
    fn the_ftls_own_work_begins_at_once_and_a_drive_without_power_spends_nothing() {
        let mut manager = manager();
        manager.note_busy(ms(500));
        assert_eq!(manager.delay(ms(500)), None);
        manager.power_off(ms(600), Energy::ZERO);
        let spent = manager.spent(ms(600));
        assert_eq!(manager.spent(ms(9000)), spent);
        manager.power_on(ms(9000), Energy::ZERO);
        assert_eq!(manager.operational(ms(9050)), Span::from_ms(100 + 2 + 100 + 50));
    }
}
