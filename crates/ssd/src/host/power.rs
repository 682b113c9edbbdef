//! The device and its power management: when it works, when it takes a request, and what its flash has spent.

use base::io::Io;
use base::units::{Energy, Span};
use flash::nand::Sector;
use ftl::{Event, HostEvent, Sabotage};

use crate::power_draw::{array_energy, idle_energy};
use crate::power_manager::PowerManager;
use crate::{PowerCounters, Resolved, Ssd};

impl<S: Sector> Ssd<S> {
    /// A request has come: an idle drive leaves its power state.
    #[cold]
    pub(crate) fn power_request(&mut self) {
        let now = self.now;
        if let Some(power) = &mut self.power {
            power.request(now);
        }
    }

    /// True if neither a power state nor the throttle delays the next request. Otherwise an event marks the end of the delay.
    #[cold]
    pub(crate) fn power_admits(&mut self) -> bool {
        let now = self.now;
        if self.power.as_ref().is_some_and(|power| power.is_sensor_due(now)) {
            self.read_sensor();
        }
        let Some(power) = &mut self.power else { return true };
        let Some(delay @ (until, why)) = power.delay(now) else { return true };
        if power.announce(now, delay) && !self.resolved.planted.is(Sabotage::AdmissionForgotten) {
            self.events.push(until, Event::Host(HostEvent::Admission));
            if let Some(observer) = self.backend.observer_mut() {
                observer.admission_delayed(now, until, why);
            }
        }
        false
    }

    /// The drive takes a request.
    #[cold]
    pub(crate) fn power_takes(&mut self, io: &Io) {
        let now = self.now;
        if let Some(power) = &mut self.power {
            power.take(now, io.sectors.bytes());
        }
    }

    /// Nothing more happens at this moment: the drive works, or it is idle.
    #[cold]
    pub(crate) fn power_settles(&mut self) {
        let works = !self.ready
            || !self.active.is_empty()
            || self.queues.waiting() > 0
            || self.backend.is_at_work()
            || self.slc_array.as_ref().is_some_and(|slc_array| slc_array.is_at_work());
        let now = self.now;
        if let Some(power) = &mut self.power {
            if works { power.note_busy(now) } else { power.note_idle(now) }
        }
    }

    /// The power fails or is switched off.
    pub(crate) fn power_ends(&mut self) {
        let (now, flash) = (self.now, self.flash_energy());
        if let Some(power) = &mut self.power {
            power.power_off(now, flash);
        }
    }

    /// The power is back.
    pub(crate) fn power_begins(&mut self) {
        let (now, flash) = (self.now, self.flash_energy());
        if let Some(power) = &mut self.power {
            power.power_on(now, flash);
        }
    }

    /// Begins again as a drive that is as warm as the air and has been idle for no time.
    pub(crate) fn reset_power(&mut self) {
        let spec = self.resolved.spec.power.as_ref();
        self.power = spec.map(|power| Box::new(PowerManager::new(power, self.now)));
    }

    /// The counters of the power management.
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

    /// What the flash has spent so far, if the device has power management.
    fn flash_energy(&self) -> Energy {
        if self.power.is_none() {
            return Energy::ZERO;
        }
        let Resolved { part, gang, .. } = &self.resolved;
        let first = array_energy(part, *gang, &self.backend.account(self.now));
        let second = self.slc_array.as_ref().zip(self.resolved.slc_array.as_ref());
        let second = second.map(|(slc_array, of)| array_energy(&of.part, 1, &slc_array.account(self.now)));
        first + second.unwrap_or(Energy::ZERO) + idle_energy(part, *gang, self.idle_dies())
    }

    /// Time that the dies of the main array were idle while the drive was in no power state, all dies together.
    fn idle_dies(&self) -> Span {
        let Some(power) = &self.power else { return Span::ZERO };
        let busy: Span = self.backend.die_busy(self.now).sum();
        let all = power.operational(self.now) * u64::from(self.backend.geometry().die_count());
        all.saturating_sub(busy)
    }
}
