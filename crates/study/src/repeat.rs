//! Runs a workload with several seeds.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use base::io::IoKind;
use schemars::JsonSchema;
use serde::Serialize;

use crate::caution::{Caution, cautions};
use crate::curves::CurveSpread;
use crate::execute::{at_once, each_until_error};
use crate::metric::{Metric, every};
use crate::schema;
use crate::spread::Spread;
use crate::summary::Summary;

/// Version of the keys; higher after a key has changed its meaning or disappeared.
pub const SCHEMA: &str = "flashloom-seeds-1";

/// The runs of one workload, or of one stage of it, with several seeds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename = "Repeated")]
pub struct RepeatedRuns {
    /// Version of the keys of this document.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// Version of the program that did the runs.
    pub version: String,
    /// Commit of the program that did the runs.
    pub commit: String,
    /// Name of the device in its description.
    pub device: String,
    /// Name of the workload in its description.
    pub workload: String,
    /// Seeds of the runs, in the order of the runs.
    pub seeds: Vec<u64>,
    /// Every metric that all runs have, with its mean and spread over the seeds.
    pub metrics: BTreeMap<String, Spread>,
    /// The latencies by percentile over the seeds, by kind of request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("propertyNames" = schema::keys(IoKind::ALL.map(IoKind::name))))]
    pub latency_curves: BTreeMap<&'static str, CurveSpread>,
    /// The runs, one for each seed.
    pub runs: Vec<Summary>,
}

impl RepeatedRuns {
    /// Groups the runs by stage of the workload. `runs` has, for each seed, the results of all stages.
    ///
    /// # Panics
    ///
    /// If there is no run, or the runs have different numbers of stages.
    #[must_use]
    pub fn stages(runs: Vec<Vec<Summary>>) -> Vec<Self> {
        let stages = runs.first().expect("there is at least one seed").len();
        let mut left: Vec<_> = runs.into_iter().map(Vec::into_iter).collect();
        let mut stage = || left.iter_mut().map(|run| run.next().expect("all have as many stages")).collect();
        (0..stages).map(|_| Self::new(stage())).collect()
    }

    fn new(runs: Vec<Summary>) -> Self {
        let metric = |metric: Metric| {
            let values: Option<Vec<f64>> = runs.iter().map(|run| metric.of(run)).collect();
            Some((metric.to_string(), Spread::of(values?)?))
        };
        let first = &runs[0];
        let flows: Vec<String> = first.flows.iter().map(|flow| flow.name.clone()).collect();
        Self {
            schema: SCHEMA,
            version: first.version.clone(),
            commit: first.commit.clone(),
            device: first.device.clone(),
            workload: first.workload.clone(),
            seeds: runs.iter().map(|run| run.seed).collect(),
            metrics: every(&flows).into_iter().filter_map(metric).collect(),
            latency_curves: CurveSpread::all(&runs),
            runs,
        }
    }

    /// The warnings and notes of the runs, each with the numbers of the runs that have it.
    #[must_use]
    pub fn cautions(&self) -> Vec<Caution<'_>> {
        cautions(self.runs.iter().enumerate())
    }

    /// Writes these as JSON, indented, with a newline at the end: one object, or an array of several.
    ///
    /// # Panics
    ///
    /// Never: every value can be written as JSON.
    #[must_use]
    pub fn json(all: &[Self]) -> String {
        let results = match all {
            [one] => Repeats::One(one),
            all => Repeats::Several(all),
        };
        serde_json::to_string_pretty(&results).expect("numbers, texts and tables") + "\n"
    }
}

/// The document that a run with several seeds prints with `--json`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(title = SCHEMA)]
pub enum Repeats<'a> {
    /// A workload of one stage.
    One(&'a RepeatedRuns),
    /// The stages of a workload, in their order.
    Several(&'a [RepeatedRuns]),
}

/// Calls `one` with each seed on at most this many threads; on all cores if `None`. The results are in the order of the
/// seeds and do not depend on the number of threads. `progress` receives the number of finished runs and of all runs.
///
/// # Errors
///
/// The error of the first seed that has one.
///
/// # Panics
///
/// If `one` panics.
pub fn with_each<T: Send, E: Send>(
    seeds: &[u64],
    threads: Option<NonZeroUsize>,
    one: impl Fn(u64) -> Result<T, E> + Sync,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Vec<T>, E> {
    let run = |number: usize| one(seeds[number]);
    let made = each_until_error(seeds.len(), at_once(threads), run, &|done| progress(done as u64, seeds.len() as u64));
    made.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use testkit::small;

    use super::*;
    use crate::summary::{Provenance, Report};
    use crate::testing::{self, settled, two_flows};

    fn summary(seed: u64) -> Summary {
        let (about, result) = (Provenance { seed, ..Provenance::default() }, settled(small::mixed()));
        let mut summary = Summary::new(&Report::new(&about, &result));
        summary.requests_per_s = Some(1_000.0 + seed as f64);
        summary
    }

    #[test]
    fn every_metric_of_all_runs_has_a_spread() {
        let stages = RepeatedRuns::stages(vec![vec![summary(3)], vec![summary(4)], vec![summary(5)]]);
        let [one] = &stages[..] else { panic!("one stage") };
        assert_eq!(one.seeds, [3, 4, 5]);
        let rate = &one.metrics["requests-per-s"];
        assert_eq!((rate.mean, rate.n, &rate.values[..]), (1_004.0, 3, &[1_003.0, 1_004.0, 1_005.0][..]));
        assert_eq!(one.metrics["read.mean"].half_width, Some(0.0), "the runs are equal");
        assert!(!one.metrics.contains_key("energy"), "they have none");
        let json: serde_json::Value = serde_json::from_str(&RepeatedRuns::json(&stages)).expect("JSON");
        assert_eq!(json["metrics"]["requests-per-s"]["values"][2], 1_005.0);
        assert_eq!(json["runs"][1]["seed"], 4);
    }

    #[test]
    fn each_of_several_flows_has_its_metrics() {
        let summary = testing::summary(&two_flows());
        let one = RepeatedRuns::stages(vec![vec![summary.clone()], vec![summary]]).remove(0);
        assert_eq!(one.metrics["flow.reader.requests-per-s"].n, 2);
        assert!(one.metrics.contains_key("flow.writer.write.p99"), "{:?}", one.metrics.keys());
        assert!(!one.metrics.contains_key("flow.writer.read.p99"), "it only writes");
    }

    #[test]
    fn results_are_in_the_order_of_the_seeds_on_any_number_of_threads() {
        let seeds = [5, 1, 9, 2];
        for threads in [1, 3] {
            let twice = |seed: u64| if seed < 100 { Ok(2 * seed) } else { Err(seed) };
            let found = with_each(&seeds, NonZeroUsize::new(threads), twice, &|_, _| {});
            assert_eq!(found, Ok(vec![10, 2, 18, 4]));
            assert_eq!(with_each(&[1, 100, 2], NonZeroUsize::new(threads), twice, &|_, _| {}), Err(100));
        }
    }
}
