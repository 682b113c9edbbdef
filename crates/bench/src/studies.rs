//! Whole simulations as users start them: those of `make demo` and the studies of the papers.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use floor::clock::{Cost, timed};
use ssd::Precondition;
use study::catalogue;
use study::compare::{self, NORMALISED};
use study::execute::{self, ResultStore};
use study::plan::{Plan, RunSpec, builtin};
use study::session::Program;
use study::store::Store;

use floor::report::{Row, Spread};

/// Goal: the most seconds of processor time of the demo.
const DEMO: f64 = 8.0;
/// Goal: the most seconds of processor time of the studies of the five papers.
const PAPERS: f64 = 200.0;
/// The recorded requests that `make demo` plays.
const RECORDED: &str = "workloads/recorded/programs.parquet";

fn run(plan: Plan, result_store: Option<&ResultStore<'_>>) -> Cost {
    let one = NonZeroUsize::new(1);
    let (outcome, cost) = timed(|| execute::run_in(plan, &Program::default(), one, result_store, &|_, _| {}));
    outcome.unwrap_or_else(|error| panic!("a built-in study: {error}"));
    cost
}

fn row(name: &str, cost: Cost, most: f64, note: String) -> Row {
    Row {
        name: name.to_owned(),
        unit: "CPU s",
        value: Spread::one(cost.cpu),
        wall: Some(cost.wall),
        ratio: None,
        reads: None,
        target: Some(format!("< {most} s")),
        met: Some(cost.cpu < most),
        note,
    }
}

/// Measures the drives of the papers under the recorded workload, verified and explained, on one core.
pub(crate) fn demo() -> Vec<Row> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let how = RunSpec { depth: Some(8), verify: true, explain: true, ..RunSpec::default() };
    let devices: Vec<_> = NORMALISED.iter().map(PathBuf::from).collect();
    let plan = compare::plan(&root.join(RECORDED), &devices, &[1], &how);
    let plan = plan.unwrap_or_else(|faults| panic!("the demo: {faults}"));
    let note = "in a build for release, without the writing of its pages".to_owned();
    vec![row("simulation of make demo", run(plan, None), DEMO, note)]
}

/// Goal: the least speed-up of a study on two cores.
const SPEED_UP: f64 = 1.8;

/// Measures a study of equal points on one core and on two, one after the other. The result is the ratio of the
/// wall-clock times.
pub(crate) fn cores(rounds: u32) -> Vec<Row> {
    let two = NonZeroUsize::new(2);
    let plan = || {
        let how = RunSpec { limit: Some(200_000), precondition: vec![Precondition::Fill], ..RunSpec::default() };
        let plan =
            compare::plan(Path::new("mixed-70-30-4k"), &[PathBuf::from("demo")], &[1, 2, 3, 4, 5, 6, 7, 8], &how);
        plan.unwrap_or_else(|faults| panic!("the demo: {faults}"))
    };
    let on = |threads| {
        let (outcome, cost) = timed(|| execute::run(plan(), &Program::default(), threads, &|_, _| {}));
        outcome.unwrap_or_else(|error| panic!("a study: {error}"));
        cost
    };
    let pairs: Vec<_> = (0..rounds).map(|_| (on(NonZeroUsize::new(1)), on(two))).collect();
    let of = |value: fn(&(Cost, Cost)) -> f64| Spread::of(&pairs.iter().map(value).collect::<Vec<_>>());
    let speed_up = of(|(one, both)| one.wall / both.wall);
    vec![Row {
        name: "a study on two cores".to_owned(),
        unit: "times as fast",
        value: speed_up,
        wall: Some(of(|(_, both)| both.wall).median),
        ratio: None,
        reads: None,
        target: Some(format!(">= {SPEED_UP}")),
        met: Some(speed_up.median >= SPEED_UP),
        note: format!(
            "{:.1} CPU s on one core, {:.1} on two",
            of(|(one, _)| one.cpu).median,
            of(|(_, both)| both.cpu).median
        ),
    }]
}

/// Measures `flashloom reproduce` for each of the five papers: the studies that it runs without `--long`, with an
/// initially empty store.
pub(crate) fn papers() -> Vec<Row> {
    let folder = tempfile::tempdir().expect("a folder for results");
    let store = Store::open(folder.path()).expect("a writable folder");
    let studies = builtin().iter().filter(|(name, _)| !name.starts_with("mix/"));
    let plans = studies.map(|(name, _)| {
        let plan = catalogue::study(Path::new(name)).and_then(|document| Plan::new(&document));
        plan.unwrap_or_else(|faults| panic!("{name}: {faults}"))
    });
    let plans: Vec<Plan> = plans.filter(|plan| !plan.spec.long).collect();
    let shared = execute::shared_states(&plans);
    let mut of_papers: Vec<(String, Cost)> = Vec::new();
    for plan in plans {
        let paper = plan.spec.name.split('/').next().unwrap_or_default().to_owned();
        let cost = run(plan, Some(&ResultStore::new(&store, &|said| panic!("{said}")).keeping(&shared)));
        match of_papers.last_mut().filter(|(of, _)| *of == paper) {
            Some((_, sum)) => (sum.cpu, sum.wall) = (sum.cpu + cost.cpu, sum.wall + cost.wall),
            None => of_papers.push((paper, cost)),
        }
    }
    let (cpu, wall) = of_papers.iter().fold((0.0, 0.0), |(cpu, wall), (_, cost)| (cpu + cost.cpu, wall + cost.wall));
    let each: Vec<String> = of_papers.iter().map(|(paper, cost)| format!("{paper} {:.0}", cost.cpu)).collect();
    vec![row("studies of the five papers", Cost { cpu, wall }, PAPERS, format!("on one core: {}", each.join(", ")))]
}
