//! Power and heat on the sheet of a device.

use ssd::{ResolvedDevice, ThrottleStyle};

/// The controller, the power states, the cap and the temperature; empty without `[power]`.
pub(super) fn lines(resolved: &ResolvedDevice) -> Vec<String> {
    let Some(power) = &resolved.spec.power else { return Vec::new() };
    let mut lines = vec![format!("controller {} active, {} idle", power.controller.active, power.controller.idle)];
    lines.extend((0..).zip(&power.operational).map(|(number, state)| {
        let selected = if number == power.select { ", selected" } else { "" };
        let latencies = match state.entry.is_zero() && state.exit.is_zero() {
            true => String::new(),
            false => format!(", entry {}, exit {}", state.entry, state.exit),
        };
        let arrays = power.array_power(state);
        format!("state {number} of {}, {arrays} of it for the arrays{latencies}{selected}", state.power)
    }));
    lines.extend((power.operational_count()..).zip(&power.states).map(|(number, state)| {
        format!(
            "state {number} of {} after {}, entry {}, exit {}",
            state.power, state.idle_after, state.entry, state.exit
        )
    }));
    if let Some(cap) = &power.cap {
        let peak = cap.peak.map(|peak| format!("{peak} at any moment"));
        let average = cap.average.zip(cap.window).map(|(average, window)| format!("{average} over {window}"));
        let both: Vec<_> = [peak, average].into_iter().flatten().collect();
        lines.push(format!("arrays draw at most {}", both.join(", ")));
    }
    let Some(thermal) = &power.thermal else { return lines };
    let (ambient, resistance, time) = (thermal.ambient, thermal.resistance, thermal.time_constant);
    lines.push(format!("air of {ambient}, {resistance}, time constant {time}"));
    if let Some(throttle) = &thermal.throttle {
        let (from, to, lowest) = (throttle.from, throttle.to, throttle.lowest_rate);
        lines.push(match (throttle.style, throttle.highest_rate) {
            (ThrottleStyle::Proportional, Some(highest)) => {
                format!("throttle from {highest} at {from} down to {lowest} at {to}")
            }
            _ => format!("throttle of {lowest} from {to} on, until {from}"),
        });
    }
    lines
}
