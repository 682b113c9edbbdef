//! The device's side of its power management: it reports work, requests and the energy of the flash to the [`PowerManager`], which
//! decides when requests are admitted.

use base::io::Io;
use base::units::{Energy, Span};
use flash::nand::Sector;
use ftl::{Event, HostEvent, Sabotage};

use crate::power_draw::{array_energy, idle_energy};
use crate::power_manager::PowerManager;
use crate::{PowerCounters, ResolvedDevice, Ssd};

impl<S: Sector> Ssd<S> {
    /// Takes an idle drive out of its power state when a request arrives.
    #[cold]
    pub(crate) fn wake_for_request(&mut self) {
        let now = self.now;
        if let Some(power) = &mut self.power {
            power.wake_for_request(now);
        }
    }

    /// True if neither a power state nor the throttle delays the next request. Otherwise an event marks the end of the delay.
    #[cold]
    pub(crate) fn power_admits_request(&mut self) -> bool {
        let now = self.now;
        if self.power.as_ref().is_some_and(|power| power.is_sensor_due(now)) {
            self.read_sensor();
        }
        let Some(power) = &mut self.power else { return true };
        let Some(delay @ (until, why)) = power.admission_delay(now) else { return true };
        if power.needs_admission_event(now, delay) && !self.resolved.planted.is(Sabotage::AdmissionForgotten) {
            self.events.push(until, Event::Host(HostEvent::Admission));
            if let Some(observer) = self.backend.observer_mut() {
                observer.admission_delayed(now, until, why);
            }
        }
        false
    }

    /// Makes the throttle delay the request after this request.
    #[cold]
    pub(crate) fn throttle_after(&mut self, io: &Io) {
        let now = self.now;
        if let Some(power) = &mut self.power {
            power.throttle_after(now, io.sectors.bytes());
        }
    }

    /// Tells the power management whether the drive is active, after all events of this moment.
    #[cold]
    pub(crate) fn note_power_condition(&mut self) {
        let is_active = !self.ready
            || !self.host.active.is_empty()
            || self.host.queues.waiting() > 0
            || self.backend.is_at_work()
            || self.slc_array.as_ref().is_some_and(|slc_array| slc_array.is_at_work());
        let now = self.now;
        if let Some(power) = &mut self.power {
            if is_active { power.note_busy(now) } else { power.note_idle(now) }
        }
    }

    /// Notes that the power fails or is switched off.
    pub(crate) fn note_power_off(&mut self) {
        let (now, flash) = (self.now, self.flash_energy());
        if let Some(power) = &mut self.power {
            power.power_off(now, flash);
        }
    }

    pub(crate) fn note_power_on(&mut self) {
        let (now, flash) = (self.now, self.flash_energy());
        if let Some(power) = &mut self.power {
            power.power_on(now, flash);
            if let Some(peak) = power.array_power() {
                self.backend.set_peak_power(now, peak, &mut self.events);
            }
        }
    }

    /// The host selects an operational power state (Set Features, Power Management). It lasts until the power goes. Returns the time
    /// for which the drive takes no request; `None` if the drive has no such state.
    pub fn select_power_state(&mut self, state: u32) -> Option<Span> {
        let now = self.now;
        let (peak, transition) = self.power.as_mut()?.select_state(now, state)?;
        self.backend.set_peak_power(now, peak, &mut self.events);
        Some(transition)
    }

    /// Starts the power management anew: at the temperature of the air, and idle from now on.
    pub(crate) fn reset_power(&mut self) {
        let spec = self.resolved.spec.power.as_ref();
        self.power = spec.map(|power| Box::new(PowerManager::new(power, self.now)));
    }

    pub(crate) fn power_counters(&self) -> Option<Box<PowerCounters>> {
        let power = self.power.as_ref()?;
        let counters = power.counters(self.now, self.flash_energy(), self.idle_dies());
        Some(Box::new(PowerCounters { cap: self.backend.power_cap(), ..counters }))
    }

    fn read_sensor(&mut self) {
        let (now, flash) = (self.now, self.flash_energy());
        if let Some(power) = &mut self.power {
            power.read_sensor(now, flash);
        }
    }

    /// The energy that the flash has spent so far; zero without power management.
    fn flash_energy(&self) -> Energy {
        if self.power.is_none() {
            return Energy::ZERO;
        }
        let ResolvedDevice { part, gang, .. } = &self.resolved;
        let first = array_energy(part, *gang, &self.backend.account(self.now));
        let second = self.slc_array.as_ref().zip(self.resolved.slc_array.as_ref());
        let second = second.map(|(array, resolved)| array_energy(&resolved.part, 1, &array.account(self.now)));
        first + second.unwrap_or(Energy::ZERO) + idle_energy(part, *gang, self.idle_dies())
    }

    /// The sum, over the dies of the main array, of the time for which the die was idle while the drive was in no power
    /// state.
    fn idle_dies(&self) -> Span {
        let Some(power) = &self.power else { return Span::ZERO };
        let busy: Span = self.backend.die_busy(self.now).sum();
        let all = power.operational_time(self.now) * u64::from(self.backend.geometry().die_count());
        all.saturating_sub(busy)
    }
}
