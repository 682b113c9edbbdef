//! A study of one point: one device under one workload, with several seeds.

use std::path::PathBuf;

use super::{Failures, Plan, Point, StudySpec, flow, state};
use crate::config::{Document, Faults};

impl Plan {
    /// Creates the study of this point with these seeds. The study has no file; `named` are the paths of its device and
    /// of its workloads.
    ///
    /// # Errors
    ///
    /// The faults of the point, under the keys of a study.
    ///
    /// # Panics
    ///
    /// If the point has labels.
    pub fn single(name: &str, point: Point, seeds: Vec<u64>, named: Vec<PathBuf>) -> Result<Self, Faults> {
        assert!(point.labels.is_empty(), "a study without axes");
        let path = |number: usize| named.get(number).cloned().unwrap_or_default();
        let spec = StudySpec {
            name: name.into(),
            description: String::new(),
            source: String::new(),
            long: false,
            device: path(0),
            workload: path(1),
            seeds,
            // The table is empty if a number is too large for TOML; the point itself runs all the same.
            run: toml::Table::try_from(&point.run).unwrap_or_default(),
            set: Default::default(),
            failures: Failures::default(),
            axes: Vec::new(),
            only: Vec::new(),
            baseline: Default::default(),
            metrics: Vec::new(),
            claims: Vec::new(),
            figures: Vec::new(),
        };
        let mut points = vec![point];
        let mut faults = super::check_run(&points[0].run, Some(&points[0].device)).err().unwrap_or_default();
        faults.extend(flow::check(&spec, &mut points));
        faults.extend(state::check(&spec, &points));
        if !faults.is_empty() {
            return Err(Document::parse(&path(1), String::new())?.faults(faults));
        }
        Ok(Self { spec, axes: Vec::new(), points, named, force: false })
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::path::Path;

    use super::*;
    use crate::catalogue;
    use crate::execute::{self, Program};
    use crate::plan::RunSpec;

    fn point(run: RunSpec) -> Point {
        let device = catalogue::device(Path::new("demo")).and_then(|of| catalogue::device_from(&of));
        let workload = catalogue::workload(Path::new("random-read-4k"));
        let (device, workload) =
            (device.unwrap_or_else(|faults| panic!("{faults}")), workload.expect("it is built in"));
        Point { labels: Vec::new(), device, workload, beside: Vec::new(), run }
    }

    fn single(run: RunSpec) -> Result<Plan, Faults> {
        Plan::single("one", point(run), vec![3, 4], vec!["demo".into(), "random-read-4k".into()])
    }

    #[test]
    fn one_point_runs_with_each_seed() {
        let plan =
            single(RunSpec { limit: Some(100), ..RunSpec::default() }).unwrap_or_else(|faults| panic!("{faults}"));
        let outcome = execute::run(plan, &Program::default(), NonZeroUsize::new(1), &|_, _| {}).expect("it runs");
        let [runs] = &outcome.runs[..] else { panic!("one point") };
        assert_eq!(runs.iter().map(|run| (run.seed, run.requests)).collect::<Vec<_>>(), [(3, 100), (4, 100)]);
    }

    #[test]
    fn faults_of_the_point_are_those_of_a_study() {
        let both = RunSpec { limit: Some(1), measure: "5".parse().ok(), ..RunSpec::default() };
        let text = single(both).expect_err("both end the run").to_string();
        assert!(text.contains("both `measure` and `limit` end the run"), "{text}");
    }
}
