//! The figure of a warm-up that waited for steady state.

use study::metric::Dimension;
use study::steady::{Metric, SteadyResult, WINDOW};

use crate::figure::{Axis, Chart, Figure, Line, Number, Scale};

/// The metric of each round; the last five are the window that the rule judged.
pub(super) fn figure(settled: &SteadyResult) -> Figure {
    let SteadyResult { metric, rounds, verdict } = settled;
    let unit = match metric {
        Metric::Rate => Dimension::PerSecond,
        Metric::Waf => Dimension::Plain,
        Metric::Latency => Dimension::Time,
    };
    let points: Vec<[Number; 2]> = (1_u32..)
        .zip(rounds)
        .map(|(number, round)| [Number(f64::from(number)), Number(round.value(*metric).unwrap_or(f64::NAN))])
        .collect();
    let window = points[points.len().saturating_sub(WINDOW)..].to_vec();
    let lines = vec![Line::new("all rounds", 0, points), Line::new("the last five", 1, window)];
    let ended = if verdict.is_steady() { "in steady state" } else { "without steady state" };
    let note = format!(
        "The {} of each round of the warm-up, which ended {ended}: by SNIA's rule the last five lie within 20 % of their \
         mean, and the line fitted to them within 10 %.",
        metric.text()
    );
    let x = Axis::new("round", Dimension::Count, Scale::Linear);
    Figure::new("Warm-up", note, Chart::Lines { x, y: Axis::new(metric.text(), unit, Scale::Linear), lines })
}

#[cfg(test)]
mod tests {
    use study::steady::{Round, Verdict};

    use super::*;

    #[test]
    fn the_window_is_the_last_five_rounds() {
        let round = |waf: u32| Round {
            requests: 100,
            span_s: 1.0,
            rate: 100.0,
            waf: Some(f64::from(waf)),
            latency_us: 1.0,
            programs: 1,
            erases: 1,
        };
        let rounds: Vec<Round> = (1..=8).map(round).collect();
        let verdict = Verdict::of(&rounds, Metric::Waf);
        let figure = figure(&SteadyResult { metric: Metric::Waf, rounds, verdict });
        let Chart::Lines { lines, .. } = figure.chart else { panic!("lines") };
        assert_eq!(lines[0].points.len(), 8);
        assert_eq!(lines[1].points.first(), Some(&[Number(4.0), Number(4.0)]));
        assert!(figure.note.contains("without steady state"), "{}", figure.note);
    }
}
