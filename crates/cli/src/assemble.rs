//! From the names on the command line to a workload that can be run.

use std::fs;
use std::path::Path;

use flash::units::Sectors;
use study::config::{Document, Fault, Faults};
use workload::generate::{Generator, GeneratorSpec, builtin};
use workload::{Source, fio, trace};

use crate::args::TraceArgs;
use crate::exit::Failure;

/// A part of a workload that begins when all requests of the one before it have completed.
pub(crate) struct Stage {
    /// What it is called in results.
    pub(crate) name: String,
    /// Its requests.
    pub(crate) source: Box<dyn Source>,
}

/// A workload, ready to run on a disk.
pub(crate) struct Workload {
    /// What runs one after another.
    pub(crate) stages: Vec<Stage>,
    /// The resolved description, for the result.
    pub(crate) config: toml::Table,
    /// What a reader of the results should know.
    pub(crate) notes: Vec<String>,
}

/// Opens a workload for a disk of `capacity`: `.toml` is a generator, `.fio` a job file, anything else
/// a trace. A name that is no file may be that of a workload that comes with Flashloom.
pub(crate) fn workload(path: &Path, args: &TraceArgs, capacity: Sectors, seed: u64) -> Result<Workload, Failure> {
    let inside = builtin().iter().find(|(name, _)| !path.exists() && Path::new(name) == path);
    let kind = path.extension().and_then(|extension| extension.to_str());
    match (kind, inside) {
        (Some("fio"), _) => {
            let text = match inside {
                Some((_, text)) => (*text).to_owned(),
                None => fs::read_to_string(path).map_err(|error| {
                    Failure::Input(format!("{}: cannot be read: {error}; check its name", path.display()))
                })?,
            };
            jobs(path, &text, capacity, seed)
        }
        (_, Some((_, text))) => generated(&Document::parse(path, (*text).to_owned())?, capacity, seed),
        (Some("toml"), None) => generated(&Document::read(path)?, capacity, seed),
        (_, None) => {
            let options = args.options(Some(capacity));
            let mut config = toml::Table::new();
            config.insert("trace".into(), path.display().to_string().into());
            config.insert("skip".into(), toml::Value::Integer(args.skip.cast_signed()));
            config.insert("repeat".into(), i64::from(args.repeat).into());
            config.insert("extent".into(), args.extent.name().into());
            let stage = Stage {
                name: path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
                source: Box::new(trace::open(path, &options)?),
            };
            Ok(Workload { stages: vec![stage], config, notes: Vec::new() })
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

fn generated(document: &Document, capacity: Sectors, seed: u64) -> Result<Workload, Failure> {
    let spec: GeneratorSpec = document.decode()?;
    let generator = Generator::new(&spec, capacity, seed).map_err(|faults| document.faults(faults))?;
    let stage = Stage { name: spec.name.clone(), source: Box::new(generator) };
    Ok(Workload { stages: vec![stage], config: table(&[spec]), notes: Vec::new() })
}

fn jobs(path: &Path, text: &str, capacity: Sectors, seed: u64) -> Result<Workload, Failure> {
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
    use super::*;

    const CAPACITY: Sectors = Sectors::new(1 << 32);

    fn open(name: &str) -> Result<Workload, Failure> {
        workload(Path::new(name), &TraceArgs { repeat: 1, ..TraceArgs::default() }, CAPACITY, 7)
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
        let args = TraceArgs { repeat: 1, extent: trace::ExtentRule::Compact, ..TraceArgs::default() };
        let mut workload = workload(Path::new(path), &args, CAPACITY, 7).unwrap_or_else(|failure| panic!("{failure}"));
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
        assert!(failure.code() == 2 && text.contains("w.toml:4: stream[0].reads"), "{text}");
        assert!(open("no-such-workload.fio").is_err());
        assert!(open("no-such-workload").is_err());
    }
}
