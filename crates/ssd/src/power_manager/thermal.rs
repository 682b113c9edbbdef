//! The temperature of the drive: a thermal resistance and a capacity (a first-order RC network), and the throttle.
//!
//! The throttle uses the latest reading of a sensor. The firmware reads the sensor when a request arrives and the
//! latest reading is at least `sample` old. Between two readings the network takes the mean power, for which its step
//! response is exact. So a long idle time needs no event.

use base::units::{Bytes, Energy, Rate, Span, Time};
use libm::exp;

use crate::spec::{ThermalSpec, ThrottleStyle};

/// The sensor, and the state of the throttle.
#[derive(Clone, Debug)]
pub(super) struct Thermal {
    spec: ThermalSpec,
    read_at: Time,
    spent: Energy,
    celsius: f64,
    /// The highest of all readings.
    hottest: f64,
    /// True if the on/off throttle limits the rate.
    is_throttled: bool,
}

impl Thermal {
    /// Creates the state of a drive at the temperature of the air.
    pub(super) fn new(spec: ThermalSpec, now: Time) -> Self {
        let celsius = spec.ambient.as_celsius();
        Self { spec, read_at: now, spent: Energy::ZERO, celsius, hottest: celsius, is_throttled: false }
    }

    /// The temperature at `now`. The drive has spent `spent` so far.
    pub(super) fn celsius(&self, now: Time, spent: Energy) -> f64 {
        let elapsed = now.saturating_since(self.read_at).as_secs_f64();
        if elapsed == 0.0 {
            return self.celsius;
        }
        let watts = (spent.as_joules() - self.spent.as_joules()) / elapsed;
        let steady = self.spec.ambient.as_celsius() + watts * self.spec.resistance.as_kelvin_per_watt();
        steady + (self.celsius - steady) * exp(-elapsed / self.spec.time_constant.as_secs_f64())
    }

    /// The highest of all readings and `celsius`.
    pub(super) fn hottest(&self, celsius: f64) -> f64 {
        self.hottest.max(celsius)
    }

    /// True if the latest reading is at least `sample` old.
    pub(super) fn is_due(&self, now: Time) -> bool {
        now.saturating_since(self.read_at) >= self.spec.sample
    }

    pub(super) fn read(&mut self, now: Time, spent: Energy) {
        self.celsius = self.celsius(now, spent);
        (self.read_at, self.spent) = (now, spent);
        self.hottest = self.hottest.max(self.celsius);
        if let Some(throttle) = &self.spec.throttle {
            self.is_throttled = match self.is_throttled {
                true => self.celsius > throttle.from.as_celsius(),
                false => self.celsius >= throttle.to.as_celsius(),
            };
        }
    }

    /// The time that a request of this size takes at the throttle's rate; zero without a limit.
    pub(super) fn throttle_time(&self, bytes: Bytes) -> Span {
        self.rate().map_or(Span::ZERO, |rate| rate.time(bytes))
    }

    /// The limit of the throttle; `None` while there is no limit.
    fn rate(&self) -> Option<Rate> {
        let throttle = self.spec.throttle.as_ref()?;
        let (from, to) = (throttle.from.as_celsius(), throttle.to.as_celsius());
        match throttle.style {
            ThrottleStyle::OnOff => self.is_throttled.then_some(throttle.lowest_rate),
            ThrottleStyle::Proportional if self.celsius < from => None,
            ThrottleStyle::Proportional => {
                let share = ((self.celsius - from) / (to - from)).min(1.0);
                let lowest = throttle.lowest_rate.get() as f64;
                let highest = throttle.highest_rate.map_or(lowest, |rate| rate.get() as f64);
                Some(Rate::new(((highest + (lowest - highest) * share) as u64).max(1)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use base::units::{Temperature, ThermalResistance};

    use super::*;
    use crate::spec::ThrottleSpec;

    const fn rules(style: ThrottleStyle) -> ThermalSpec {
        let [from, to] = [Temperature::from_celsius(70), Temperature::from_celsius(80)];
        let highest_rate = match style {
            ThrottleStyle::Proportional => Some(Rate::new(2_000_000)),
            ThrottleStyle::OnOff => None,
        };
        ThermalSpec {
            ambient: Temperature::from_celsius(25),
            resistance: ThermalResistance::from_thousandths(10_000),
            time_constant: Span::from_secs(60),
            sample: Span::from_ms(100),
            throttle: Some(ThrottleSpec { style, from, to, lowest_rate: Rate::new(1_000_000), highest_rate }),
        }
    }

    /// The time this many seconds after the beginning.
    const fn at(s: u64) -> Time {
        Time::from_ps(s * 1_000_000_000_000)
    }

    #[test]
    fn a_step_of_the_power_has_the_response_of_an_rc_network() {
        // 5 W at 10 K/W: 50 K above the air, of which the drive has covered 1 - 1/e after one time constant.
        let joules = |s: u64| Energy::from_joules(5.0 * s as f64);
        let mut thermal = Thermal::new(rules(ThrottleStyle::OnOff), Time::ZERO);
        let expected = |s: f64| 25.0 + 50.0 * (1.0 - (-s / 60.0).exp());
        assert!((thermal.celsius(at(60), joules(60)) - expected(60.0)).abs() < 1e-9);
        assert!((thermal.celsius(at(3600), joules(3600)) - 75.0).abs() < 1e-9);
        // Readings in between change nothing, because the power is constant.
        for s in [1, 7, 30, 59] {
            thermal.read(at(s), joules(s));
        }
        assert!((thermal.celsius(at(60), joules(60)) - expected(60.0)).abs() < 1e-9);
        // Without power it cools down.
        thermal.read(at(60), joules(60));
        let cooled = 25.0 + (expected(60.0) - 25.0) * (-1.0_f64).exp();
        assert!((thermal.celsius(at(120), joules(60)) - cooled).abs() < 1e-9);
    }

    #[test]
    fn the_rate_falls_with_the_temperature_or_all_at_once() {
        // Brings a drive to this temperature by constant power over a long time.
        let rate = |thermal: &mut Thermal, celsius: f64| {
            let now = thermal.read_at + Span::from_secs(100_000);
            let joules = thermal.spent.as_joules() + (celsius - 25.0) / 10.0 * 100_000.0;
            thermal.read(now, Energy::from_joules(joules));
            thermal.rate().map(|rate| rate.get() / 10_000)
        };
        let mut on_off = Thermal::new(rules(ThrottleStyle::OnOff), Time::ZERO);
        let seen = [79.0, 80.5, 75.0, 70.5, 69.0, 75.0].map(|celsius| rate(&mut on_off, celsius));
        assert_eq!(seen, [None, Some(100), Some(100), Some(100), None, None]);
        let mut proportional = Thermal::new(rules(ThrottleStyle::Proportional), Time::ZERO);
        let seen = [69.0, 72.5, 75.0, 99.0, 69.0].map(|celsius| rate(&mut proportional, celsius));
        assert_eq!(seen, [None, Some(175), Some(150), Some(100), None]);
    }
}
