//! The table `[power]` of a description: the power of the drive beside its flash, its power states, its temperature.

use base::fault::Faults;
use base::units::{Power, Rate, Ratio, Span, Temperature, ThermalResistance};
use flash::backend::{Op, PowerCapSpec, Supply};
use flash::nand::{Geometry, Part};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ftl::FtlKind;

use super::Spec;

/// The most power states, operational and non-operational together (NVM Express).
const STATES_MAX: usize = 32;

/// Power and heat of the drive. The power of the flash follows from the electrical figures of the part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PowerSpec {
    /// The power of the controller, with its RAM; zero if missing.
    #[serde(skip_serializing_if = "is_default")]
    pub controller: ControllerPower,
    /// Operational power states (NVM Express), in descending order of their power. A host selects a state to limit the
    /// drive's power.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operational: Vec<OperationalState>,
    /// The operational power state that the host selects before the run (Set Features, Power Management), by its number from 0 on.
    #[serde(skip_serializing_if = "is_default")]
    pub select: u32,
    /// Non-operational power states (NVM Express), which an idle drive enters one after another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<PowerState>,
    /// A cap on the power of the flash arrays, without idle dies, channels and controller; none if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cap: Option<PowerCapSpec>,
    /// The temperature of the drive; not modelled if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thermal: Option<ThermalSpec>,
}

/// The power of the controller, without the flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ControllerPower {
    /// The power while a request or a flash command is under way.
    pub active: Power,
    /// The power while nothing is under way and the drive is in no power state, and while the drive enters or leaves a
    /// state (assumed: data sheets give no power for these times).
    pub idle: Power,
}

/// An operational power state. Data sheets and `nvme id-ctrl` list its power and its latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OperationalState {
    /// The most power that the whole drive draws in the state. The flash arrays get this power less the power of the
    /// active controller (assumed); channels and idle dies are not counted.
    #[schemars(extend("examples" = ["7.8W", "3.4W"]))]
    pub power: Power,
    /// The time that the drive takes to enter the state from another operational state. Meanwhile the drive takes no
    /// request.
    #[serde(default, skip_serializing_if = "is_default")]
    pub entry: Span,
    /// The time that the drive takes to leave the state, before it enters another operational state.
    #[serde(default, skip_serializing_if = "is_default")]
    pub exit: Span,
}

/// A non-operational power state. Data sheets and `nvme id-ctrl` list its power and its latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PowerState {
    /// The power of the whole drive in the state, its flash included.
    #[schemars(extend("examples" = ["70mW", "5mW"]))]
    pub power: Power,
    /// Time without work after which the drive enters the state. A drive works while a request or a flash command is under way.
    #[schemars(extend("examples" = ["100ms", "2s"]))]
    pub idle_after: Span,
    /// The time that the drive takes to enter the state. A request that arrives meanwhile waits for the end of the
    /// entry, and then for `exit`.
    pub entry: Span,
    /// The time from the arrival of a request in this state until the drive takes it. Work of the FTL that no request
    /// waits for begins at once (assumed).
    pub exit: Span,
}

/// The temperature of the drive: one thermal resistance and one capacity between the flash and the air.
///
/// In steady state the drive's temperature is `ambient` plus `resistance` times its power. After a step of the power
/// the temperature approaches its new value as `1 - exp(-t / time-constant)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ThermalSpec {
    /// The temperature of the air, and of the drive at power-on.
    pub ambient: Temperature,
    /// Thermal resistance: kelvins above the air per watt, in steady state.
    pub resistance: ThermalResistance,
    /// The time after which the temperature has covered 63 % of the way to its new value.
    pub time_constant: Span,
    /// The shortest time between two readings of the sensor. The default is assumed.
    #[serde(default = "sample", skip_serializing_if = "is_sample")]
    pub sample: Span,
    /// The throttle of a hot drive; none if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle: Option<ThrottleSpec>,
}

/// A limit on the data rate of a hot drive. The drive delays requests before it takes them: after a request of `n`
/// bytes the next one waits for `n` divided by the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ThrottleSpec {
    /// The dependence of the rate on the temperature.
    pub style: ThrottleStyle,
    /// The lower end of the band of temperatures in which the throttle works.
    pub from: Temperature,
    /// The upper end of the band.
    pub to: Temperature,
    /// The rate at the upper end of the band and above.
    pub lowest_rate: Rate,
    /// The rate at the lower end of the band, if `style` is `proportional`. Below that end there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest_rate: Option<Rate>,
}

/// The dependence of a throttled drive's rate on its temperature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ThrottleStyle {
    /// Between the ends of the band the rate falls linearly from `highest-rate` to `lowest-rate`.
    Proportional,
    /// The limit is `lowest-rate`. It begins when the temperature reaches the upper end of the band and ends when the
    /// temperature has fallen to the lower end.
    OnOff,
}

/// Assumed; no source.
const fn sample() -> Span {
    Span::from_ms(100)
}

fn is_sample(span: &Span) -> bool {
    *span == sample()
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl PowerSpec {
    /// The power that the controller leaves for the flash arrays in this operational power state.
    #[must_use]
    pub fn array_power(&self, state: &OperationalState) -> Power {
        Power::from_uw(state.power.as_uw().saturating_sub(self.controller.active.as_uw()))
    }

    /// The number of operational power states, which is the number of the first non-operational one. A drive that
    /// describes no operational state has one.
    #[must_use]
    pub fn operational_count(&self) -> usize {
        self.operational.len().max(1)
    }

    fn check_operational(&self, faults: &mut Faults) {
        let count = self.operational.len();
        if self.select as usize >= self.operational_count() {
            let message = format!("there is no operational power state {}", self.select);
            let remedy = match count {
                0 => "describe the states in power.operational, or leave it out".to_owned(),
                _ => format!("use 0 to {}", count - 1),
            };
            faults.add("power.select", message, remedy);
        }
        if self.operational.windows(2).any(|pair| pair[0].power <= pair[1].power) {
            let message = "the states are not in descending order of `power`";
            faults.add("power.operational", message, "sort them, each with a `power` of its own");
        }
        for (number, state) in self.operational.iter().enumerate() {
            let active = self.controller.active;
            if state.power <= active {
                let message = format!("is {}, and the active controller alone draws {active}", state.power);
                faults.add(&power_key(number), message, "use more, or lower power.controller.active");
            }
        }
        if count > 0 && self.cap.is_some() {
            let message = "conflicts with `operational`: the selected state is the cap of the flash arrays";
            faults.add("power.cap", message, "keep one of the two");
        }
    }
}

fn power_key(state: usize) -> String {
    format!("power.operational[{state}].power")
}

impl Spec {
    pub(super) fn check_power(&self, faults: &mut Faults) {
        let Some(power) = &self.power else { return };
        if *power == PowerSpec::default() {
            faults.add("power", "is empty", "add e.g. power.controller or power.states, or leave it out");
        }
        let beside = STATES_MAX.saturating_sub(power.operational_count());
        for (key, states, most) in
            [("power.operational", power.operational.len(), STATES_MAX), ("power.states", power.states.len(), beside)]
        {
            if states > most {
                faults.add(key, format!("has {states} states"), format!("use at most {most}"));
            }
        }
        power.check_operational(faults);
        let first = power.states.first().is_some_and(|state| state.idle_after.is_zero());
        if first || power.states.windows(2).any(|pair| pair[0].idle_after >= pair[1].idle_after) {
            let message = "the states are not in ascending order of `idle-after`, from above zero on";
            faults.add("power.states", message, "sort them, each with an `idle-after` of its own");
        }
        if let Some(cap) = &power.cap {
            self.check_cap(cap, faults);
        }
        if let Some(thermal) = &power.thermal {
            thermal.check(faults);
        }
    }

    fn check_cap(&self, cap: &PowerCapSpec, faults: &mut Faults) {
        match cap {
            PowerCapSpec { peak: None, average: None, .. } => {
                faults.add("power.cap", "limits nothing", "add `peak`, or `average` and `window`");
            }
            PowerCapSpec { average: Some(_), window: None, .. } => {
                faults.add("power.cap.window", "is missing: the average is taken over it", "add it, e.g. \"10ms\"");
            }
            PowerCapSpec { average: None, window: Some(_), .. } => {
                faults.add(
                    "power.cap.window",
                    "has no effect here: there is no average",
                    "leave it out, or add `average`",
                );
            }
            PowerCapSpec { window: Some(window), .. } if window.is_zero() => {
                faults.add("power.cap.window", "is zero", "use more than zero, e.g. \"10ms\"");
            }
            _ => {}
        }
        if cap.average.is_some_and(|average| average.as_uw() == 0) {
            faults.add("power.cap.average", "is zero", "use more than zero");
        }
        if let Some(why) = self.refusal_of_caps() {
            faults.add("power.cap", why, "leave one of the two out");
        }
    }

    /// The reason for which this drive cannot have a cap on the power of its arrays; `None` if it can.
    fn refusal_of_caps(&self) -> Option<&'static str> {
        if self.ftl.kind != FtlKind::Page {
            Some("this FTL works on several arrays in one step: the cap cannot ask between them")
        } else if self.ftl.gc.copy_back || self.ftl.folds_in_planes() {
            Some("a copy-back has two array phases and no moment between them at which the cap can ask")
        } else if self.flash.suspend.is_some() {
            Some("a suspended operation goes on when its reads are done, whatever the other arrays draw")
        } else if self.flash.cache_across_lists || self.flash.arbitration.hold {
            Some("an operation that waits for the cap would keep the register or the channel of another one")
        } else {
            None
        }
    }

    /// The power of the arrays' operations, if it depends on the planes or a cap limits it.
    pub(super) fn supply(&self, part: &Part, geometry: &Geometry, faults: &mut Faults) -> Option<Supply> {
        let cap = self.power.as_ref().and_then(|power| power.cap);
        let supply = Supply::new(part, self.flash.gang);
        let planes = u64::from((geometry.stripe / self.flash.gang).max(1) * geometry.planes_per_unit);
        let most = [Op::Read, Op::Program, Op::Erase].map(|op| supply.power(op, planes)).into_iter().max()?;
        if let Some(peak) = cap.and_then(|cap| cap.peak).filter(|peak| *peak < most) {
            let message = format!("is {peak}, and one operation draws {most}: it would never begin");
            faults.add("power.cap.peak", message, format!("use at least {most}"));
        }
        let cap = cap.or_else(|| self.operational_cap(geometry, most, faults));
        let supply = supply.with_cap(cap);
        (cap.is_some() || part.electrical.further_plane != Ratio::ZERO).then_some(supply)
    }

    /// The cap of the selected operational power state; `None` if no state makes an operation wait. `most` is the most
    /// that an operation draws.
    fn operational_cap(&self, geometry: &Geometry, most: Power, faults: &mut Faults) -> Option<PowerCapSpec> {
        let power = self.power.as_ref()?;
        let planes = if self.flash.plane_reads.is_some() { geometry.planes } else { 1 };
        let all = most.as_uw().saturating_mul(u64::from(geometry.die_count() * planes));
        let limited = power.operational.iter().position(|state| power.array_power(state).as_uw() < all)?;
        if let Some(why) = self.refusal_of_caps() {
            let limit = power.array_power(&power.operational[limited]);
            let message = format!("leaves {limit} for the flash arrays, less than all dies draw; {why}");
            faults.add(&power_key(limited), message, "use more, or leave one of the two out");
        }
        for (number, state) in power.operational.iter().enumerate() {
            let peak = power.array_power(state);
            if peak < most {
                let message =
                    format!("leaves {peak} for the flash arrays, and one operation draws {most}: it would never begin");
                let least = Power::from_uw(power.controller.active.as_uw().saturating_add(most.as_uw()));
                faults.add(&power_key(number), message, format!("use at least {least}"));
            }
        }
        let selected = power.operational.get(power.select as usize)?;
        Some(PowerCapSpec { peak: Some(power.array_power(selected)), ..PowerCapSpec::default() })
    }
}

impl ThermalSpec {
    fn check(&self, faults: &mut Faults) {
        for (path, is_zero) in [
            ("power.thermal.resistance", self.resistance.as_thousandths() == 0),
            ("power.thermal.time-constant", self.time_constant.is_zero()),
            ("power.thermal.sample", self.sample.is_zero()),
        ] {
            if is_zero {
                faults.add(path, "is zero", "use more than zero");
            }
        }
        let mut hottest = |path, given: Temperature| {
            if given > Temperature::HOTTEST {
                faults.add(path, format!("is {given}"), format!("use at most {}", Temperature::HOTTEST));
            }
        };
        hottest("power.thermal.ambient", self.ambient);
        let Some(throttle) = &self.throttle else { return };
        hottest("power.thermal.throttle.to", throttle.to);
        if throttle.from >= throttle.to {
            let message = format!("{} is not below `to`, {}", throttle.from, throttle.to);
            faults.add("power.thermal.throttle.from", message, "use a lower temperature");
        }
        let path = "power.thermal.throttle.highest-rate";
        match (throttle.style, throttle.highest_rate) {
            (ThrottleStyle::Proportional, None) => {
                faults.add(path, "is missing: the rate falls from it", "add it, e.g. \"2GB/s\"");
            }
            (ThrottleStyle::Proportional, Some(highest)) if highest < throttle.lowest_rate => {
                faults.add(path, "is below `lowest-rate`", "use a higher rate");
            }
            (ThrottleStyle::OnOff, Some(_)) => {
                faults.add(path, "has no effect here: the limit is on or off", "leave it out");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(table: &str) -> Vec<String> {
        let text = format!(
            "name = 'p'\nflash = {{ part = 'dirik-2009', channels = 1, chips = 4, blocks = 48, pages = 16 }}\n{table}"
        );
        let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{table}: {error}"));
        spec.resolve().map_or_else(|faults| faults, |_| Vec::new()).into_iter().map(|fault| fault.path).collect()
    }

    const STATE: &str = "power = '5mW', entry = '2ms', exit = '8ms'";
    const HOT: &str = "ambient = '25C', resistance = '8K/W', time-constant = '60s'";

    #[test]
    fn each_fault_names_its_key() {
        let states = |[first, second]: [&str; 2]| {
            faults(&format!(
                "power.states = [{{ {STATE}, idle-after = '{first}' }}, {{ {STATE}, idle-after = '{second}' }}]"
            ))
        };
        assert_eq!(states(["100ms", "1s"]), [""; 0]);
        assert_eq!(states(["1s", "1s"]), ["power.states"]);
        assert_eq!(states(["0s", "1s"]), ["power.states"]);
        assert_eq!(faults("[power]"), ["power"]);
        let hot = |rest: &str| faults(&format!("power.thermal = {{ {HOT}{rest} }}"));
        assert_eq!(hot(""), [""; 0]);
        assert_eq!(hot(", sample = '0s'"), ["power.thermal.sample"]);
        let throttle = |rest: &str| hot(&format!(", throttle = {{ lowest-rate = '1MB/s', {rest} }}"));
        assert_eq!(throttle("style = 'on-off', from = '70C', to = '80C'"), [""; 0]);
        assert_eq!(throttle("style = 'on-off', from = '80C', to = '80C'"), ["power.thermal.throttle.from"]);
        let highest = ["power.thermal.throttle.highest-rate"];
        assert_eq!(throttle("style = 'proportional', from = '70C', to = '80C'"), highest);
        assert_eq!(throttle("style = 'proportional', from = '7C', to = '80C', highest-rate = '1kB/s'"), highest);
        assert_eq!(throttle("style = 'on-off', from = '7C', to = '80C', highest-rate = '1GB/s'"), highest);
        assert_eq!(throttle("style = 'proportional', from = '7C', to = '80C', highest-rate = '1GB/s'"), [""; 0]);
    }

    /// The part draws 49.5 mW for an operation, and there are four dies.
    #[test]
    fn an_operational_power_state_caps_the_arrays_if_it_has_less_than_all_dies_draw() {
        let text = |rest: &str| {
            let hold = rest.ends_with("# held");
            format!(
                "name = 'p'\nflash = {{ part = 'dirik-2009', channels = 1, chips = 4, blocks = 48, pages = 16, controllers = 'none', \
                 arbitration = {{ hold = {hold} }} }}\n\
                 power.controller = {{ active = '1W', idle = '1W' }}\n{rest}"
            )
        };
        let peak = |rest: &str| {
            let spec: Spec = toml::from_str(&text(rest)).unwrap_or_else(|error| panic!("{rest}: {error}"));
            let resolved = spec.resolve().unwrap_or_else(|faults| panic!("{rest}: {faults:?}"));
            resolved.backend.supply.and_then(|supply| supply.cap()).and_then(|cap| cap.peak)
        };
        let uw = |uw: u64| Some(Power::from_uw(uw));
        let states = "power.operational = [{ power = '2W' }, { power = '1.1W' }]";
        assert_eq!(peak(states), uw(1_000_000), "no limit now, but the host may select the other state");
        assert_eq!(peak(&format!("{states}\npower.select = 1")), uw(100_000));
        assert_eq!(peak("power.operational = [{ power = '2W' }, { power = '1.2W' }]"), None);
        let faults = |rest: &str| {
            let spec: Spec = toml::from_str(&text(rest)).unwrap_or_else(|error| panic!("{rest}: {error}"));
            let faults = spec.resolve().map_or_else(|faults| faults, |_| Vec::new()).into_iter();
            faults.map(|fault| format!("{}: {}; {}", fault.path, fault.message, fault.remedy)).collect::<Vec<_>>()
        };
        for (rest, wanted) in [
            ("power.select = 1", "power.select: there is no operational power state 1; describe"),
            (&format!("{states}\npower.select = 2"), "power.select: there is no operational power state 2; use 0 to 1"),
            (
                "power.operational = [{ power = '2W' }, { power = '2W' }]",
                "power.operational: the states are not in desc",
            ),
            ("power.operational = [{ power = '1W' }]", "power.operational[0].power: is 1W, and the active controller"),
            (
                "power.operational = [{ power = '1.04W' }]",
                "power.operational[0].power: leaves 40mW for the flash arrays, and one operation draws",
            ),
            (
                &format!("{states}\npower.cap.peak = '1W'"),
                "power.cap: conflicts with `operational`: the selected state is",
            ),
            (
                &format!("{states} # held"),
                "power.operational[1].power: leaves 100mW for the flash arrays, less than all dies draw; an operation",
            ),
        ] {
            let faults = faults(rest);
            assert!(faults.iter().any(|fault| fault.starts_with(wanted)), "{wanted}: {faults:?}");
        }
    }

    /// A mapping unit of 64 KiB takes all four planes of a die: 82.5 mW for the first and half as much for each further one.
    #[test]
    fn a_cap_below_one_operation_on_all_planes_of_a_unit_is_refused() {
        let faults = |peak: &str| {
            let text = format!(
                r"name = 'p'
ftl = {{ map-unit = '64KiB', over-provisioning = '20%' }}
power.cap.peak = '{peak}'
flash = {{ channels = 1, chips = 1, blocks = 48, controllers = 'none', custom-part = {{ like = 'intel-96l-qlc', electrical.further_plane = '50%' }} }}
"
            );
            let spec: Spec = toml::from_str(&text).expect("keys");
            spec.resolve().map_or_else(|faults| faults, |_| Vec::new())
        };
        assert_eq!(faults("207mW"), []);
        let [fault] = &faults("206mW")[..] else { panic!("one fault") };
        assert!(fault.path == "power.cap.peak" && fault.message.contains("one operation draws 206.25mW"), "{fault:?}");
    }
}
