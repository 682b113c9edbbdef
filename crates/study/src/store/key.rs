//! The key of a run: all inputs that determine its result.
//!
//! Two runs with equal keys have equal results, on any machine. A key is a JSON document that describes the run
//! completely, so the run can be done again from it. Its digest leaves out the paths of traces and snapshots, which do
//! not affect the result.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use base::fault::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::{ResolvedDevice, UNSEEN_KEYS};
use toml::{Table, Value};
use workload::trace::TraceFile;
use workload::{SourceError, unreadable};

use super::digest::Digest;
use super::model::MODEL;
use crate::catalogue::{Device, WorkloadError, WorkloadFile};
use crate::config::Faults;
use crate::plan::{ConcurrentWorkload, Point, RunSpec, check_run};

/// Version of the keys; higher after a key has changed its meaning or disappeared.
pub const SCHEMA: &str = "flashloom-key-1";

/// All inputs that determine the result of one run of a point with one seed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = SCHEMA)]
pub struct Key {
    /// Version of the keys of this document.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Version of the model, which changes when results may change.
    pub model: u32,
    /// Seed of all random streams.
    pub seed: u64,
    /// The resolved device, as a table of its description.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub device: Table,
    /// The workload of the study, then the workloads of `run.flows` in the order of their names.
    pub workloads: Vec<WorkloadKey>,
    /// The snapshot from which the drive starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotKey>,
    /// The options of the run.
    pub run: RunSpec,
}

/// A workload by its content: its resolved description, or the digest of its trace.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkloadKey {
    /// A generator, the stages of a job file, or a script, as the resolved description.
    Described(#[schemars(with = "BTreeMap<String, serde_json::Value>")] Table),
    /// The contents and the reading of a recorded trace.
    Trace(TraceKey),
}

/// A trace by its name in results and the digest of its file.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceKey {
    /// The path of the trace, which is not part of the digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Name of the trace in results.
    pub name: String,
    /// The SHA-256 of the file as it is, compressed or not. For a recording with a file for each CPU: the SHA-256 of
    /// the list of the files' digests.
    #[schemars(with = "String")]
    pub sha256: Digest,
}

/// A snapshot by the digest of its file.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapshotKey {
    /// The path of the snapshot, which is not part of the digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The SHA-256 of the snapshot's file.
    #[schemars(with = "String")]
    pub sha256: Digest,
}

/// The reason that a run cannot be done again from its key.
#[derive(Debug)]
pub enum KeyError {
    /// The text is not the JSON text of a key, for this reason.
    Text(serde_json::Error),
    /// The key has the schema of another version.
    Schema(String),
    /// The key is for another version of the model.
    Model(u32),
    /// The device or a workload of the key has faults.
    Faults(Faults),
    /// The options of the run have faults.
    Run(Vec<Fault>),
    /// The number of workloads of the key does not fit its number of flows.
    Workloads(usize),
    /// A trace or a snapshot cannot be read.
    Trace(SourceError),
    /// The content of a trace or a snapshot differs from the digest in the key.
    Changed {
        /// The path that the key names.
        path: PathBuf,
        /// The digest of the file at that path.
        found: Digest,
        /// The digest that the key has for the file.
        wanted: Digest,
    },
    /// The key has no path for a trace or a snapshot.
    Nowhere(String),
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(error) => {
                write!(f, "is not a key: {error}; give a file that `flashloom store show DIGEST --key` printed")
            }
            Self::Schema(found) => {
                write!(
                    f,
                    "is a key of the form {found:?}, and this version of Flashloom reads {SCHEMA:?}; print it again"
                )
            }
            Self::Model(found) => write!(
                f,
                "is a key for version {found} of the model, and this Flashloom has version {MODEL}: the result would be \
                 another; run its study again, or use the Flashloom that wrote the key"
            ),
            Self::Faults(faults) => faults.fmt(f),
            Self::Run(faults) => {
                let lines: Vec<String> = faults.iter().map(|fault| format!("run.{fault}")).collect();
                f.write_str(&lines.join("\n"))
            }
            Self::Workloads(count) => {
                write!(f, "has {count} workloads; give it one, and one more for each of `run.flows`")
            }
            Self::Trace(error) => error.fmt(f),
            Self::Changed { path, found, wanted } => write!(
                f,
                "{}: is not the file of the key: its SHA-256 is {found}, that of the key {wanted}; put that file \
                 there, or correct `path` in the key",
                path.display()
            ),
            Self::Nowhere(name) => {
                write!(f, "does not say where `{name}` lies; add its `path`")
            }
        }
    }
}

impl std::error::Error for KeyError {}

/// The digests of traces and snapshots by path, so that a file that many points read is hashed once.
#[derive(Clone, Debug, Default)]
pub struct Digests(BTreeMap<PathBuf, Digest>);

impl Digests {
    /// The digests of all traces and snapshots of these points.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn of<'a>(points: impl IntoIterator<Item = &'a Point>) -> Result<Self, SourceError> {
        let mut digests = Self::default();
        for point in points {
            for workload in point.workloads() {
                if let WorkloadFile::Trace(file) = workload {
                    digests.digest(file)?;
                }
            }
            if let Some(path) = &point.run.load_snapshot {
                digests.digest(&TraceFile::at(path))?;
            }
        }
        Ok(digests)
    }

    /// The files with their digests.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, Digest)> {
        self.0.iter().map(|(path, digest)| (path.as_path(), *digest))
    }

    /// The digest of a file.
    ///
    /// # Errors
    /// If it cannot be read.
    fn digest(&mut self, file: &TraceFile) -> Result<Digest, SourceError> {
        if let Some(known) = self.0.get(file.path()) {
            return Ok(*known);
        }
        let digest = digest_of(file)?;
        self.0.insert(file.path().to_owned(), digest);
        Ok(digest)
    }
}

fn digest_of(file: &TraceFile) -> Result<Digest, SourceError> {
    let digests = file.bytes()?.into_iter().map(|mut bytes| {
        Digest::read(&mut bytes).map_err(|error| {
            let (message, remedy) = unreadable(file.path(), &error);
            SourceError::new(message, remedy).in_file(&file.shown())
        })
    });
    let digests = digests.collect::<Result<Vec<_>, _>>()?;
    Ok(match digests[..] {
        [one] => one,
        _ => Digest::of(digests.iter().map(|digest| format!("{digest}\n")).collect::<String>().as_bytes()),
    })
}

/// The paths of traces and snapshots on this machine, by digest. They replace the paths in keys.
pub type PathsByDigest = BTreeMap<Digest, PathBuf>;

/// The digest of a trace or a snapshot, as keys have it.
///
/// # Errors
///
/// If the file cannot be read.
pub fn file_digest(path: &Path) -> Result<Digest, SourceError> {
    digest_of(&TraceFile::at(path))
}

/// Returns an error unless a file has this digest.
fn expect(file: &TraceFile, wanted: Digest) -> Result<(), KeyError> {
    let found = digest_of(file).map_err(KeyError::Trace)?;
    match found == wanted {
        true => Ok(()),
        false => Err(KeyError::Changed { path: file.shown(), found, wanted }),
    }
}

impl Key {
    /// Creates the key of a point with a seed.
    ///
    /// # Errors
    ///
    /// All faults of the descriptions of the workloads, or the fault of a trace or of the snapshot.
    pub fn of(point: &Point, seed: u64, digests: &mut Digests) -> Result<Self, WorkloadError> {
        let device = &point.device;
        let mut run = point.run.clone();
        // A run that saves a snapshot has the same result.
        run.save_snapshot = None;
        // The resolved device includes the weights.
        run.weight = None;
        for (name, flow) in &mut run.flows {
            // The list of workloads has the content of the flows' workloads.
            (flow.weight, flow.workload, flow.set) = (None, name.into(), Table::new());
        }
        if !point.workloads().any(WorkloadFile::is_trace) {
            run.forget_traces();
        }
        let snapshot = |path: PathBuf| -> Result<SnapshotKey, SourceError> {
            Ok(SnapshotKey { sha256: digests.digest(&TraceFile::at(&path))?, path: std::path::absolute(path).ok() })
        };
        let snapshot = run.load_snapshot.take().map(snapshot).transpose()?;
        let workload = |file: &WorkloadFile| WorkloadKey::of(file, device, digests);
        Ok(Self {
            schema: SCHEMA.into(),
            model: MODEL,
            seed,
            device: device.config(),
            workloads: point.workloads().map(workload).collect::<Result<_, _>>()?,
            snapshot,
            run,
        })
    }

    /// Reads a key.
    ///
    /// # Errors
    /// If the text is not a key, or one of another version.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        /// The keys that every version of this document has.
        #[derive(Deserialize)]
        struct Head {
            schema: String,
            model: u32,
        }
        let head: Head = serde_json::from_str(text).map_err(KeyError::Text)?;
        if head.schema != SCHEMA {
            return Err(KeyError::Schema(head.schema));
        }
        if head.model != MODEL {
            return Err(KeyError::Model(head.model));
        }
        serde_json::from_str(text).map_err(KeyError::Text)
    }

    /// Writes the key as JSON, indented, with a newline at its end.
    ///
    /// # Panics
    ///
    /// Never: every key can be written as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers, texts and tables") + "\n"
    }

    /// The digest of the key. Runs with equal digests have equal results.
    ///
    /// # Panics
    ///
    /// Never: every key can be written as JSON.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut key = self.clone();
        for workload in &mut key.workloads {
            if let WorkloadKey::Trace(trace) = workload {
                trace.path = None;
            }
        }
        if let Some(snapshot) = &mut key.snapshot {
            snapshot.path = None;
        }
        key.device.remove("description");
        Digest::of(serde_json::to_string(&key).expect("numbers, texts and tables").as_bytes())
    }

    /// The digests of the traces and of the snapshot.
    pub fn files(&self) -> impl Iterator<Item = Digest> {
        let traces = self.workloads.iter().filter_map(|workload| match workload {
            WorkloadKey::Trace(trace) => Some(trace.sha256),
            WorkloadKey::Described(_) => None,
        });
        traces.chain(self.snapshot.as_ref().map(|snapshot| snapshot.sha256))
    }

    /// The digest of the drive's state after preconditioning; `None` for a new drive. Drives that differ only in keys
    /// that preconditioning does not use have equal digests. `resolved` is the drive.
    ///
    /// # Panics
    ///
    /// Never: every key can be written as JSON.
    #[must_use]
    pub fn state(&self, resolved: &ResolvedDevice) -> Option<Digest> {
        if self.run.precondition.is_empty() {
            return None;
        }
        let snapshot = self.snapshot.as_ref().map(|snapshot| snapshot.sha256);
        Some(state_digest(self.seed, (self.device.clone(), resolved), snapshot, &self.run))
    }

    /// Opens the point of which this is the key.
    ///
    /// # Errors
    ///
    /// If a description has faults, or a trace or the snapshot cannot be read or has another digest than in the key.
    pub fn point(&self) -> Result<Point, KeyError> {
        self.point_in(&PathsByDigest::new())
    }

    /// Opens the point as [`point`](Self::point) does. Files in `located` are taken from there, and their digests are
    /// not computed again.
    ///
    /// # Errors
    ///
    /// If a description has faults, or a trace or the snapshot cannot be read or has another digest than in the key.
    pub fn point_in(&self, located: &PathsByDigest) -> Result<Point, KeyError> {
        let device = Device::parse(self.device.to_string()).map_err(KeyError::Faults)?;
        let mut run = self.run.clone();
        if let Some(SnapshotKey { path, sha256 }) = &self.snapshot {
            run.load_snapshot = Some(match located.get(sha256) {
                Some(path) => path.clone(),
                None => {
                    let path = path.clone().ok_or_else(|| KeyError::Nowhere("snapshot".into()))?;
                    expect(&TraceFile::at(&path), *sha256)?;
                    path
                }
            });
        }
        check_run(&run, Some(&device)).map_err(KeyError::Run)?;
        if self.workloads.len() != run.flows.len() + 1 {
            return Err(KeyError::Workloads(self.workloads.len()));
        }
        let mut workloads =
            self.workloads.iter().map(|workload| workload.file(located)).collect::<Result<Vec<_>, _>>()?.into_iter();
        let workload = workloads.next().expect("there is one more than flows");
        let flow = |(name, workload): (&String, WorkloadFile)| ConcurrentWorkload { name: name.clone(), workload };
        let beside = run.flows.keys().zip(workloads).map(flow).collect();
        Ok(Point { labels: Vec::new(), device, workload, beside, run })
    }
}

/// The digest of the state that a run of this point shares with others; `None` if its drive is new or starts from a
/// snapshot.
pub(crate) fn state_of(point: &Point, seed: u64) -> Option<Digest> {
    let is_made = !point.run.precondition.is_empty() && point.run.load_snapshot.is_none();
    is_made.then(|| state_digest(seed, (point.device.config(), &point.device.resolved), None, &point.run))
}

fn state_digest(
    seed: u64,
    (mut device, resolved): (Table, &ResolvedDevice),
    snapshot: Option<Digest>,
    run: &RunSpec,
) -> Digest {
    match snapshot {
        Some(_) => UNSEEN_KEYS.iter().for_each(|path| remove(&mut device, path)),
        None => resolved.unseen_keys(&run.precondition).for_each(|path| remove(&mut device, path)),
    }
    // A removed key may still affect the layout on flash; the format of the drive includes that effect.
    let all = (MODEL, seed, device, resolved.format(), snapshot, &run.precondition);
    Digest::of(serde_json::to_string(&all).expect("numbers, texts and tables").as_bytes())
}

/// Removes the value at a dotted path, if it exists.
fn remove(table: &mut Table, path: &str) {
    match path.split_once('.') {
        None => _ = table.remove(path),
        Some((first, rest)) => {
            if let Some(inner) = table.get_mut(first).and_then(Value::as_table_mut) {
                remove(inner, rest);
            }
        }
    }
}

impl WorkloadKey {
    fn of(file: &WorkloadFile, device: &Device, digests: &mut Digests) -> Result<Self, WorkloadError> {
        Ok(match file {
            WorkloadFile::Trace(trace) => {
                let path = if trace.path() == Path::new("-") { None } else { std::path::absolute(trace.path()).ok() };
                Self::Trace(TraceKey { path, name: trace.name(), sha256: digests.digest(trace)? })
            }
            described => Self::Described(described.resolved(device.capacity())?),
        })
    }

    fn file(&self, located: &PathsByDigest) -> Result<WorkloadFile, KeyError> {
        match self {
            Self::Described(table) => WorkloadFile::parse(table.to_string()).map_err(KeyError::Faults),
            Self::Trace(key) => {
                if let Some(path) = located.get(&key.sha256) {
                    return Ok(WorkloadFile::Trace(TraceFile::at(path).named(&key.name)));
                }
                let path = key.path.clone().ok_or_else(|| KeyError::Nowhere(key.name.clone()))?;
                let mut file = TraceFile::at(&path);
                file.keep().map_err(KeyError::Trace)?;
                expect(&file, key.sha256)?;
                Ok(WorkloadFile::Trace(file.named(&key.name)))
            }
        }
    }
}
