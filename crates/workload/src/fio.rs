//! fio job files, as far as they describe requests.
//!
//! [`parse`] turns a job file into stages. Each [`Stage`] begins when all requests of the previous one have completed,
//! as with `stonewall`. Jobs between two stonewalls run at the same time. Those that only keep requests outstanding
//! become the streams of one [`GeneratorSpec`] and share one queue, whose depth is the sum of theirs; a job with a
//! rate, a pause or a delay of its own is a workload beside them.
//!
//! Every option of fio has one treatment (`options.rs`): it is honoured; it does not change the requests and appears in
//! the notes; or it is an error that names the option and the reason. No option is ignored silently. The semantics are
//! those of fio's HOWTO and `io_u.c`: sizes are binary by default (`4k` is 4,096 bytes), random offsets visit every
//! block once per pass unless `norandommap` is given, reads and writes of a sequential mix have separate positions, and
//! a job that is larger than its block device uses all of the device.

mod address;
mod engines;
mod expression;
mod file;
mod fit;
mod job;
mod mode;
mod options;
mod pace;
mod placement;
mod reader;
mod region;
mod sizes;
mod stages;
#[cfg(test)]
mod tests;
mod value;
mod zbd;

use file::Job;
pub use zbd::ZonedJob;

use crate::fault::Faults;
use crate::generate::GeneratorSpec;
use base::fault::Fault;

/// A parsed job file.
#[derive(Clone, Debug, PartialEq)]
pub struct FioFile {
    /// The stages, which run one after another; none if the file has a job that writes zones.
    pub stages: Vec<Stage>,
    /// The only job of a file with `zonemode=zbd`.
    pub zoned: Option<ZonedJob>,
    /// Notes for a reader of the results: options without effect here, and deviations of a simulated device from fio.
    pub notes: Vec<Note>,
    /// True if a job asks fio to verify its data.
    pub verifies: bool,
}

/// The jobs between two stonewalls.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The file's name, followed by the names of the jobs if there are several stages.
    pub name: String,
    /// The workloads of the stage, which begin together.
    pub workloads: Vec<Workload>,
}

/// Jobs that share a queue, or a job with a queue of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// The generator that makes the job's requests.
    pub spec: GeneratorSpec,
    /// The job of each stream, for the place of its faults.
    places: Vec<Job>,
}

impl FioFile {
    /// The descriptions of all workloads, stage by stage.
    pub fn specs(&self) -> impl Iterator<Item = &GeneratorSpec> {
        self.stages.iter().flat_map(|stage| &stage.workloads).map(|workload| &workload.spec)
    }
}

/// A deviation from a job file, and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Line of the job file, counted from one.
    pub line: u64,
    /// The job's section; `global` for the defaults.
    pub job: String,
    /// Name of the option as in the job file.
    pub option: String,
    /// A sentence that says why the option has no effect here.
    pub reason: String,
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, [{}] {}: {}", self.line, self.job, self.option, self.reason)
    }
}

/// Parses a job file. Stages are named `name` with the names of their jobs.
///
/// # Errors
/// All faults at once: options that are unsupported or unknown, values that fio would refuse too, and files without a
/// job; each with its line, section and remedy.
pub fn parse(name: &str, text: &str) -> Result<FioFile, Vec<Fault>> {
    let mut faults = Faults::default();
    let mut notes = Vec::new();
    let jobs = file::jobs(text, &mut faults);
    let verifies =
        |job: &Job| job.get("verify").is_some_and(|setting| !options::is_off("verify", setting.value.as_deref()));
    let verifies = jobs.iter().any(verifies);
    let is_zoned = jobs.iter().any(zbd::is_zoned);
    stages::treat(&jobs, &mut notes, &mut faults);
    let zoned = zbd::zoned_job(name, &jobs, &mut notes, &mut faults);
    let stages = if is_zoned { Vec::new() } else { stages::stages(name, &jobs, &mut notes, &mut faults) };
    // Every job reads its defaults; one note about each is enough.
    notes.sort_by_key(|note| note.line);
    notes.dedup();
    faults.or(FioFile { stages, zoned, notes, verifies })
}

/// A row of the reference of fio's options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionRow {
    /// The option and its aliases.
    pub names: Vec<&'static str>,
    /// The treatment: `honoured`, `noted` or `refused`.
    pub treatment: &'static str,
    /// The effect of an honoured option; the reason for which an option is only noted; or the reason and the remedy for
    /// a refused one.
    pub text: String,
}

/// The treatment of every option of fio, in the order of the reference.
#[must_use]
pub fn option_rows() -> Vec<OptionRow> {
    let row = |option: options::FioOption| {
        let (treatment, text) = match option.treatment {
            options::Treatment::Honoured(what) => ("honoured", what.to_owned()),
            options::Treatment::Noted(reason) => ("noted", reason.to_owned()),
            options::Treatment::Refused(reason, remedy) => ("refused", format!("{reason}; {remedy}")),
        };
        OptionRow { names: option.names().collect(), treatment, text }
    };
    options::all().map(row).collect()
}
