//! The power of the flash over the time of a run.

use study::metric::Dimension;
use study::summary::Report;

use super::intervals::{elapsed, time_axis};
use crate::figure::{Axis, Chart, Figure, Line, Number, Scale};

/// The mean power in each interval; `None` if the parts of the drive have no electrical figures, or nothing drew power.
pub(super) fn figure(report: &Report<'_>) -> Option<Figure> {
    let draw = report.power_draw?;
    let points: Vec<[Number; 2]> = report
        .result
        .series
        .intervals()
        .filter(|interval| !interval.span().is_zero())
        .map(|interval| {
            let joules = draw.between(interval.from, interval.to).as_joules();
            [elapsed(report, interval.to), joules / interval.span().as_secs_f64() * 1e3].map(Number)
        })
        .collect();
    let is_known = points.iter().any(|[_, milliwatts]| milliwatts.0 > 0.0);
    let y = Axis::new("power of the flash in mW", Dimension::Plain, Scale::Linear);
    let lines = vec![Line::new("power", 0, points)];
    let note =
        "Mean power of the flash arrays and their channels in each interval. The controller's power is not modelled.";
    is_known.then(|| Figure::new("Power over time", note, Chart::Lines { x: time_axis(report), y, lines }))
}

#[cfg(test)]
mod tests {
    use ssd::Ssd;
    use study::inspect::Inspect;
    use study::oracle::Blank;
    use study::run::Runner;
    use study::summary::About;
    use testkit::{List, small};

    use super::*;

    #[test]
    fn the_power_over_the_time_is_the_energy() {
        for (mut drive, mut source) in [small::with_log_blocks(), small::with_slc()] as [(Ssd<()>, List); 2] {
            let result = Runner::new().run(&mut drive, &mut source, &mut Blank).expect("it runs");
            let (about, draw) = (About::default(), drive.power_draw());
            let report = Report { power_draw: Some(&draw), ..Report::new(&about, &result) };
            let Some(Figure { chart: Chart::Lines { lines, .. }, .. }) = figure(&report) else { panic!("lines") };
            let (mut drawn, mut from) = (0.0, 0.0);
            for [to, milliwatts] in &lines[0].points {
                drawn += (to.0 - from) * 1e-6 * milliwatts.0 * 1e-3;
                from = to.0;
            }
            let counted: f64 =
                Inspect::energy(&drive, &result.counters()).iter().map(|(_, energy)| energy.as_joules()).sum();
            assert!((drawn / counted - 1.0).abs() < 1e-6, "{drawn} J drawn, {counted} J counted");
            assert!(figure(&Report { power_draw: None, ..report }).is_none());
        }
    }
}
