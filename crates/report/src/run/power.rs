//! Power and temperature of a drive in a report: figures over the time of the run, and lines of the table.

use base::units::Span;
use study::metric::Dimension;
use study::summary::{PowerSummary, Report};
use study::text::{count, duration, percent};

use super::intervals::{elapsed, time_axis};
use crate::figure::{Axis, Chart, Figure, Line, Number, Scale};

/// The mean power in each interval, and the temperature at its end. No power figure if the drive's parts have no electrical figures
/// or drew no power; no temperature figure without a thermal model.
pub(super) fn figures(report: &Report<'_>) -> Vec<Figure> {
    power_figure(report).into_iter().chain(heat_figure(report)).collect()
}

fn power_figure(report: &Report<'_>) -> Option<Figure> {
    let draw = report.power_draw?;
    let points: Vec<[Number; 2]> = report
        .result
        .series
        .intervals()
        .filter_map(|interval| {
            let watts = draw.mean_power(interval.from, interval.to)?;
            Some([elapsed(report, interval.to), watts * 1e3].map(Number))
        })
        .collect();
    let is_known = points.iter().any(|[_, milliwatts]| milliwatts.0 > 0.0);
    let (subject, note) = match draw.has_controller() {
        true => ("drive", "Mean power of the drive in each interval: its controller, its flash, its power states."),
        false => (
            "flash",
            "Mean power of the flash arrays and their channels in each interval. The controller's power is not modelled.",
        ),
    };
    let y = Axis::new(format!("power of the {subject} in mW"), Dimension::Plain, Scale::Linear);
    let lines = vec![Line::new("power", 0, points)];
    is_known.then(|| Figure::new("Power over time", note, Chart::Lines { x: time_axis(report), y, lines }))
}

fn heat_figure(report: &Report<'_>) -> Option<Figure> {
    let points: Vec<[Number; 2]> = report
        .result
        .series
        .intervals()
        .filter_map(|interval| {
            let [celsius, _] = interval.to.power.as_ref()?.celsius?;
            Some([elapsed(report, interval.to), celsius].map(Number))
        })
        .collect();
    let y = Axis::new("temperature in degrees Celsius", Dimension::Plain, Scale::Linear);
    let is_known = !points.is_empty();
    let chart = Chart::Lines { x: time_axis(report), y, lines: vec![Line::new("temperature", 0, points)] };
    let note = "Temperature of the drive at the end of each interval.";
    is_known.then(|| Figure::new("Temperature over time", note, chart))
}

/// Lines of the table: mean power and shares of time, wakes, temperature, throttle and cap.
pub(super) fn lines(power: &PowerSummary) -> Vec<String> {
    let all = power.active_s + power.idle_s + power.transition_s + power.states_s();
    let share = |seconds: f64| percent(if all > 0.0 { seconds / all } else { 0.0 });
    let watts = power.mean_w.map_or_else(|| "power".to_owned(), |watts| format!("{watts:.3} W"));
    let mut first = format!("{watts}: active {}, idle {}", share(power.active_s), share(power.idle_s));
    for (number, state) in (power.first_idle_state()..).zip(&power.states) {
        first += &format!(", state {number} {}", share(state.residency_s));
    }
    let mut lines = vec![first];
    if power.wakes > 0 {
        let mean = duration(power.wake_s / power.wakes as f64 * 1e6);
        lines.push(format!("{} requests woke the drive, and waited {mean} on average", count(power.wakes as f64)));
    }
    if let (Some(now), Some(hottest)) = (power.celsius, power.hottest_celsius) {
        lines.push(format!("{now:.1} C at the end, {hottest:.1} C at most"));
    }
    if power.throttled > 0 {
        let time = Span::from_secs_f64(power.throttle_s);
        lines.push(format!("heat delayed {} requests, for {time} in all", count(power.throttled as f64)));
    }
    if let (Some(waits), Some(seconds)) = (power.capped.filter(|waits| *waits > 0), power.cap_s) {
        let mean = duration(seconds / waits as f64 * 1e6);
        let cause = match power.operational {
            Some(operational) => format!("the limit of power state {}", operational.state),
            None => "the power cap".to_owned(),
        };
        lines.push(format!("{} array operations waited for {cause}, {mean} on average", count(waits as f64)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use ssd::Ssd;
    use study::inspect::Inspect;
    use study::oracle::Blank;
    use study::run::Rules;
    use study::summary::Provenance;
    use testkit::{List, small};

    use super::*;

    #[test]
    fn the_power_over_the_time_is_the_energy() {
        for (mut drive, mut source) in [small::with_log_blocks(), small::with_slc()] as [(Ssd<()>, List); 2] {
            let result = Rules::default().run(&mut drive, &mut source, &mut Blank).expect("it runs");
            let (about, draw) = (Provenance::default(), drive.power_draw());
            let report = Report { power_draw: Some(&draw), ..Report::new(&about, &result) };
            let Some(Figure { chart: Chart::Lines { lines, .. }, .. }) = power_figure(&report) else { panic!("lines") };
            let (mut drawn, mut from) = (0.0, 0.0);
            for [to, milliwatts] in &lines[0].points {
                drawn += (to.0 - from) * 1e-6 * milliwatts.0 * 1e-3;
                from = to.0;
            }
            let counted: f64 =
                Inspect::energy(&drive, &result.counters()).iter().map(|(_, energy)| energy.as_joules()).sum();
            assert!((drawn / counted - 1.0).abs() < 1e-6, "{drawn} J drawn, {counted} J counted");
            assert!(figures(&Report { power_draw: None, ..report }).is_empty());
        }
    }
}
