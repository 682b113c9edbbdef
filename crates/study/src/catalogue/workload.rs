//! Finds a workload by its name and opens it as a source of requests.

mod stages;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::units::{Exact, SECTOR, Sectors};
use workload::generate::{Generator, GeneratorSpec, StreamSpec, builtin};
use workload::measure::MeasureKeys;
use workload::script::{Script, ScriptSpec};
use workload::trace::{TraceFile, TraceOptions, TraceSource};
use workload::{Source, SourceError, ZoneWrites, ZoneWritesSpec};

use stages::{Stages, described, jobs};

use super::named;
use crate::config::{Document, Faults, text};
use crate::run::Window;

/// A stage of a workload. It begins when all requests of the stage before it have completed.
pub struct Stage {
    /// The stage's name in results.
    pub name: String,
    /// The source from which the stage's requests come.
    pub source: Box<dyn Source>,
    /// The measurement that the stage's description asks for.
    pub measured: MeasureKeys,
    /// Other jobs that begin with the stage. If there are some, the results name every job of the stage.
    pub beside: Option<ConcurrentJobs>,
}

/// The jobs of a stage that run at the same time, each at its own pace.
pub struct ConcurrentJobs {
    /// The name of the job that issues the stage's own requests.
    pub own: String,
    /// The names and requests of the other jobs.
    pub others: Vec<(String, Box<dyn Source>)>,
}

/// A workload opened for one drive and one seed.
pub struct Workload {
    /// The stages, which run one after another.
    pub stages: Vec<Stage>,
    /// The resolved description, for the results.
    pub config: toml::Table,
    /// Notes for a reader of the results.
    pub notes: Vec<String>,
    /// True if the description asks for a check of all data.
    pub verifies: bool,
}

/// The reason that a workload cannot be opened.
#[derive(Debug)]
pub enum WorkloadError {
    /// The description has these faults.
    Faults(Faults),
    /// The recording of the workload cannot be read.
    Source(SourceError),
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Faults(faults) => faults.fmt(f),
            Self::Source(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for WorkloadError {}

impl From<Faults> for WorkloadError {
    fn from(faults: Faults) -> Self {
        Self::Faults(faults)
    }
}

impl From<SourceError> for WorkloadError {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

/// A workload that has been found but not opened.
#[derive(Clone, Debug)]
pub enum WorkloadFile {
    /// A generator or a script (`.toml`).
    Described(Document),
    /// A fio job file: its path and its text.
    Jobs(PathBuf, String),
    /// A file of recorded requests.
    Trace(TraceFile),
    /// A list of requests that a program created.
    Listed(Arc<ScriptSpec>),
}

/// Finds a workload: `.toml` is a generator or a script, `.fio` a job file, any other file a trace, `-` a trace from
/// standard input. If there is no such file, the name may name a built-in workload.
///
/// # Errors
///
/// If there is no such workload, or a description cannot be read or is not TOML.
pub fn workload(path: &Path) -> Result<WorkloadFile, Faults> {
    if path == Path::new("-") {
        return Ok(WorkloadFile::Trace(TraceFile::at(path)));
    }
    let kind = path.extension().and_then(|extension| extension.to_str());
    Ok(match (kind, named(path, "workload", "workloads", builtin())?) {
        (Some("fio"), Some(text)) => WorkloadFile::Jobs(path.to_owned(), text.to_owned()),
        (Some("fio"), None) => WorkloadFile::Jobs(path.to_owned(), text(path, "a fio job file")?),
        (_, Some(text)) => WorkloadFile::Described(Document::parse(path, text.to_owned())?),
        (Some("toml"), None) => WorkloadFile::Described(Document::read(path)?),
        (_, None) => WorkloadFile::Trace(TraceFile::at(path)),
    })
}

impl Stage {
    /// Creates a stage with a single source, whose requests are all measured.
    pub fn alone(name: String, source: impl Source + 'static) -> Self {
        Self { name, source: Box::new(source), measured: MeasureKeys::default(), beside: None }
    }
}

impl Workload {
    /// Creates a workload without notes.
    #[must_use]
    pub const fn of(stages: Vec<Stage>, config: toml::Table) -> Self {
        Self { stages, config, notes: Vec::new(), verifies: false }
    }
}

impl WorkloadFile {
    /// Finds a generator, a script, a fio job file, a trace, or the built-in workload of this name; `-` is a trace from
    /// standard input. Its requests are read when a session [opens](crate::session::Session::open) it.
    ///
    /// # Errors
    ///
    /// If there is no such workload, or a description is not TOML.
    pub fn find(path: impl AsRef<Path>) -> Result<Self, Faults> {
        workload(path.as_ref())
    }

    /// Parses a generator or a script from a TOML text. Faults name the file `workload`.
    ///
    /// # Errors
    ///
    /// If the text is not TOML.
    pub fn parse(text: impl Into<String>) -> Result<Self, Faults> {
        Ok(Self::Described(Document::parse(Path::new("workload"), text.into())?))
    }

    /// Returns true if the requests come from a recording, for which the options for reading traces apply.
    #[must_use]
    pub const fn is_trace(&self) -> bool {
        matches!(self, Self::Trace(_))
    }

    /// True if the workload is the description of a generator.
    pub(crate) fn is_generator(&self) -> bool {
        let Self::Described(document) = self else { return false };
        !["request", "stage", "zones"].iter().any(|key| document.table().contains_key(*key))
    }

    /// True if the workload is a trace whose file does not exist.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Trace(trace) if trace.is_missing())
    }

    /// Keeps the bytes of a trace from a pipe, so that it can be opened more than once.
    pub(crate) fn keep(&mut self) -> Result<(), WorkloadError> {
        match self {
            Self::Trace(trace) => Ok(trace.keep()?),
            Self::Described(_) | Self::Jobs(..) | Self::Listed(_) => Ok(()),
        }
    }

    /// The workload's name in results; `None` for a job file, whose name is known when it is opened.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        match self {
            Self::Described(document) => document.table().get("name")?.as_str().map(ToOwned::to_owned),
            Self::Jobs(..) => None,
            Self::Trace(trace) => Some(trace.name()),
            Self::Listed(spec) => Some(spec.name.clone()),
        }
    }

    /// True if each completion triggers the next request, so that the drive decides the rate.
    #[must_use]
    pub fn is_closed_loop(&self) -> bool {
        let document = match self {
            Self::Described(document) => document,
            Self::Listed(spec) => return spec.depth.is_some(),
            Self::Jobs(..) | Self::Trace(_) => return false,
        };
        if document.table().contains_key("zones") {
            return true;
        }
        document.table().get("arrivals").and_then(|arrivals| arrivals.get("kind")?.as_str()) == Some("closed")
    }

    /// Upper bounds of the requests of the workload in a run of this window; `None` if the description gives no bounds.
    pub(crate) fn most(&self, window: Window) -> Option<RequestBounds> {
        let listed = |spec: &ScriptSpec| {
            let sizes = spec.requests.iter().map(|request| request.size.get());
            let requests = (spec.requests.len() as u64).saturating_mul(u64::from(spec.repeat));
            RequestBounds { requests, largest: sectors(sizes.max().unwrap_or(0)) }
        };
        match self {
            Self::Described(document) if document.table().contains_key("request") => {
                document.decode().ok().as_ref().map(listed)
            }
            Self::Described(document) if document.table().contains_key("zones") => {
                let spec: ZoneWritesSpec = document.decode().ok()?;
                Some(RequestBounds { requests: spec.requests, largest: sectors(spec.size.get()) })
            }
            Self::Described(document) => {
                let spec: GeneratorSpec = document.decode().ok()?;
                let window = window.or(&spec.measured());
                let requests = match (window.extends_to(), window.stop_requests()) {
                    (Some(limit), _) => limit,
                    (None, Some(limit)) if !window.ends_workloads() => limit.min(spec.requests?),
                    _ if window.ends_workloads() => return None,
                    _ => spec.requests?,
                };
                let sizes = spec.streams.iter().flat_map(StreamSpec::all_sizes).map(|size| size.size.max.get());
                Some(RequestBounds { requests, largest: sectors(sizes.max().unwrap_or(0)) })
            }
            Self::Listed(spec) => Some(listed(spec)),
            Self::Jobs(..) | Self::Trace(_) => None,
        }
    }

    /// The resolved description, which describes the same workload as a file of its own. The description of a trace has
    /// the default options of reading it, and the description of a list has all its requests.
    ///
    /// # Errors
    ///
    /// All faults of a description, or the fault of a trace.
    pub fn resolved(&self, capacity: Sectors) -> Result<toml::Table, WorkloadError> {
        if let Self::Listed(spec) = self {
            return Ok(toml::Table::try_from(&**spec).expect("a description can be written"));
        }
        Ok(self.open(&TraceOptions::default(), capacity, 0)?.config)
    }

    /// Opens the workload for a drive of `capacity`. `options` apply to traces.
    ///
    /// # Errors
    /// All faults of a description, or the fault of a trace.
    pub fn open(&self, options: &TraceOptions, capacity: Sectors, seed: u64) -> Result<Workload, WorkloadError> {
        self.open_for(options, capacity, seed, Window::default())
    }

    /// Opens the workload as [`WorkloadFile::open`] does, for a run that measures this window: a generator without
    /// other stages issues requests until the window ends.
    pub(crate) fn open_for(
        &self,
        options: &TraceOptions,
        capacity: Sectors,
        seed: u64,
        window: Window,
    ) -> Result<Workload, WorkloadError> {
        match self {
            Self::Described(document) if document.table().contains_key("request") => {
                let (spec, script) = document.decode_and(|spec: &ScriptSpec| Script::new(spec, capacity))?;
                let config = toml::Table::try_from(&spec).expect("a description can be written");
                Ok(Workload::of(vec![Stage::alone(spec.name, script)], config))
            }
            Self::Described(document) if document.table().contains_key("zones") => {
                let (spec, source) =
                    document.decode_and(|spec: &ZoneWritesSpec| ZoneWrites::new(spec, capacity, seed))?;
                let config = toml::Table::try_from(&spec).expect("a description can be written");
                Ok(Workload::of(vec![Stage::alone(spec.name, source)], config))
            }
            Self::Described(document) if document.table().contains_key("stage") => {
                let (stages, opened) = document.decode_and(|stages: &Stages| stages.open(capacity, seed))?;
                Ok(Workload::of(opened, stages.table()))
            }
            Self::Described(document) => {
                let (spec, generator) =
                    document.decode_and(|spec: &GeneratorSpec| Generator::new(spec, capacity, seed))?;
                let measured = spec.measured();
                let window = window.or(&measured);
                let generator = match window.extends_to() {
                    Some(requests) => generator.up_to(requests),
                    None if window.is_life() => generator.for_all_time(),
                    None if window.ends_workloads() => generator.endless(),
                    None => generator,
                };
                let stage = Stage { measured, ..Stage::alone(spec.name.clone(), generator) };
                Ok(Workload::of(vec![stage], described(&spec)))
            }
            Self::Jobs(path, text) => jobs(path, text, capacity, seed),
            Self::Listed(spec) => {
                let path = PathBuf::from(&spec.name);
                let script = Script::new(spec, capacity)
                    .map_err(|faults| Document::of(&path, toml::Table::new()).faults(faults))?;
                let mut config = toml::Table::new();
                config.insert("name".into(), spec.name.clone().into());
                config.insert("requests".into(), toml::Value::Integer(spec.requests.len() as i64));
                Ok(Workload::of(vec![Stage::alone(spec.name.clone(), script)], config))
            }
            Self::Trace(file) => {
                let options = TraceOptions { capacity: Some(capacity), ..options.clone() };
                let source = TraceSource::open(file.clone(), &options)?;
                let mut config = toml::Table::new();
                config.insert("trace".into(), file.path().display().to_string().into());
                config.insert("format".into(), source.format().name().into());
                if let Some(columns) = &options.columns {
                    config.insert("columns".into(), columns.to_string().into());
                }
                if let Some(units) = source.units() {
                    config.insert("time-unit".into(), units.time.name().into());
                    config.insert("address-unit".into(), units.address.to_string().into());
                    config.insert("size-unit".into(), units.size.to_string().into());
                }
                config.extend(reading(&options));
                let notes =
                    source.doubts().iter().map(|doubt| format!("{}: {doubt}", file.shown().display())).collect();
                Ok(Workload { notes, ..Workload::of(vec![Stage::alone(file.name(), source)], config) })
            }
        }
    }
}

/// Upper bounds of the requests of a workload: their number, and the sectors of the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestBounds {
    pub(crate) requests: u64,
    pub(crate) largest: Sectors,
}

/// The number of sectors that hold this many bytes.
fn sectors(bytes: u64) -> Sectors {
    Sectors::new(bytes.div_ceil(SECTOR.get()))
}

/// The options with which a trace was read: always `skip`, `repeat` and `extent`, and any other option that differs
/// from its default.
fn reading(options: &TraceOptions) -> toml::Table {
    let plain = TraceOptions::default();
    let mut table = toml::Table::new();
    let mut note = |key: &str, value: toml::Value| table.insert(key.into(), value);
    if let Some(volume) = &options.volume {
        note("volume", volume.clone().into());
    }
    if options.volumes != plain.volumes {
        note("volumes", options.volumes.to_string().into());
    }
    if options.event != plain.event {
        note("event", options.event.name().into());
    }
    if options.tolerance != plain.tolerance {
        note("tolerance", options.tolerance.exact().into());
    }
    if let Some(limit) = options.gap_limit {
        note("gap-limit", limit.exact().into());
    }
    note("skip", toml::Value::Integer(options.skip.cast_signed()));
    note("repeat", i64::from(options.repeat).into());
    note("extent", options.extent.name().into());
    table
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const CAPACITY: Sectors = Sectors::new(1 << 32);

    fn open(name: &str) -> Result<Workload, WorkloadError> {
        workload(Path::new(name))?.open(&TraceOptions::default(), CAPACITY, 7)
    }

    #[test]
    fn every_builtin_workload_can_be_run() {
        for (name, _) in builtin() {
            let mut workload = open(name).unwrap_or_else(|failure| panic!("{name}: {failure}"));
            assert!(!workload.config.is_empty(), "{name}");
            assert!(workload.notes.iter().all(|note| note.starts_with(name)), "{name}");
            for stage in &mut workload.stages {
                assert!(stage.source.next().expect("a request").is_some(), "{name}");
            }
        }
    }

    #[test]
    fn a_recorded_trace_can_be_run() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/recorded/programs.parquet");
        let options = TraceOptions { extent: workload::trace::ExtentRule::Compact, ..TraceOptions::default() };
        let found = workload(Path::new(path)).expect("found");
        let mut workload = found.open(&options, CAPACITY, 7).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(workload.stages[0].source.next().expect("a request").is_some());
    }

    #[test]
    fn a_list_is_the_script_of_its_description() {
        let text = "name = \"l\"\n[[request]]\nkind = \"write\"\nsize = \"4KiB\"\n[[request]]\nat = \"5us\"\nkind = \"read\"\nsize = \"1KiB\"\n";
        let described = WorkloadFile::parse(text).expect("TOML");
        let WorkloadFile::Described(document) = &described else { panic!("it is described") };
        let spec: ScriptSpec = document.decode().expect("sound");
        let listed = WorkloadFile::Listed(Arc::new(spec));
        assert_eq!(listed.resolved(CAPACITY).expect("sound"), described.resolved(CAPACITY).expect("sound"));
        let all = |file: &WorkloadFile| {
            let mut opened = file.open(&TraceOptions::default(), CAPACITY, 7).expect("sound");
            let source = &mut opened.stages[0].source;
            std::iter::from_fn(|| source.next().expect("sound")).collect::<Vec<_>>()
        };
        assert_eq!((all(&listed).len(), all(&listed)), (2, all(&described)));
        assert!(!listed.is_closed_loop() && listed.name().as_deref() == Some("l"));
        let small = listed.open(&TraceOptions::default(), Sectors::new(4), 7).map(drop).expect_err("beyond the end");
        assert!(small.to_string().starts_with("l: request[0]: 4KiB from 0B end beyond"), "{small}");
    }

    #[test]
    fn faults_name_their_file_and_key() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("w.toml");
        fs::write(&path, "name = \"w\"\nreqests = 10\n[[stream]]\nreads = 70\n").expect("written");
        let Err(failure) = open(&path.to_string_lossy()) else { panic!("it is faulty") };
        let text = failure.to_string();
        assert!(text.contains("w.toml:2: reqests: is not a known key; did you mean `requests`?"), "{text}");
        assert!(text.contains("w.toml:4: stream[0].reads"), "{text}");
        assert!(open("no-such-workload.fio").is_err());
        assert!(open("no-such-workload").is_err());
    }
}
