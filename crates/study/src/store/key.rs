//! The key of a run: all that determines its result.
//!
//! Two runs with equal keys have equal results, on any machine. A key is a JSON document that describes the run
//! completely, so the run can be done again from it. Its digest leaves out what does not matter: where a trace lies.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use base::fault::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Table;
use workload::trace::TraceFile;
use workload::{SourceError, unreadable};

use super::digest::Digest;
use super::model::MODEL;
use crate::catalogue::{Device, WorkloadError, WorkloadFile};
use crate::config::Faults;
use crate::plan::{Plan, Point, RunSpec, check_run};

/// Version of the keys, raised when a key changes its meaning or disappears.
pub const SCHEMA: &str = "flashloom-key-1";

/// All that determines the result of one run of a point with one seed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = SCHEMA)]
pub struct Key {
    /// Version of these keys.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Version of the model.
    pub model: u32,
    /// Seed of all random streams.
    pub seed: u64,
    /// The resolved device.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub device: Table,
    /// The workloads: that of the study, and those that run beside it.
    pub workloads: Vec<WorkloadKey>,
    /// How they run.
    pub run: RunSpec,
}

/// The content of a workload.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkloadKey {
    /// A generator, the stages of a job file, or a script: the resolved description.
    Described(#[schemars(with = "BTreeMap<String, serde_json::Value>")] Table),
    /// A trace.
    Trace(TraceKey),
}

/// The content of a trace.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceKey {
    /// Where it lies; no part of the digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Its name in results.
    pub name: String,
    /// The SHA-256 of its bytes as they lie in the file; of a recording with a file for each CPU, that of the lines with
    /// their digests.
    #[schemars(with = "String")]
    pub sha256: Digest,
}

/// The reason that a run cannot be done again from its key.
#[derive(Debug)]
pub enum KeyError {
    /// The text is not a key.
    Text(serde_json::Error),
    /// It is a key of another version.
    Schema(String),
    /// It is a key for another version of the model.
    Model(u32),
    /// Its device or a workload has faults.
    Faults(Faults),
    /// The way to run it has faults.
    Run(Vec<Fault>),
    /// It has no workload, or several.
    Workloads(usize),
    /// A trace cannot be read.
    Trace(SourceError),
    /// A trace is not the one of the key.
    Changed {
        /// Where it should be.
        path: PathBuf,
        /// Its digest.
        found: Digest,
        /// The digest of the key.
        wanted: Digest,
    },
    /// The key does not say where a trace lies.
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
            Self::Workloads(count) => write!(f, "has {count} workloads; give it one in `workloads`"),
            Self::Trace(error) => error.fmt(f),
            Self::Changed { path, found, wanted } => write!(
                f,
                "{}: is not the trace of the key: its SHA-256 is {found}, that of the key {wanted}; put that trace \
                 there, or correct `path` in the key",
                path.display()
            ),
            Self::Nowhere(name) => {
                write!(f, "does not say where the trace `{name}` lies; add its `path`")
            }
        }
    }
}

impl std::error::Error for KeyError {}

/// The digests of traces that are already known: a study plays one trace at many points.
#[derive(Clone, Debug, Default)]
pub struct Traces(BTreeMap<PathBuf, Digest>);

impl Traces {
    /// The digests of all traces of a study.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn of(plan: &Plan) -> Result<Self, SourceError> {
        let mut traces = Self::default();
        for point in &plan.points {
            if let WorkloadFile::Trace(file) = &point.workload {
                traces.digest(file)?;
            }
        }
        Ok(traces)
    }

    /// The digest of a trace.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn digest(&mut self, file: &TraceFile) -> Result<Digest, SourceError> {
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

impl Key {
    /// The key of a point with a seed.
    ///
    /// # Errors
    /// All faults of the description of the workload, or the fault of a trace.
    pub fn of(point: &Point, seed: u64, traces: &mut Traces) -> Result<Self, WorkloadError> {
        Self::new(&point.device, &[&point.workload], &point.run, seed, traces)
    }

    /// The key of a run of these workloads.
    ///
    /// # Errors
    /// All faults of the descriptions of the workloads, or the fault of a trace.
    pub fn new(
        device: &Device,
        workloads: &[&WorkloadFile],
        run: &RunSpec,
        seed: u64,
        traces: &mut Traces,
    ) -> Result<Self, WorkloadError> {
        let mut run = run.clone();
        if !workloads.iter().any(|workload| workload.is_trace()) {
            run.forget_traces();
        }
        let workload = |file: &&WorkloadFile| WorkloadKey::of(file, device, traces);
        Ok(Self {
            schema: SCHEMA.into(),
            model: MODEL,
            seed,
            device: device.config(),
            workloads: workloads.iter().map(workload).collect::<Result<_, _>>()?,
            run,
        })
    }

    /// Reads a key.
    ///
    /// # Errors
    /// If the text is not a key, or one of another version.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        /// What every version of a key has.
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

    /// As JSON, indented, with a newline at its end.
    ///
    /// # Panics
    /// Never: every key can be written as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers, texts and tables") + "\n"
    }

    /// The digest of the key: equal for equal results.
    ///
    /// # Panics
    /// Never: every key can be written as JSON.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut key = self.clone();
        for workload in &mut key.workloads {
            if let WorkloadKey::Trace(trace) = workload {
                trace.path = None;
            }
        }
        Digest::of(serde_json::to_string(&key).expect("numbers, texts and tables").as_bytes())
    }

    /// The digest of the drive's state after preconditioning; `None` for a new drive.
    ///
    /// # Panics
    /// Never: every key can be written as JSON.
    #[must_use]
    pub fn state(&self) -> Option<Digest> {
        if self.run.precondition.is_empty() {
            return None;
        }
        let mut device = self.device.clone();
        device.remove("name");
        let all = (self.model, self.seed, device, &self.run.precondition);
        Some(Digest::of(serde_json::to_string(&all).expect("numbers, texts and tables").as_bytes()))
    }

    /// The run's device and its workload.
    ///
    /// # Errors
    /// If a description has faults, a trace cannot be read, or it is not the one of the key.
    pub fn parts(&self) -> Result<(Device, WorkloadFile), KeyError> {
        let device = Device::parse(self.device.to_string()).map_err(KeyError::Faults)?;
        check_run(&self.run, Some(&device)).map_err(KeyError::Run)?;
        match &self.workloads[..] {
            [one] => Ok((device, one.file()?)),
            others => Err(KeyError::Workloads(others.len())),
        }
    }

    /// The name of the device.
    #[must_use]
    pub fn device_name(&self) -> &str {
        self.device.get("name").and_then(toml::Value::as_str).unwrap_or_default()
    }
}

impl WorkloadKey {
    fn of(file: &WorkloadFile, device: &Device, traces: &mut Traces) -> Result<Self, WorkloadError> {
        Ok(match file {
            WorkloadFile::Trace(trace) => {
                let path = if trace.path() == Path::new("-") { None } else { std::path::absolute(trace.path()).ok() };
                Self::Trace(TraceKey { path, name: trace.name(), sha256: traces.digest(trace)? })
            }
            described => Self::Described(described.resolved(device.capacity())?),
        })
    }

    fn file(&self) -> Result<WorkloadFile, KeyError> {
        match self {
            Self::Described(table) => WorkloadFile::parse(table.to_string()).map_err(KeyError::Faults),
            Self::Trace(key) => {
                let path = key.path.clone().ok_or_else(|| KeyError::Nowhere(key.name.clone()))?;
                let mut file = TraceFile::at(&path);
                file.keep().map_err(KeyError::Trace)?;
                let found = digest_of(&file).map_err(KeyError::Trace)?;
                if found != key.sha256 {
                    return Err(KeyError::Changed { path, found, wanted: key.sha256 });
                }
                Ok(WorkloadFile::Trace(file.named(&key.name)))
            }
        }
    }
}
