//! The points of a study: every combination of its axes, each with a device, workloads and a table `run`.

use std::path::{Path, PathBuf};

use base::fault::Fault;
use ssd::Storage;
use toml::{Table, Value};

use super::flow;
use super::part::PlanPart;
use super::point::{ConcurrentWorkload, Point};
use super::state;
use super::{Assignment, AxisSpec, Changes, Label, RunSpec, StudySpec, seeds};
use crate::catalogue::{self, Device, WorkloadFile};
use crate::config::{self, Document, Faults};

/// The most points of a study: more take too long, and most likely come from a mistake in an axis.
const MOST_POINTS: usize = 100_000;

/// A study that is ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The description of the study, as read from its file.
    pub spec: StudySpec,
    /// The names of the axes, each with the labels of its points.
    pub axes: Vec<(String, Vec<Label>)>,
    /// All points of the study: the combinations of the points of its axes.
    pub points: Vec<Point>,
    /// The devices, workloads and snapshots that the study reads: paths of files, or names from the catalogue.
    pub named: Vec<PathBuf>,
    /// True if snapshots of the study may replace files that Flashloom did not write.
    pub force: bool,
}

struct AxisPoint {
    /// The study's key that makes the change.
    key: String,
    /// True if the key holds a value, false if it holds a table of changes.
    whole: bool,
    label: Label,
    device: Option<PathBuf>,
    workload: Option<PathBuf>,
    set: Changes,
}

impl Plan {
    /// Makes a study from its file. Files that the study names are looked up beside it.
    ///
    /// # Errors All faults of the study; if the study has none, the faults of its points.
    pub fn new(document: &Document) -> Result<Self, Faults> {
        let (spec, grid) = document.decode_and(Grid::new)?;
        Self::of(document, spec, grid)
    }

    /// Makes the study with another workload: a file or a name from the catalogue. Axes that change the workload are
    /// dropped, and so are claims and figures, because they are about the study's own workload.
    ///
    /// # Errors
    /// As [`Plan::new`]; also if there is no such workload.
    pub fn under(document: &Document, workload: &Path) -> Result<Self, Faults> {
        flow::find(workload, &Document::parse(workload, String::new())?, "")?;
        let (mut spec, _) = document.decode_and(Grid::new)?;
        let there = workload.exists().then(|| std::path::absolute(workload).ok()).flatten();
        spec.workload = there.unwrap_or_else(|| workload.to_owned());
        spec.set.workload.clear();
        spec.claims.clear();
        spec.figures.clear();
        let changes = |axis: &AxisSpec| axis.points.iter().any(|point| point.workload.is_some());
        let dropped: Vec<String> = spec.axes.extract_if(.., |axis| changes(axis)).map(|axis| axis.name).collect();
        for named in spec.only.iter_mut().chain([&mut spec.baseline]) {
            named.retain(|axis, _| !dropped.contains(axis));
        }
        let grid = Grid::new(&spec).map_err(|faults| document.faults(faults))?;
        Self::of(document, spec, grid)
    }

    /// True if any point plays a trace. If not, options for reading traces have no effect.
    #[must_use]
    pub fn plays_a_trace(&self) -> bool {
        let mut all = self.points.iter().flat_map(Point::workloads);
        all.any(WorkloadFile::is_trace)
    }

    /// Faults of keys of `run` in the file that have no effect. Options for reading traces are never among them,
    /// because any study can run with a trace.
    #[must_use]
    pub fn idle(&self, document: &Document) -> Faults {
        if !self.spec.run.contains_key("time-scale") || !self.points.iter().all(Point::is_closed_loop) {
            return Faults(Vec::new());
        }
        let why = "has no effect here: requests are issued as others complete, not at times of arrival";
        Faults(vec![document.fault("run.time-scale", why, "leave it out")])
    }

    fn of(document: &Document, mut spec: StudySpec, grid: Grid) -> Result<Self, Faults> {
        let Grid { axes, named } = grid;
        spec.seeds = seeds::of(&spec);
        spec.run.remove("seeds");
        let mut points = Vec::new();
        let mut faults = PointFaults::default();
        let mut at = vec![0; axes.len()];
        loop {
            let steps: Vec<&AxisPoint> = axes.iter().zip(&at).map(|(axis, i)| &axis[*i]).collect();
            let labels: Vec<Label> = steps.iter().map(|step| step.label.clone()).collect();
            let wanted = |only: &Assignment| matches(only, &named, &labels);
            if spec.only.is_empty() || spec.only.iter().any(wanted) {
                match point(document, &spec, labels.clone(), &steps) {
                    Ok(point) => points.push(point),
                    Err(found) => faults.add(document, &named, &labels, found),
                }
            }
            // The last axis changes fastest.
            let next = (0..axes.len()).rev().find(|axis| at[*axis] + 1 < axes[*axis].len());
            let Some(axis) = next.filter(|_| !faults.is_full()) else { break };
            at[axis] += 1;
            at[axis + 1..].fill(0);
        }
        faults.none()?;
        if points.is_empty() {
            return Err(document.fault("only", "matches no combination of the axes", "check its labels").into());
        }
        let mut faults = flow::check(&spec, &mut points);
        faults.extend(state::check(&spec, &points));
        if !faults.is_empty() {
            return Err(document.faults(faults));
        }
        let others = axes.iter().flatten().flat_map(|step| step.device.iter().chain(&step.workload));
        let flows = points.iter().flat_map(|point| point.run.flows.values().map(|flow| &flow.workload));
        let all = [&spec.device, &spec.workload].into_iter().chain(others).chain(flows);
        let snapshots = points.iter().filter_map(|point| point.run.load_snapshot.clone());
        let files = all.map(|path| document.beside(path)).chain(snapshots).collect();
        Ok(Self { spec, axes: named, points, named: files, force: false })
    }
}

/// The checked axes of a study.
struct Grid {
    axes: Vec<Vec<AxisPoint>>,
    named: Vec<(String, Vec<Label>)>,
}

impl Grid {
    fn new(spec: &StudySpec) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let axes: Vec<Vec<AxisPoint>> = (0..spec.axes.len()).map(|i| steps(spec, i, &mut faults)).collect();
        let named: Vec<(String, Vec<Label>)> = spec
            .axes
            .iter()
            .zip(&axes)
            .map(|(axis, steps)| (axis.name.clone(), steps.iter().map(|step| step.label.clone()).collect()))
            .collect();
        for (i, assignment) in spec.only.iter().enumerate() {
            check(&format!("only[{i}]"), assignment, &named, &mut faults);
        }
        check("baseline", &spec.baseline, &named, &mut faults);
        for (i, claim) in spec.claims.iter().enumerate() {
            faults.extend(claim.faults(&format!("claim[{i}]"), &named, seeds::of(spec).len()));
        }
        for (i, figure) in spec.figures.iter().enumerate() {
            faults.extend(figure.faults(&format!("figure[{i}]"), &named));
        }
        if let Some((message, remedy)) = base::fault::wrong_name(&spec.name) {
            faults.push(Fault::new("name", message, remedy));
        }
        faults.extend(seeds::faults(spec));
        let count = axes.iter().map(Vec::len).try_fold(1_usize, usize::checked_mul);
        if count.is_none_or(|count| count > MOST_POINTS) {
            let remedy = format!("leave some out: {MOST_POINTS} are the most");
            faults.push(Fault::new("axis", "makes too many points", remedy));
        }
        if faults.is_empty() { Ok(Self { axes, named }) } else { Err(faults) }
    }
}

/// The faults of all points, each listed once, with the first point that has it.
#[derive(Default)]
struct PointFaults {
    found: Vec<config::ConfigFault>,
    shown: Faults,
}

impl PointFaults {
    /// The most points with faults of their own that are listed.
    const MOST: usize = 50;

    fn add(&mut self, document: &Document, axes: &[(String, Vec<Label>)], labels: &[Label], faults: Faults) {
        let pairs: Vec<String> = axes.iter().zip(labels).map(|((name, _), label)| format!("{name}={label}")).collect();
        let here = match &pairs[..] {
            [] => String::new(),
            pairs => format!("at {}, ", pairs.join(", ")),
        };
        for fault in faults.0 {
            // An unknown key is one fault, whatever the value of its axis.
            let axis = |key: &str| key.rsplit_once(".values[").map_or(key.len(), |(axis, _)| axis.len());
            let alike = |other: &config::ConfigFault| {
                other.key[..axis(&other.key)] == fault.key[..axis(&fault.key)]
                    && (&other.path, &other.message, &other.remedy) == (&fault.path, &fault.message, &fault.remedy)
            };
            if self.found.iter().any(alike) {
                continue;
            }
            let own = fault.path.as_deref() == Some(document.path());
            let of = if own { String::new() } else { format!("in study {}, ", document.path().display()) };
            let message = format!("{of}{here}{}", fault.message);
            self.shown.0.push(config::ConfigFault { message, ..fault.clone() });
            self.found.push(fault);
        }
    }

    fn is_full(&self) -> bool {
        self.found.len() >= Self::MOST
    }

    fn none(self) -> Result<(), Faults> {
        if self.found.is_empty() { Ok(()) } else { Err(self.shown) }
    }
}

/// True if the assignment includes the labels of this point.
fn matches(assignment: &Assignment, axes: &[(String, Vec<Label>)], labels: &[Label]) -> bool {
    axes.iter()
        .zip(labels)
        .all(|((name, _), label)| assignment.get(name).is_none_or(|wanted| wanted.labels().contains(label)))
}

fn steps(spec: &StudySpec, number: usize, faults: &mut Vec<Fault>) -> Vec<AxisPoint> {
    let axis = &spec.axes[number];
    let at = |key: &str| format!("axis[{number}]{key}");
    if axis.name.is_empty() {
        faults.push(Fault::new(at(".name"), "is empty", "give it one, e.g. name = \"channels\""));
    }
    if spec.axes[..number].iter().any(|other| other.name == axis.name) {
        faults.push(Fault::new(at(".name"), format!("`{}` occurs twice", axis.name), "rename one of them"));
    }
    let steps: Vec<AxisPoint> = match (&axis.key, axis.points.is_empty()) {
        (Some(key), true) => {
            let values = axis.values.iter().enumerate();
            values.filter_map(|(i, value)| step(&at(""), key, i, value, faults)).collect()
        }
        (None, false) if axis.values.is_empty() => axis
            .points
            .iter()
            .enumerate()
            .map(|(i, point)| AxisPoint {
                key: at(&format!(".point[{i}]")),
                whole: false,
                label: point.at.clone(),
                device: point.device.clone(),
                workload: point.workload.clone(),
                set: point.set.clone(),
            })
            .collect(),
        _ => {
            let message = "has neither key and values nor points, or both";
            faults.push(Fault::new(at(""), message, "give `key` and `values`, or [[axis.point]]s"));
            return Vec::new();
        }
    };
    let told = |fault: &Fault| [".key", ".values["].iter().any(|key| fault.path.starts_with(&at(key)));
    if steps.is_empty() && !faults.iter().any(told) {
        faults.push(Fault::new(at(""), "has no point", "give it some"));
    }
    for (i, step) in steps.iter().enumerate() {
        if steps[..i].iter().any(|other| other.label == step.label) {
            faults.push(Fault::new(
                at(""),
                format!("has two points named `{}`", step.label),
                "give each point its \
                                                                                              own label",
            ));
        }
    }
    steps
}

fn step(axis: &str, key: &str, i: usize, value: &Value, faults: &mut Vec<Fault>) -> Option<AxisPoint> {
    let Some(label) = Label::of(value) else {
        let message = format!("`{value}` is not a name for a point");
        faults.push(Fault::new(format!("{axis}.values[{i}]"), message, "use [[axis.point]] with `at` and `set`"));
        return None;
    };
    let mut parts: Vec<&str> = key.split('.').collect();
    let root = parts.remove(0);
    let mut changes = Changes::default();
    let table = match root {
        "device" => &mut changes.device,
        "workload" => &mut changes.workload,
        "run" => &mut changes.run,
        _ => {
            if i == 0 {
                let message = format!("`{key}` begins with neither device, workload nor run");
                faults.push(Fault::new(format!("{axis}.key"), message, "write e.g. device.flash.chips"));
            }
            return None;
        }
    };
    let Some((last, way)) = parts.split_last() else {
        if i == 0 {
            let message = format!("`{key}` names no key of the {key}");
            faults.push(Fault::new(format!("{axis}.key"), message, "write e.g. device.flash.chips"));
        }
        return None;
    };
    let mut inner = table;
    for name in way {
        let slot = inner.entry((*name).to_owned()).or_insert_with(|| Value::Table(Table::new()));
        inner = slot.as_table_mut().expect("it was just made");
    }
    inner.insert((*last).to_owned(), value.clone());
    let key = format!("{axis}.values[{i}]");
    Some(AxisPoint { key, whole: true, label, device: None, workload: None, set: changes })
}

/// Adds faults for labels and axes of an assignment that do not exist.
pub(super) fn check(key: &str, assignment: &Assignment, axes: &[(String, Vec<Label>)], faults: &mut Vec<Fault>) {
    for (name, wanted) in assignment {
        let Some((_, labels)) = axes.iter().find(|(other, _)| other == name) else {
            let known: Vec<_> = axes.iter().map(|(name, _)| name.as_str()).collect();
            let meant = config::did_you_mean(name, known.iter().copied());
            let remedy = match &*known {
                [] => "add an [[axis]], or leave it out".to_owned(),
                known => format!("{meant}the axes are {}", known.join(", ")),
            };
            faults.push(Fault::new(format!("{key}.{name}"), "is no axis of this study", remedy));
            continue;
        };
        for label in wanted.labels().iter().filter(|label| !labels.contains(label)) {
            let known: Vec<_> = labels.iter().map(Label::as_str).collect();
            let meant = config::did_you_mean(label.as_str(), known.iter().copied());
            let remedy = match &*known {
                [] => "correct the axis first, which has no point".to_owned(),
                known => format!("{meant}its points are {}", known.join(", ")),
            };
            faults.push(Fault::new(format!("{key}.{name}"), format!("has no point `{label}`"), remedy));
        }
    }
}

fn point(document: &Document, spec: &StudySpec, labels: Vec<Label>, steps: &[&AxisPoint]) -> Result<Point, Faults> {
    let last = |of: fn(&AxisPoint) -> Option<&PathBuf>, base: &PathBuf| {
        let path = steps.iter().rev().find_map(|step| of(step)).unwrap_or(base);
        document.beside(path)
    };
    let device_path = last(|step| step.device.as_ref(), &spec.device);
    let workload_path = last(|step| step.workload.as_ref(), &spec.workload);
    let mut parts = vec![PlanPart { key: "set".into(), whole: false, set: &spec.set }];
    parts.extend(steps.iter().map(|step| PlanPart {
        key: if step.whole { step.key.clone() } else { format!("{}.set", step.key) },
        whole: step.whole,
        set: &step.set,
    }));
    let mut faults = Faults::default();

    let mut run = Document::parse(document.path(), String::new())?;
    run.merge(&spec.run, document, "run", false);
    parts.iter().for_each(|part| part.apply("run", &part.set.run, &mut run, document));
    // The device reports the replaced keys of its file; for `run`, the axis that replaces a key is in the same file.
    run.replace_alternatives(&RunSpec::ALTERNATIVES);

    let device = catalogue::device(&device_path).and_then(|mut device| {
        parts.iter().for_each(|part| part.apply("device", &part.set.device, &mut device, document));
        flow::weigh(&run, &mut device)?;
        catalogue::device_from(&device)
    });
    let device = device.map_err(|found| faults.0.extend(found.0)).ok();

    let named_at = steps.iter().rev().find(|step| step.workload.is_some());
    let named_at = named_at.map_or_else(|| "workload".to_owned(), |step| format!("{}.workload", step.key));
    let workload = flow::find(&workload_path, document, &named_at).and_then(|mut workload| {
        for part in parts.iter().filter(|part| !part.set.workload.is_empty()) {
            match &mut workload {
                WorkloadFile::Described(of) => part.apply("workload", &part.set.workload, of, document),
                WorkloadFile::Jobs(..) | WorkloadFile::Trace(_) | WorkloadFile::Listed(_) => {
                    let message = format!("sets keys of {}, which is a trace or a fio job", workload_path.display());
                    let key = if part.whole { part.key.clone() } else { format!("{}.workload", part.key) };
                    return Err(document.fault(&key, message, "set keys of generators only").into());
                }
            }
        }
        Ok(workload)
    });
    let workload = workload.map_err(|found| faults.0.extend(found.0)).ok();

    let checked = run.decode_and(|run: &RunSpec| check_run(run, device.as_ref()));
    let checked = checked.and_then(|(mut spec_of_run, ())| {
        state::place(document, &run, &mut spec_of_run, device.as_ref())?;
        let beside = flow::workloads(document, spec, &parts, (&run, &spec_of_run))?;
        Ok((spec_of_run, beside))
    });
    let run = checked.map_err(|found| faults.0.extend(found.0)).ok();
    match (device, workload, run) {
        (Some(device), Some(workload), Some((run, beside))) => Ok(Point { labels, device, workload, beside, run }),
        _ => Err(faults),
    }
}

impl Point {
    /// Creates a point outside any study: a device, its workload, the workloads beside it, and a table `run` that names
    /// these under `flows`.
    ///
    /// # Errors
    /// All faults of the table.
    pub fn alone(
        device: Device,
        workload: WorkloadFile,
        beside: Vec<ConcurrentWorkload>,
        run: &Document,
    ) -> Result<Self, Faults> {
        let (run, ()) = run.decode_and(|run: &RunSpec| check_run(run, Some(&device)))?;
        Ok(Self { labels: Vec::new(), device, workload, beside, run })
    }
}

pub(crate) fn check_run(run: &RunSpec, device: Option<&Device>) -> Result<(), Vec<Fault>> {
    let mut faults = Vec::new();
    let (steps, is_new) = (&run.precondition, run.load_snapshot.is_none());
    if let Some((_, fault)) = device.and_then(|device| ssd::Precondition::first_fault(steps, &device.resolved, is_new))
    {
        faults.push(Fault::new("precondition", fault.message, fault.remedy));
    }
    faults.extend(Storage::fault(run.age, run.temperature, device.map(|device| &device.resolved)));
    if run.seeds.is_some() {
        let remedy = "write `seeds` at the top of the study, or in its table `run`";
        faults.push(Fault::new("seeds", "every point runs with the same seeds", remedy));
    }
    if let Err(unknown) = run.reading.options() {
        faults.push(unknown.fault(&run.reading));
    }
    faults.extend(flow::faults(run, device));
    faults.extend(run.conflicts());
    if run.time_scale.is_some_and(|factor| !(factor.is_finite() && factor > 0.0)) {
        faults.push(Fault::new("time-scale", "cannot scale time", "use a number above zero, e.g. 0.5"));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// The labels of a point, in words.
pub(crate) fn describe(axes: &[(String, Vec<Label>)], labels: &[Label]) -> String {
    let pairs = axes.iter().zip(labels).map(|((name, _), label)| format!("{name} {label}"));
    pairs.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Result<Plan, Faults> {
        Document::parse(Path::new("s.toml"), text.to_owned()).and_then(|document| Plan::new(&document))
    }

    const HEAD: &str = "name = \"s\"\ndevice = \"dirik-1x1\"\nworkload = \"dirik-wd\"\n";

    #[test]
    fn every_combination_is_a_point_with_its_keys_set() {
        let text = format!(
            "{HEAD}run = {{ precondition = [\"preload:26KiB:1MiB\"] }}\nset = {{ workload = {{ requests = 10 }} }}\n\
             [[axis]]\nname = \"banks\"\nkey = \"device.flash.chips\"\nvalues = [1, 2]\n\
             [[axis]]\nname = \"run\"\n[[axis.point]]\nat = \"open\"\n[[axis.point]]\nat = \"deep\"\n\
             set = {{ run = {{ depth = 4 }}, workload = {{ requests = 20 }} }}\n\
             [[axis.point]]\nat = \"other\"\nworkload = \"dirik-single\"\ndevice = \"dirik-2x4\"\n"
        );
        let plan = plan(&text).expect("sound");
        let shown: Vec<_> = plan
            .points
            .iter()
            .map(|point| {
                let spec = &point.device.resolved.spec;
                let WorkloadFile::Described(workload) = &point.workload else { panic!("it is described") };
                let requests = workload.table()["requests"].as_integer();
                (describe(&plan.axes, &point.labels), spec.flash.channels, spec.flash.chips, requests, point.run.depth)
            })
            .collect();
        let wanted = [
            ("banks 1, run open", 1, 1, 10, None),
            ("banks 1, run deep", 1, 1, 20, Some(4)),
            ("banks 1, run other", 2, 1, 10, None),
            ("banks 2, run open", 1, 2, 10, None),
            ("banks 2, run deep", 1, 2, 20, Some(4)),
            ("banks 2, run other", 2, 2, 10, None),
        ];
        assert_eq!(shown, wanted.map(|(name, c, b, r, d)| (name.to_owned(), c, b, Some(r), d)));
        // The raw capacity is independent of the number of banks.
        assert!(plan.points.iter().all(|point| point.device.resolved.raw_capacity().get() == 32 << 30));
    }

    #[test]
    fn another_workload_replaces_that_of_the_study() {
        let text = format!(
            "{HEAD}only = [{{ load = \"a\", banks = 2 }}]\nset = {{ workload = {{ requests = 10 }} }}\n\
             [[axis]]\nname = \"load\"\npoint = [{{ at = \"a\", workload = \"dirik-wd\" }}, {{ at = \"b\" }}]\n\
             [[axis]]\nname = \"banks\"\nkey = \"device.flash.chips\"\nvalues = [1, 2]\n\
             [[claim]]\nid = \"X\"\nsays = \"x\"\n[[claim.expect]]\nmetric = \"mean\"\nwhere = {{ load = \"b\" }}\n\
             equal = {{ within = \"1%\" }}\n"
        );
        let document = Document::parse(Path::new("s.toml"), text).expect("TOML");
        let plan = Plan::under(&document, Path::new("fmmu-wh")).expect("sound");
        let [point] = &plan.points[..] else { panic!("banks = 2 alone") };
        assert_eq!((describe(&plan.axes, &point.labels), plan.spec.claims.len()), ("banks 2".to_owned(), 0));
        let WorkloadFile::Described(workload) = &point.workload else { panic!("it is described") };
        assert_eq!(workload.table()["name"].as_str(), Some("fmmu-wh"));
        assert_eq!(workload.table()["requests"].as_integer(), Some(1_000_000), "the study's changes are about its own");
    }

    #[test]
    fn only_limits_the_combinations_that_are_run() {
        let text = format!(
            "{HEAD}only = [{{ banks = 1 }}, {{ gang = [1, 4], banks = 2 }}]\n\
             [[axis]]\nname = \"banks\"\nkey = \"device.flash.chips\"\nvalues = [1, 2]\n\
             [[axis]]\nname = \"gang\"\nkey = \"device.flash.gang\"\nvalues = [1, 2, 4]\n"
        );
        let points = plan(&text).expect("sound").points;
        let labels: Vec<String> =
            points.iter().map(|p| p.labels.iter().map(Label::as_str).collect::<Vec<_>>().join("x")).collect();
        assert_eq!(labels, ["1x1", "1x2", "1x4", "2x1", "2x4"]);
    }

    #[test]
    fn all_faults_of_a_study_are_found_at_their_lines() {
        let text = format!(
            "{HEAD}seeds = []\nonly = [{{ speed = 1 }}]\n\
             [[axis]]\nname = \"a\"\nkey = \"drive.chips\"\nvalues = [1]\n\
             [[axis]]\nname = \"a\"\nkey = \"device.flash.chips\"\nvalues = [1, 1]\n\
             [[axis]]\nname = \"b\"\n\
             [[claim]]\nid = \"X\"\nsays = \"x\"\nexpect = []\n\
             [[claim]]\nid = \"Y\"\nsays = \"y\"\n[[claim.expect]]\nmetric = \"read.mean\"\nwhere = {{ a = 7 }}\nequal = {{ within = \"1%\", along = \"c\" }}\n"
        );
        let faults = plan(&text).expect_err("faulty").to_string();
        for wanted in [
            "s.toml:4: seeds: the list is empty",
            "only[0].speed: is no axis of this study; the axes are a, a, b",
            "s.toml:8: axis[0].key: `drive.chips` begins with neither device, workload nor run",
            "s.toml:11: axis[1].name: `a` occurs twice",
            "axis[1]: has two points named `1`",
            "axis[2]: has neither key and values nor points",
            "claim[0]: expects nothing",
            "claim[1].expect[0].where.a: has no point `7`",
            "claim[1].expect[0].equal.along: there is no axis `c`",
        ] {
            assert!(faults.contains(wanted), "{wanted}:\n{faults}");
        }
    }

    #[test]
    fn a_fault_of_an_axis_names_its_own_key() {
        for (axis, wanted) in [
            ("name = \"\"\nkey = \"device.flash.chips\"", "s.toml:5: axis[0].name: is empty; give it one"),
            (
                "name = \"a\"\nkey = \"device\"",
                "s.toml:6: axis[0].key: `device` names no key of the device; write e.g. device.",
            ),
            ("name = \"a\"\nkey = \"flash.chips\"", "s.toml:6: axis[0].key: `flash.chips` begins with neither device"),
        ] {
            let text = plan(&format!("{HEAD}[[axis]]\n{axis}\nvalues = [1, 2]\n")).expect_err(axis).to_string();
            assert!(text.starts_with(wanted) && text.lines().count() == 1, "{text}");
        }
        let claim = "[[claim]]\nid = \"X\"\nsays = \"x\"\n[[claim.expect]]\nmetric = \"read.mean\"\nwhere = { a = 7 }\nequal = { within = \"1%\" }\n";
        let text = plan(&format!("{HEAD}{claim}")).expect_err("no axis").to_string();
        assert!(text.contains("where.a: is no axis of this study; add an [[axis]], or leave it out"), "{text}");
    }

    #[test]
    fn a_fault_of_a_point_names_the_line_of_the_study() {
        let axis = "[[axis]]\nname = \"banks\"\nkey = \"device.flash.chps\"\nvalues = [1, 2]\n";
        let text = plan(&format!("{HEAD}{axis}")).expect_err("faulty").to_string();
        let wanted = "s.toml:7: axis[0].values[0]: at banks=1, sets flash.chps of dirik-1x1: is not a known key; did you mean `chips`?";
        assert_eq!(text, wanted);
        // Each point's own fault appears; a fault of the device itself appears once.
        let axis = "[[axis]]\nname = \"banks\"\nkey = \"device.flash.chips\"\nvalues = [0, 1, -2]\n[set.device]\nhost = { burst = 0 }\n";
        let text = plan(&format!("{HEAD}{axis}")).expect_err("faulty").to_string();
        let wanted = [
            "s.toml:7: axis[0].values[0]: at banks=0, sets flash.chips of dirik-1x1: is zero; there must be at least one",
            "s.toml:9: set.device.host.burst: at banks=0, sets host.burst of dirik-1x1: is zero",
            "s.toml:7: axis[0].values[2]: at banks=-2, sets flash.chips of dirik-1x1: `-2` is not a whole number from 0",
        ];
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() == 3 && lines.iter().zip(wanted).all(|(line, wanted)| line.starts_with(wanted)), "{text}");
        // A fault of the device that only one point has.
        let axis = "[[axis]]\nname = \"banks\"\nkey = \"device.flash.chips\"\nvalues = [2, 3]\n";
        let text = plan(&format!("{HEAD}{axis}")).expect_err("faulty").to_string();
        assert!(text.starts_with("dirik-1x1:") && text.contains("flash.size: in study s.toml, at banks=3, "), "{text}");
        for (line, wanted) in [
            ("run = { depth = 0 }", "s.toml:4: run.depth: a closed loop of depth 0"),
            ("run = { depth = -1 }", "s.toml:4: run.depth: `-1` is not a whole number from 0 to 4294967295"),
            ("set = { run = { depht = 1 } }", "s.toml:4: set.run.depht: is not a known key; did you mean `depth`?"),
            ("run = { extent = \"clip\" }", "run.extent: `clip` is not a rule"),
            ("run = { format = \"tape\" }", "run.format: `tape` is not a trace format"),
            ("run = { precondition = [\"preload:1MiB:99TiB\"] }", "run.precondition: the extent of 99TiB"),
            ("run = { precondition = [\"soak\"] }", "`soak` is not a preconditioning step"),
        ] {
            let text = plan(&format!("{HEAD}{line}\n")).expect_err("faulty").to_string();
            assert!(text.contains(wanted), "{line}: {text}");
        }
    }
}
