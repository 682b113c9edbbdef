//! The distribution of latencies over the seeds: at each share of the requests the mean of the runs, with its
//! 95 % interval.

use std::collections::BTreeMap;

use base::io::IoKind;
use schemars::JsonSchema;
use serde::Serialize;

use crate::spread::Interval;
use crate::summary::{Curve, Summary};

/// The least distance of two points of a curve, on an axis on which p90 and p99 are 1 apart: a chart shows no finer
/// detail.
const APART: f64 = 0.01;

/// The latencies of one kind of request by percentile, over the seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CurveSpread {
    /// Shares of the requests, ascending: 0.99 is p99.
    pub share: Vec<f64>,
    /// The latency in microseconds that this share of the requests did not exceed; mean over the seeds.
    pub mean_us: Vec<f64>,
    /// Half the width of the 95 % confidence interval of the mean, by Student's t-distribution.
    pub half_width_us: Vec<f64>,
}

impl CurveSpread {
    /// The curve of several runs, at the points of all of them; `None` if there are fewer than two runs, or one had no
    /// request.
    fn of(runs: &[&Curve]) -> Option<Self> {
        let mut curve = Self::default();
        for share in shares(runs) {
            let values: Option<Vec<f64>> = runs.iter().map(|run| run.at(share)).collect();
            let Interval { mean, half_width, .. } = Interval::of(&values?)?;
            curve.share.push(share);
            curve.mean_us.push(mean);
            curve.half_width_us.push(half_width);
        }
        (!curve.share.is_empty()).then_some(curve)
    }

    /// The curves of all kinds of request that every run has.
    pub(crate) fn all(runs: &[Summary]) -> BTreeMap<&'static str, Self> {
        let of = |kind: IoKind| {
            let curves: Option<Vec<&Curve>> =
                runs.iter().map(|run| Some(&run.kinds.get(kind.name())?.latency_curve)).collect();
            Some((kind.name(), Self::of(&curves?)?))
        };
        IoKind::ALL.into_iter().filter_map(of).collect()
    }

    /// For each point: the share, the mean, and the ends of the interval.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64, [f64; 2])> + '_ {
        let all = self.share.iter().zip(&self.mean_us).zip(&self.half_width_us);
        all.map(|((share, mean), half)| (*share, *mean, [mean - half, mean + half]))
    }
}

/// Zero, and the shares at which any run has a point, up to the last share that all runs have.
fn shares(runs: &[&Curve]) -> Vec<f64> {
    let last = |run: &&Curve| run.points().last().map_or(0.0, |[share, _]| share);
    let end = runs.iter().map(last).fold(1.0, f64::min);
    let mut all: Vec<f64> = runs.iter().flat_map(|run| run.points()).map(|[share, _]| share).collect();
    all.retain(|share| *share < end);
    all.sort_by(f64::total_cmp);
    let nines = |share: f64| -(1.0 - share).log10();
    // Each curve begins at zero, with the latency of the fastest request.
    let mut kept: Vec<f64> = (end > 0.0).then_some(0.0).into_iter().collect();
    for share in all {
        if kept.last().is_none_or(|before| nines(share) >= nines(*before) + APART) {
            kept.push(share);
        }
    }
    kept.extend((end > 0.0).then_some(end));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spread::student_t;

    fn curve(us: [f64; 3]) -> Curve {
        Curve { us: us.to_vec(), requests: vec![50, 90, 100] }
    }

    #[test]
    fn each_point_is_the_mean_of_the_runs_with_its_interval() {
        let (a, b) = (curve([10.0, 20.0, 40.0]), Curve { us: vec![12.0, 60.0], requests: vec![60, 100] });
        let both = CurveSpread::of(&[&a, &b]).expect("two runs");
        // The last of a hundred requests stands at 1 - 1/200. 90 % of the second run's requests took up to 60 us.
        assert_eq!(both.share, [0.0, 0.5, 0.6, 0.9, 0.995]);
        assert_eq!(both.mean_us, [11.0, 11.0, 16.0, 40.0, 50.0]);
        // Two values that differ by d have a standard error of d/2.
        for (half, apart) in both.half_width_us.iter().zip([2.0, 2.0, 8.0, 40.0, 20.0]) {
            assert!((half - student_t(1) * apart / 2.0).abs() < 1e-9, "{both:?}");
        }
        let (share, mean, [low, high]) = both.points().next().expect("points");
        assert!((share, mean) == (0.0, 11.0) && (low + high - 22.0).abs() < 1e-9);
    }

    #[test]
    fn points_are_no_closer_than_a_chart_shows() {
        let many = |first: u64| Curve {
            us: (1..=5_000).map(|us| us as f64).collect(),
            requests: (1..=5_000).map(|us| first + us).collect(),
        };
        let both = CurveSpread::of(&[&many(0), &many(1_000)]).expect("two runs");
        assert!((200..400).contains(&both.share.len()), "{} points", both.share.len());
        assert!(both.share.is_sorted() && both.mean_us.is_sorted());
        // The shorter run ends first.
        assert_eq!(both.share.last(), Some(&(1.0 - 0.5 / 5_000.0)));
    }

    #[test]
    fn one_run_has_no_spread() {
        let one = curve([1.0, 2.0, 3.0]);
        assert_eq!(CurveSpread::of(&[&one]), None);
        assert_eq!(CurveSpread::of(&[&one, &Curve::default()]), None, "a run without such requests");
        let same = CurveSpread::of(&[&one, &one, &one]).expect("three runs");
        assert_eq!(same.half_width_us, [0.0; 4]);
    }
}
