//! The fairness of a drive to several flows, as text.

use study::summary::{FairnessSummary, Slowdown, Summary};
use study::text::{count, duration};

use crate::grid::grid;

/// A row for each flow beside the others and alone, and the measures over all flows; empty if no flow ran alone.
pub(super) fn fairness(summary: &Summary) -> String {
    let Some(of) = &summary.fairness else { return String::new() };
    let quotient = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let rows = of.flows.iter().map(|flow| {
        let Slowdown { name, slowdown, rate_slowdown, alone } = flow;
        let per_second = alone.requests_per_s.map_or_else(|| "-".into(), count);
        let requests: u64 = alone.kinds.values().map(|kind| kind.requests).sum();
        let sum: f64 = alone.kinds.values().map(|kind| kind.latency_us["mean"] * kind.requests as f64).sum();
        let mean = if requests > 0 { duration(sum / requests as f64) } else { "-".to_owned() };
        vec![name.clone(), per_second, mean, quotient(*slowdown), quotient(*rate_slowdown)]
    });
    let table = grid(&["flow alone", "req/s", "mean", "slowdown", "rate slowdown"], rows, 1);
    let FairnessSummary { fairness, unfairness, weighted_speedup, harmonic_speedup, .. } = of;
    let [fairness, unfairness, weighted, harmonic] =
        [fairness, unfairness, weighted_speedup, harmonic_speedup].map(|value| quotient(*value));
    let all = of.flows.len();
    format!(
        "{table}fairness {fairness} (smallest by largest slowdown), unfairness {unfairness}\n\
         speed-ups: weighted {weighted} of {all}, harmonic mean {harmonic}\n\n"
    )
}

#[cfg(test)]
mod tests {
    use study::summary::{Provenance, Report, Summary};

    use super::fairness;
    use crate::testing::two_flows;

    #[test]
    fn flows_that_nobody_slows_down_have_all_their_speed() {
        let (about, result) = (Provenance::default(), two_flows());
        let compared = Summary::new(&Report { alone: &result.flows, ..Report::new(&about, &result) });
        let text = fairness(&compared);
        for wanted in ["reader", "1.00", "fairness 1.00", "weighted 2.00 of 2, harmonic mean 1.00"] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(fairness(&Summary::new(&Report::new(&about, &result))), "");
    }
}
