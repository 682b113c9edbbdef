//! The function `run`: a session, with one seed or several.

use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;

use base::units::Bytes;
use pyo3::prelude::*;
use study::catalogue;
use study::execute::at_once;
use study::memory::{self, Limit, Need};
use study::output::{Kind, Outputs, publish};
use study::plan::{ConcurrentWorkload, FlowSpec, Point, seeds_from};
use study::repeat::with_each;
use study::run::Record;
use study::session::{Progress, Session};
use study::watch::Watch;
use study::watch::timeline::{Timeline, Window};

use crate::argument::Arguments;
use crate::detached::followed;
use crate::device::Device;
use crate::error::Failure;
use crate::outcome::{Outcome, SeedRuns};
use crate::policy::known;
use crate::workload::{Flow, Workload};

/// The settings of a run that are not in its point.
struct Settings {
    seed: u64,
    seeds: u32,
    /// The window of the timeline; `None` without a timeline.
    timeline: Option<Window>,
    requests: bool,
    memory: Option<Limit>,
    save: Option<PathBuf>,
    jobs: Option<NonZeroUsize>,
}

/// Runs a workload on a device and returns the measurements.
///
/// `device` and `workload` are a `Device` and a `Workload`, or their sources: a file, a name of the catalogue, a dict,
/// for a workload an iterable or an Arrow table. The other arguments are as the options of `flashloom run`:
///
/// * `flows`: workloads that run at the same time, each a `Flow` or a workload; `fairness` runs each of them alone, too.
/// * `depth` keeps so many requests outstanding, `open` issues them at their times of arrival, `queue` is the submission
///   queue of the first workload, `placement_id` the placement identifier of its writes that have none of their own,
///   `time_scale` multiplies all times of arrival.
/// * `precondition`: steps such as `"fill,random:x1"` or `["fill", "steady"]`; `load_snapshot` starts from a file that
///   `save_snapshot` wrote after these steps. `age` leaves the drive without power then, e.g. `"90d"` or `"client"`, at
///   `temperature`, e.g. `"40C"`, if the device has errors.
/// * `warm_up`, `measure` and `limit` (requests) say which part is measured; an amount is a number of requests, or a text such
///   as `"8GiB"`, `"2s"` or `"0.5x"` (capacities). `until="steady"` warms up until the drive is steady, in rounds of `round`.
///   `until="worn"` runs until the drive refuses a write because too many of its blocks have failed, or ends after `rounds`;
///   `warranty`, e.g. `"5y"`, is the time over which drive writes per day are counted.
/// * `seed` seeds all random streams; with `seeds=5` the run is done with five of them, `jobs` at once (by default one for
///   each core).
/// * `verify` checks that every read returns the newest write. `explain` attributes the time of requests. `series` is the
///   interval of the time series, e.g. `"10ms"`. `requests` keeps a row for every request (about 100 bytes each).
///   `timeline` records the work of dies and channels in a window, e.g. `"0s..10ms"`; `True` for that one.
/// * `memory` is the size that the simulation may take, e.g. `"12GiB"`, instead of the machine's.
/// * `progress` is called with the finished and the known number of requests, now and then.
///
/// Other Python threads go on meanwhile. Ctrl-C ends the run, and nothing is left of it.
#[pyfunction]
#[pyo3(signature = (
    device, workload, *, flows=None, fairness=false, depth=None, open=false, queue=0, placement_id=0, time_scale=None, precondition=None,
    age=None, temperature=None, load_snapshot=None, save_snapshot=None, warm_up=None, measure=None, until=None, round=None, rounds=None,
    warranty=None, limit=None, seed=0,
    seeds=1, jobs=None, verify=false, explain=false, series=None, requests=false, timeline=None, memory=None,
    progress=None
))]
#[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)] // Python passes them by name.
pub(crate) fn run(
    py: Python<'_>,
    device: &Bound<'_, PyAny>,
    workload: &Bound<'_, PyAny>,
    flows: Option<&Bound<'_, PyAny>>,
    fairness: bool,
    depth: Option<&Bound<'_, PyAny>>,
    open: bool,
    queue: u16,
    placement_id: u16,
    time_scale: Option<&Bound<'_, PyAny>>,
    precondition: Option<&Bound<'_, PyAny>>,
    age: Option<&Bound<'_, PyAny>>,
    temperature: Option<&Bound<'_, PyAny>>,
    load_snapshot: Option<&Bound<'_, PyAny>>,
    save_snapshot: Option<PathBuf>,
    warm_up: Option<&Bound<'_, PyAny>>,
    measure: Option<&Bound<'_, PyAny>>,
    until: Option<&Bound<'_, PyAny>>,
    round: Option<&Bound<'_, PyAny>>,
    rounds: Option<&Bound<'_, PyAny>>,
    warranty: Option<&Bound<'_, PyAny>>,
    limit: Option<&Bound<'_, PyAny>>,
    seed: u64,
    seeds: u32,
    jobs: Option<usize>,
    verify: bool,
    explain: bool,
    series: Option<&Bound<'_, PyAny>>,
    requests: bool,
    timeline: Option<&Bound<'_, PyAny>>,
    memory: Option<&str>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome> {
    let mut run = Arguments::default();
    run.take("depth", depth)?;
    run.take("time-scale", time_scale)?;
    run.take_list("precondition", precondition)?;
    run.take("age", age)?;
    run.take("temperature", temperature)?;
    run.take("load-snapshot", load_snapshot)?;
    run.take_amount("warm-up", warm_up)?;
    run.take_amount("measure", measure)?;
    run.take("until", until)?;
    run.take_amount("round", round)?;
    run.take("rounds", rounds)?;
    run.take("warranty", warranty)?;
    run.take("limit", limit)?;
    run.take("series", series)?;
    for (key, value) in [("open", open), ("fairness", fairness), ("verify", verify), ("explain", explain)] {
        if value {
            run.put(key, true);
        }
    }
    run.put("queue", i64::from(queue));
    run.put("placement-id", i64::from(placement_id));
    let flows = flows.map_or_else(|| Ok(Vec::new()), flows_of)?;
    let point = point(Device::of(device)?.found()?, &Workload::of(workload)?, &flows, run)?;
    let settings = Settings {
        seed,
        seeds,
        timeline: timeline.map(window).transpose()?.flatten(),
        requests,
        memory: memory.map_or_else(|| Ok(flashloom::memory_limit()), given_memory)?,
        save: save_snapshot,
        jobs: jobs_of(jobs)?,
    };
    let has_progress = progress.is_some();
    let done = followed(
        py,
        |interrupt, sender| {
            let sender = has_progress.then_some(sender);
            if settings.seeds == 1 {
                single(&point, &settings, interrupt, sender)
            } else {
                several(&point, &settings, interrupt)
            }
        },
        |py, (done, all): (u64, Option<u64>)| {
            progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (done, all)).map(drop))
        },
    )?;
    let outcome = Outcome::new(done);
    outcome.warn_of_failures(py)?;
    Ok(outcome)
}

/// Converts the argument `flows`: one flow, or an iterable of flows.
fn flows_of(value: &Bound<'_, PyAny>) -> PyResult<Vec<Flow>> {
    let is_one =
        value.extract::<Flow>().is_ok() || value.extract::<Workload>().is_ok() || value.extract::<String>().is_ok();
    match is_one {
        true => Ok(vec![Flow::of(value)?]),
        false => value.try_iter()?.map(|flow| Flow::of(&flow?)).collect(),
    }
}

/// Converts the argument `jobs`, a number of runs at once; a failure if it is 0.
pub(crate) fn jobs_of(jobs: Option<usize>) -> Result<Option<NonZeroUsize>, Failure> {
    let wrong = || Failure::argument("jobs", "0 runs at once do nothing", "use 1 or more, or leave it out");
    jobs.map(|jobs| NonZeroUsize::new(jobs).ok_or_else(wrong)).transpose()
}

/// Converts the argument `memory`.
pub(crate) fn given_memory(text: &str) -> Result<Option<Limit>, Failure> {
    let wrong = |_| Failure::argument("memory", format!("`{text}` is not a size"), "write e.g. \"12GiB\"");
    Ok(Some(Limit { bytes: text.parse::<Bytes>().map_err(wrong)?, name: "memory".to_owned() }))
}

/// Parses the preconditioning steps among the arguments.
pub(crate) fn precondition_of(run: Arguments) -> Result<Vec<ssd::Precondition>, Failure> {
    Ok(run.document().decode::<study::plan::RunSpec>()?.precondition)
}

/// Converts the argument `timeline`: `True` for the default window of the command line, or a text.
fn window(value: &Bound<'_, PyAny>) -> PyResult<Option<Window>> {
    if let Ok(wanted) = value.extract::<bool>() {
        return Ok(wanted.then(Window::default));
    }
    let text: String = value.extract()?;
    let wrong = |_| Failure::argument("timeline", format!("`{text}` is no window"), "write e.g. \"0s..10ms\", or True");
    Ok(Some(text.parse().map_err(wrong)?))
}

/// Creates the point of a run. Results name its workloads as the caller does, because the table `run` does not take
/// every name.
fn point(device: catalogue::Device, first: &Workload, flows: &[Flow], mut run: Arguments) -> Result<Point, Failure> {
    run.extend(first.reading.clone());
    let mut tables = toml::Table::new();
    for (number, flow) in flows.iter().enumerate() {
        let mut table = flow.workload.reading.clone();
        table.insert("workload".into(), flow.workload.name.clone().into());
        table.insert("queue".into(), i64::from(flow.queue).into());
        table.insert("placement-id".into(), i64::from(flow.placement_id).into());
        table.extend(flow.depth.map(|depth| ("depth".to_owned(), i64::from(depth).into())));
        if flow.open {
            table.insert("open".into(), true.into());
        }
        tables.insert(number.to_string(), table.into());
    }
    if !tables.is_empty() {
        run.put("flows", tables);
    }
    let mut point = Point::alone(device, first.file.clone(), Vec::new(), &run.document())?;
    if point.run.time_scale.is_some() && point.is_closed_loop() {
        let why = "has no effect here: requests are issued as others complete, not at times of arrival";
        return Err(Failure::argument("time-scale", why, "leave it out, or pass open=True"));
    }
    point.run.name = Some(first.name.clone());
    let mut specs: std::collections::BTreeMap<String, FlowSpec> = std::mem::take(&mut point.run.flows);
    for (number, flow) in flows.iter().enumerate() {
        let is_taken = |name: &str| *name == first.name || point.run.flows.contains_key(name);
        let names = std::iter::once(flow.name.clone()).chain((2..).map(|n: u32| format!("{}-{n}", flow.name)));
        let name = names.into_iter().find(|name| !is_taken(name)).unwrap_or_default();
        let spec = specs.remove(&number.to_string()).unwrap_or_default();
        point.run.flows.insert(name.clone(), spec);
        point.beside.push(ConcurrentWorkload { name, workload: flow.workload.file.clone() });
    }
    Ok(point)
}

fn session<'a>(point: &'a Point, seed: u64, interrupt: &'a AtomicBool) -> Session<'a> {
    Session::new(&point.device).program(flashloom::program()).seed(seed).spec(&point.run).interrupt(interrupt)
}

/// Checks that the memory is enough for as many runs as are done at once.
fn fits(point: &Point, settings: &Settings, interrupt: &AtomicBool) -> Result<(), Failure> {
    let Some(limit) = &settings.memory else { return Ok(()) };
    let mut memory = session(point, settings.seed, interrupt).memory_under(point.workloads());
    if settings.requests {
        // The number of requests is unknown before the run; a limit on it gives a lower bound.
        memory.add("the requests", point.run.limit.unwrap_or(0).saturating_mul(size_of::<Record>() as u64));
    }
    let runs = settings.seeds.max(1) as usize;
    let need = Need { name: point.device.name.clone(), memory };
    let at_once = if runs > 1 { at_once(settings.jobs) } else { 1 };
    Ok(memory::check(vec![need; runs], at_once, limit)?)
}

/// Does the run with one seed.
fn single(
    point: &Point,
    settings: &Settings,
    interrupt: &AtomicBool,
    progress: Option<Sender<(u64, Option<u64>)>>,
) -> Result<SeedRuns, Failure> {
    fits(point, settings, interrupt)?;
    let mut records: Vec<Record> = Vec::new();
    let mut session = session(point, settings.seed, interrupt);
    if let Some(window) = settings.timeline {
        let watch = if point.run.explain { Watch::default().explaining() } else { Watch::default() };
        session = session.watch(watch.timeline(Timeline::new(window)));
    }
    session.check()?;
    let mut session = session.open_all(point)?;
    refuse_stages(&session)?;
    if let Some(progress) = progress {
        session = session.progress(move |of| {
            if let Progress::Running { run, requests, .. } = of {
                // The receiver is gone after an interruption.
                let _ = progress.send((run.completed, requests));
            }
        });
    }
    if let Some(path) = &settings.save {
        let mut file = Outputs::new(&point.run.load_snapshot, false).file("save_snapshot", path, Kind::Snapshot)?;
        session = session.save_snapshot(move |state| {
            file.fill(|out| state.write(out)).map_err(io::Error::other)?;
            publish(vec![file], None).map_err(io::Error::other).map(drop)
        });
    }
    if settings.requests {
        session = session.log(&mut records);
    }
    let outcome = session.run()?;
    Ok(SeedRuns { runs: vec![outcome], records: settings.requests.then_some(records) })
}

/// Returns a failure if a workload has stages, because each of several flows must have a single one.
fn refuse_stages(session: &Session<'_>) -> Result<(), Failure> {
    let flows = session.flows();
    let several = flows.iter().find(|flow| flows.len() > 1 && flow.stages() > 1);
    several.map_or(Ok(()), |flow| {
        Err(study::session::SessionError::SeveralStages { workload: flow.name().to_owned() }.into())
    })
}

/// Does the run with each of several seeds.
fn several(point: &Point, settings: &Settings, interrupt: &AtomicBool) -> Result<SeedRuns, Failure> {
    let one_run = [
        ("requests", settings.requests),
        ("timeline", settings.timeline.is_some()),
        ("save_snapshot", settings.save.is_some()),
    ];
    if let Some((key, _)) = one_run.into_iter().find(|(_, given)| *given) {
        return Err(Failure::argument(key, "holds one run", "leave it out, or leave out `seeds`"));
    }
    if settings.seeds == 0 || settings.seeds > study::plan::MOST_SEEDS {
        let message = format!("{} is no number of seeds", settings.seeds);
        return Err(Failure::argument("seeds", message, format!("use 1 to {}", study::plan::MOST_SEEDS)));
    }
    fits(point, settings, interrupt)?;
    let one = |seed| -> Result<_, Failure> {
        known(|| {
            let session = session(point, seed, interrupt);
            session.check()?;
            let session = session.open_all(point)?;
            refuse_stages(&session)?;
            Ok(session.run()?)
        })
    };
    let runs = with_each(&seeds_from(settings.seed, settings.seeds), settings.jobs, one, &|_, _| {})?;
    Ok(SeedRuns { runs, records: None })
}
