//! Compares several drives under one workload.

mod best;
mod columns;
mod explained;
mod flows;
mod marks;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base::io::IoKind;
use schemars::JsonSchema;
use serde::Serialize;

use crate::caution::{Caution, cautions};
use crate::config::{ConfigFault, Document, Faults};
use crate::curves::CurveSpread;
use crate::execute::StudyOutcome;
use crate::plan::{AxisSpec, Failures, Label, Plan, Point, PointSpec, RunSpec, StudySpec};
use crate::schema;
use crate::spread::Spread;
use crate::summary::Summary;
use crate::watch::explain::KindBands;

use best::Candidate;
use columns::columns;

pub use columns::{COST, Column, FLASH, LATENCIES};
pub use explained::{SLOWEST, explained};
pub use flows::{FAIRNESS, FLOW, FlowColumn, FlowRow, FlowTable, MEANING};

/// The drives of the five papers on equal flash arrays: equal numbers of chips of one kind on equal numbers of buses,
/// with equal capacity and host link. Chang's SLC flash is additional.
pub const NORMALISED: [&str; 5] = ["compare-dirik", "compare-hydra", "compare-chang", "compare-sung", "compare-fmmu"];

/// The five drives as their papers describe them.
pub const PUBLISHED: [&str; 5] = ["dirik-4x4", "hydra-prototype", "chang-c3", "sung-pmcd", "fmmu-16x8"];

/// Version of the keys; higher after a key has changed its meaning or disappeared.
const SCHEMA: &str = "flashloom-compare-2";

/// The name of the only axis of a comparison.
pub const AXIS: &str = "device";

/// The study that runs the workload on each drive.
///
/// # Errors
///
/// All faults of the devices and of the workload.
///
/// # Panics
///
/// Never: every study has a form in TOML.
pub fn plan(workload: &Path, devices: &[PathBuf], seeds: &[u64], run: &RunSpec) -> Result<Plan, Faults> {
    let spec = StudySpec {
        name: "compare".into(),
        description: format!("drives under {}", workload.display()),
        source: String::new(),
        long: false,
        device: devices.first().cloned().unwrap_or_default(),
        workload: workload.to_owned(),
        seeds: seeds.to_vec(),
        run: toml::Table::try_from(run).expect("a run can be written"),
        set: Default::default(),
        failures: Failures::default(),
        axes: vec![AxisSpec {
            name: AXIS.into(),
            key: None,
            values: Vec::new(),
            points: devices
                .iter()
                .map(|device| PointSpec {
                    at: Label::from(&*name(device)),
                    device: Some(device.clone()),
                    workload: None,
                    set: Default::default(),
                })
                .collect(),
        }],
        only: Vec::new(),
        baseline: Default::default(),
        metrics: METRICS.iter().map(|name| name.parse().expect("a constant, valid name")).collect(),
        claims: Vec::new(),
        figures: Vec::new(),
    };
    if let Some(again) = twin(devices) {
        let fault = ConfigFault {
            path: Some(again.to_owned()),
            line: None,
            key: String::new(),
            message: format!("is the second drive named `{}`", name(again)),
            remedy: "leave it out, or give one of the files another name".into(),
        };
        return Err(fault.into());
    }
    let text = toml::to_string(&spec).expect("a study can be written");
    Plan::new(&Document::parse(Path::new("compare"), text)?)
}

/// The first device whose name repeats an earlier name.
fn twin(devices: &[PathBuf]) -> Option<&Path> {
    let alike = |(i, device): &(usize, &PathBuf)| devices[..*i].iter().any(|other| name(other) == name(device));
    devices.iter().enumerate().find(alike).map(|(_, device)| &**device)
}

/// The prefixes of built-in drives that are one design each on a common array; in a comparison the prefixes carry no
/// information.
const COMMON: [&str; 2] = ["compare-", "small-"];

/// The drive's name in the comparison: its file's name or its built-in name, without a prefix of [`COMMON`].
fn name(device: &Path) -> String {
    let text = match device.extension() {
        Some(_) => device.file_stem().unwrap_or(device.as_os_str()).to_string_lossy(),
        None => device.as_os_str().to_string_lossy(),
    };
    COMMON.iter().find_map(|folder| text.strip_prefix(folder)).unwrap_or(&text).to_owned()
}

/// The metrics of the charts and of the Parquet file.
const METRICS: [&str; 10] = [
    "read.mean",
    "read.p99",
    "read.p99_9",
    "write.mean",
    "write.p99",
    "write.p99_9",
    "requests-per-s",
    "waf",
    "commands.erase",
    "energy",
];

/// One drive of a comparison: its value for each column.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// Name of the drive in its description.
    pub device: String,
    /// Values in base units, as means over the seeds; columns that do not apply are missing.
    #[schemars(extend("propertyNames" = schema::keys(columns().map(|column| column.key))))]
    pub values: BTreeMap<&'static str, f64>,
    /// For each column, the mean over the seeds with its 95 % interval, and the value of each run; missing with one
    /// seed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("propertyNames" = schema::keys(columns().map(|column| column.key))))]
    pub spread: BTreeMap<&'static str, Spread>,
    /// The latencies by percentile over the seeds, by kind of request; missing with one seed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("propertyNames" = schema::keys(IoKind::ALL.map(IoKind::name))))]
    pub latency_curves: BTreeMap<&'static str, CurveSpread>,
    /// The keys of the columns in which the drive may be the best: the drive has the best mean, or the seeds cannot
    /// tell it from the drive with the best mean (a paired t-test for each other drive). With 95 % confidence the best
    /// drive of a column is among the drives that list the column. With one seed, only columns that no run changes are
    /// listed. A drive of which more than one request in a thousand failed is best in no column, unless failures were
    /// allowed.
    pub best: Vec<&'static str>,
    /// False if more than one request in a thousand failed, and failures were not allowed: the drive is best in no column.
    pub is_comparable: bool,
    /// The parts of the time of the drive's requests over all runs, if an observer attributed it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub explained: Vec<KindBands>,
    /// The summaries of the drive's runs, one for each seed.
    pub runs: Vec<Summary>,
}

/// A comparison of drives.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(title = SCHEMA)]
pub struct Comparison {
    /// Version of the keys of this document.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// Name of the workload that all drives ran.
    pub workload: String,
    /// The drives in the order of the user.
    pub rows: Vec<Row>,
    /// The flows, if several workloads ran at once; the rows then have the values of all flows together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowTable>,
}

impl Comparison {
    /// Compares the drives by the outcome of the study from [`plan`], as means over the seeds.
    #[must_use]
    pub fn new(outcome: &StudyOutcome) -> Self {
        let points = || outcome.plan.points.iter().zip(&outcome.runs);
        let of = |point: &Point, runs: &[Summary]| -> BTreeMap<&'static str, Spread> {
            let value = |column: &'static Column| {
                let values: Option<Vec<f64>> = runs.iter().map(|run| column.of(run, &point.device)).collect();
                Some((column.key, Spread::of(values?)?))
            };
            columns().filter_map(value).collect()
        };
        let all: Vec<BTreeMap<&'static str, Spread>> = points().map(|(point, runs)| of(point, runs)).collect();
        let mut rows: Vec<Row> = points()
            .zip(&all)
            .map(|((point, runs), spread)| Row {
                device: point.labels[0].to_string(),
                values: spread.iter().map(|(key, spread)| (*key, spread.mean)).collect(),
                spread: if runs.len() > 1 { spread.clone() } else { BTreeMap::new() },
                latency_curves: CurveSpread::all(runs),
                best: Vec::new(),
                is_comparable: true,
                explained: explained::explained(runs),
                runs: runs.clone(),
            })
            .collect();
        for (number, row) in rows.iter_mut().enumerate() {
            row.is_comparable = outcome.is_sound(number);
        }
        for column in columns() {
            let candidate = |(row, of)| {
                let spread = BTreeMap::get(of, column.key).filter(|_| outcome.is_sound(row))?;
                Some(Candidate { row, spread })
            };
            let candidates: Vec<_> = all.iter().enumerate().filter_map(candidate).collect();
            for row in column.ranking().best(&candidates) {
                rows[row].best.push(column.key);
            }
        }
        let workload = outcome.runs.first().and_then(|runs| runs.first()).map(|run| run.workload.clone());
        Self { schema: SCHEMA, workload: workload.unwrap_or_default(), rows, flows: flows::tables(outcome) }
    }

    /// The number of seeds with which each drive ran.
    #[must_use]
    pub fn seeds(&self) -> usize {
        self.rows.first().map_or(0, |row| row.runs.len())
    }

    /// The warnings and notes of the runs, each with the numbers of the rows that have it.
    #[must_use]
    pub fn cautions(&self) -> Vec<Caution<'_>> {
        let runs = self.rows.iter().enumerate().flat_map(|(row, of)| of.runs.iter().map(move |run| (row, run)));
        cautions(runs)
    }

    /// The numbers of reads and of sectors that the oracle compared, over all drives; `None` unless it checked every
    /// run.
    #[must_use]
    pub fn verified(&self) -> Option<[u64; 2]> {
        let runs = self.rows.iter().flat_map(|row| &row.runs);
        runs.map(|run| run.verified.as_ref().map(|of| [of["reads"], of["sectors"]]))
            .try_fold([0, 0], |sum, of| of.map(|of| [sum[0] + of[0], sum[1] + of[1]]))
    }

    /// Writes the comparison as JSON, indented, with a newline at its end.
    ///
    /// # Panics
    ///
    /// Never: every value can be written as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers and texts") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Device;
    use crate::execute;
    use crate::metric::Dimension;

    fn compared(devices: &[&str], limit: u64) -> Comparison {
        compared_as(devices, RunSpec { limit: Some(limit), ..RunSpec::default() })
    }

    fn compared_as(devices: &[&str], run: RunSpec) -> Comparison {
        let devices: Vec<PathBuf> = devices.iter().map(PathBuf::from).collect();
        let plan = plan(Path::new("oltp"), &devices, &[1, 2], &run).unwrap_or_else(|faults| panic!("{faults}"));
        let outcome = execute::run(plan, &execute::Program::default(), None, &|_, _| {}).expect("it runs");
        Comparison::new(&outcome)
    }

    #[test]
    fn the_compared_drives_have_one_array_one_capacity_and_one_link() {
        let resolved = |name: &str| {
            let (_, text) = ssd::builtin().iter().find(|(other, _)| *other == name).expect("it is built in");
            toml::from_str::<ssd::Spec>(text)
                .expect("TOML")
                .resolve()
                .unwrap_or_else(|faults| panic!("{name}: {faults:?}"))
        };
        let mixed = ssd::builtin().iter().map(|(name, _)| *name).filter(|name| name.starts_with("mix-"));
        let first = resolved(NORMALISED[0]);
        for name in NORMALISED.into_iter().chain(mixed) {
            let other = resolved(name);
            assert_eq!(other.capacity().bytes(), first.capacity().bytes(), "{name}");
            assert_eq!(other.raw_capacity(), first.raw_capacity(), "{name}");
            assert_eq!(other.part, first.part, "{name}");
            assert_eq!(
                (&other.host.link, other.host.queue_depth),
                (&first.host.link, first.host.queue_depth),
                "{name}"
            );
            let flash = &other.spec.flash;
            assert_eq!(flash.channels * flash.chips * flash.gang, 16, "{name}");
            assert_eq!(flash.channels * flash.width / 8, 4, "{name}: buses");
            // Chang's SLC flash is additional: 1/80 of the capacity at 3.36 times the cost per byte.
            let second = other.slc_array.as_ref().map_or(0.0, |second| second.capacity().get() as f64);
            let share = second / other.capacity().bytes().get() as f64;
            let slc_mlc = ["compare-chang", "mix-slc-log-page"].contains(&name);
            assert!(if slc_mlc { (share * 80.0 - 1.0).abs() < 1e-3 } else { share == 0.0 }, "{name}");
            assert!((other.cost().total() - 8.0 - 3.36 * share * 6.0).abs() < 1e-9, "{name}: {:?}", other.cost());
        }
        PUBLISHED.into_iter().for_each(|name| drop(resolved(name)));
    }

    #[test]
    fn the_small_drives_have_one_array_and_the_spare_share_of_the_others() {
        let resolved = |name: String| Device::open(name).unwrap_or_else(|faults| panic!("{faults}")).resolved;
        for name in NORMALISED.map(|name| name.replace("compare-", "")) {
            let [small, large] = ["small", "compare"].map(|folder| resolved(format!("{folder}-{name}")));
            assert_eq!(small.raw_capacity().get(), large.raw_capacity().get() / 16, "{name}");
            assert_eq!(small.capacity().get(), large.capacity().get() / 16, "{name}");
            assert_eq!(
                (&small.part.timing, small.host.queue_depth),
                (&large.part.timing, large.host.queue_depth),
                "{name}"
            );
            assert_eq!(small.host.link, large.host.link, "{name}");
            let chips = |drive: &ssd::ResolvedDevice| {
                drive.spec.flash.chips * drive.spec.flash.channels * drive.spec.flash.gang
            };
            assert_eq!((chips(&small), chips(&large)), (8, 16), "{name}");
        }
    }

    #[test]
    #[allow(clippy::float_cmp)] // The very same numbers, not computed twice.
    fn every_column_marks_its_best_drive() {
        let comparison = compared(&["compare-dirik", "compare-fmmu", "mix-buffered-page"], 300);
        let names: Vec<_> = comparison.rows.iter().map(|row| row.device.as_str()).collect();
        assert_eq!(names, ["dirik", "fmmu", "mix-buffered-page"]);
        for column in columns() {
            let values: Vec<f64> =
                comparison.rows.iter().filter_map(|row| row.values.get(column.key).copied()).collect();
            let best: Vec<f64> = comparison
                .rows
                .iter()
                .filter(|row| row.best.contains(&column.key))
                .map(|row| row.values[column.key])
                .collect();
            let better = |a: f64, b: f64| if column.ranking().more { a > b } else { a < b };
            assert!(best.is_empty() || best.len() < values.len(), "{}: {values:?}: all may be the best", column.key);
            let is_best = |value: &f64| values.iter().all(|other| !better(*other, *value));
            assert!(best.is_empty() || best.iter().any(is_best), "{}: {values:?}, not {best:?}", column.key);
        }
        assert!(comparison.rows.iter().map(|row| row.best.len()).sum::<usize>() > 0, "some differ beyond the spread");
        assert!(comparison.rows.iter().all(|row| !row.best.contains(&"flash_bytes")), "they have the same flash");
        // The row has the mean over the seeds of the runs.
        let row = &comparison.rows[0];
        let means: Vec<f64> = row.runs.iter().map(|run| run.kinds["read"].latency_us["mean"]).collect();
        assert_eq!(row.values["read_mean_us"], (means[0] + means[1]) / 2.0);
        let spread = &row.spread["read_mean_us"];
        assert_eq!((spread.n, spread.mean, &spread.values), (2, row.values["read_mean_us"], &means));
        let column = &LATENCIES[0];
        assert_eq!(column.text(row), Some(spread.interval().expect("two seeds").show(Dimension::Time)));
        let json: serde_json::Value = serde_json::from_str(&comparison.json()).expect("JSON");
        assert!(json["rows"][0]["spread"]["read_mean_us"]["half_width"].is_number());
        // The curves over the seeds go through the percentiles of the table.
        let curve = &row.latency_curves["read"];
        let (_, p99) = curve.share.iter().zip(&curve.mean_us).find(|(share, _)| **share >= 0.99).expect("a tail");
        assert!(*p99 >= row.values.get("read_p99_us").copied().unwrap_or_default(), "{curve:?}");
        let half = &json["rows"][0]["latency_curves"]["read"]["half_width_us"];
        assert_eq!(half.as_array().map(Vec::len), Some(curve.share.len()));
        assert_eq!(json["rows"][1]["values"]["table_ram_bytes"], row_of(&comparison, 1, "table_ram_bytes"));
        assert!(json["rows"][1].get("explained").is_none(), "nothing was explained");
    }

    #[test]
    fn the_latency_of_every_drive_is_explained() {
        let run = RunSpec { explain: true, verify: true, ..RunSpec::default() };
        let comparison = compared_as(&["compare-dirik", "compare-chang"], RunSpec { limit: Some(300), ..run });
        let plain = compared(&["compare-dirik", "compare-chang"], 300);
        for (row, other) in comparison.rows.iter().zip(&plain.rows) {
            assert_eq!(row.values, other.values, "watching changes nothing");
            let kinds: Vec<_> = row.explained.iter().map(|of| of.kind).collect();
            assert_eq!(kinds, ["read", "write", "flush"]);
            for of in &row.explained {
                // Fewer than fifty flushes have none beyond p99.
                let names: Vec<_> = of.bands.iter().map(|band| band.band).collect();
                assert_eq!(names, ["all", "beyond p99"][..if of.kind == "flush" { 1 } else { 2 }]);
                let runs = row.runs.iter().map(|run| run.kinds[of.kind].requests).sum::<u64>();
                assert_eq!(of.bands[0].requests, runs);
                for band in &of.bands {
                    let sum: f64 = band.parts_us.iter().map(|(_, us)| us).sum();
                    assert!((sum - band.latency_us).abs() <= 1e-6 * band.latency_us, "{band:?}");
                }
            }
        }
    }

    fn row_of(comparison: &Comparison, row: usize, key: &str) -> f64 {
        comparison.rows[row].values[key]
    }

    #[test]
    fn a_drive_is_named_after_its_file() {
        assert_eq!(name(Path::new("devices/mine.toml")), "mine");
        assert_eq!(["compare-sung", "small-sung"].map(|text| name(Path::new(text))), ["sung", "sung"]);
        assert_eq!(name(Path::new("demo")), "demo");
    }
}
