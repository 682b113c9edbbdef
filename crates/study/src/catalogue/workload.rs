//! From the name of a workload to requests that can be run.

use std::fmt;
use std::path::{Path, PathBuf};

use flash::units::Sectors;
use workload::generate::{Generator, GeneratorSpec, builtin};
use workload::script::{Script, ScriptSpec};
use workload::trace::TraceOptions;
use workload::{Source, SourceError, fio, trace};

use crate::config::{Document, Fault, Faults, limited};

/// A part of a workload that begins when all requests of the one before it have completed.
pub struct Stage {
    /// What it is called in results.
    pub name: String,
    /// Its requests.
    pub source: Box<dyn Source>,
}

/// A workload, ready to run on a disk.
pub struct Workload {
    /// What runs one after another.
    pub stages: Vec<Stage>,
    /// The resolved description, for the result.
    pub config: toml::Table,
    /// What a reader of the results should know.
    pub notes: Vec<String>,
}

/// Why there is no workload.
#[derive(Debug)]
pub enum WorkloadError {
    /// Its description is at fault.
    Faults(Faults),
    /// Its trace is.
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
    /// A fio job file: where it is from, and its text.
    Jobs(PathBuf, String),
    /// A trace.
    Trace(PathBuf),
}

/// Finds a workload: `.toml` is a generator or a script, `.fio` a job file, anything else a trace. A name
/// that is no file may be that of a workload that comes with Flashloom.
///
/// # Errors
/// If a description cannot be read, or is not TOML.
pub fn workload(path: &Path) -> Result<WorkloadFile, Faults> {
    let inside = builtin().iter().find(|(name, _)| !path.exists() && Path::new(name) == path);
    let kind = path.extension().and_then(|extension| extension.to_str());
    let fault = |message: String| Fault {
        path: Some(path.to_owned()),
        line: None,
        key: String::new(),
        message,
        remedy: "check its name; `flashloom workloads` lists those that come along".into(),
    };
    Ok(match (kind, inside) {
        (Some("fio"), Some((_, text))) => WorkloadFile::Jobs(path.to_owned(), (*text).to_owned()),
        (Some("fio"), None) => {
            let text = limited::read_text(path).map_err(|error| fault(format!("cannot be read: {error}")))?;
            WorkloadFile::Jobs(path.to_owned(), text)
        }
        (_, Some((_, text))) => WorkloadFile::Described(Document::parse(path, (*text).to_owned())?),
        (Some("toml"), None) => WorkloadFile::Described(Document::read(path)?),
        (_, None) => WorkloadFile::Trace(path.to_owned()),
    })
}

impl WorkloadFile {
    /// Opens it for a disk of `capacity`. Traces are read with `options`.
    ///
    /// # Errors
    /// All faults of a description, or what is wrong with a trace.
    pub fn open(&self, options: &TraceOptions, capacity: Sectors, seed: u64) -> Result<Workload, WorkloadError> {
        match self {
            Self::Described(document) if document.table().contains_key("request") => {
                let spec: ScriptSpec = document.decode()?;
                let script = Script::new(&spec, capacity).map_err(|faults| document.faults(faults))?;
                let config = toml::Table::try_from(&spec).expect("a description can be written");
                let stage = Stage { name: spec.name, source: Box::new(script) };
                Ok(Workload { stages: vec![stage], config, notes: Vec::new() })
            }
            Self::Described(document) => {
                let spec: GeneratorSpec = document.decode()?;
                let generator = Generator::new(&spec, capacity, seed).map_err(|faults| document.faults(faults))?;
                let stage = Stage { name: spec.name.clone(), source: Box::new(generator) };
                Ok(Workload { stages: vec![stage], config: table(&[spec]), notes: Vec::new() })
            }
            Self::Jobs(path, text) => jobs(path, text, capacity, seed),
            Self::Trace(path) => {
                let options = TraceOptions { capacity: Some(capacity), ..options.clone() };
                let mut config = toml::Table::new();
                config.insert("trace".into(), path.display().to_string().into());
                config.insert("skip".into(), toml::Value::Integer(options.skip.cast_signed()));
                config.insert("repeat".into(), i64::from(options.repeat).into());
                config.insert("extent".into(), options.extent.name().into());
                let stage = Stage {
                    name: path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
                    source: Box::new(trace::open(path, &options)?),
                };
                Ok(Workload { stages: vec![stage], config, notes: Vec::new() })
            }
        }
    }
}

fn table(specs: &[GeneratorSpec]) -> toml::Table {
    let described: Vec<toml::Value> =
        specs.iter().map(|spec| toml::Value::try_from(spec).expect("a description can be written")).collect();
    match <[toml::Value; 1]>::try_from(described) {
        Ok([toml::Value::Table(only)]) => only,
        Ok([other]) => toml::Table::from_iter([("stage".to_owned(), other)]),
        Err(all) => toml::Table::from_iter([("stage".to_owned(), toml::Value::Array(all))]),
    }
}

fn jobs(path: &Path, text: &str, capacity: Sectors, seed: u64) -> Result<Workload, WorkloadError> {
    let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
    let faults = |faults: Vec<flash::fault::Fault>| {
        let fault = |fault: flash::fault::Fault| Fault {
            path: Some(path.to_owned()),
            line: None,
            key: fault.path,
            message: fault.message,
            remedy: fault.remedy,
        };
        Faults(faults.into_iter().map(fault).collect())
    };
    let file = fio::parse(&name, text).map_err(faults)?;
    file.validate(capacity).map_err(faults)?;
    let mut stages = Vec::new();
    for (number, stage) in (0..).zip(&file.stages) {
        // Two jobs that read alike must not draw alike.
        let generator = Generator::new(stage, capacity, seed.wrapping_add(number << 32)).map_err(faults)?;
        stages.push(Stage { name: stage.name.clone(), source: Box::new(generator) });
    }
    let notes = file.notes.iter().map(|note| format!("{}: {note}", path.display())).collect();
    Ok(Workload { stages, config: table(&file.stages), notes })
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
    fn every_workload_that_comes_along_can_be_run() {
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
        let options = TraceOptions { extent: trace::ExtentRule::Compact, ..TraceOptions::default() };
        let found = workload(Path::new(path)).expect("found");
        let mut workload = found.open(&options, CAPACITY, 7).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(workload.stages[0].source.next().expect("a request").is_some());
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
