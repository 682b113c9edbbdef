//! fio job files, as far as they describe requests.
//!
//! [`parse`] turns a job file into stages. Each stage is a [`GeneratorSpec`] and begins when all requests of the
//! previous one have completed, as `stonewall` asks. Jobs between two stonewalls run at the same time: they become the
//! streams of one stage and share one queue, whose depth is the sum of theirs.
//!
//! Every option of fio belongs to one of three classes. It is honoured, it has no meaning for a simulated device and
//! appears in the notes, or it is an error that names the option. No option is ignored silently. The semantics are
//! those of fio's HOWTO and `io_u.c`: sizes are binary by default (`4k` is 4,096 bytes), random offsets visit every
//! block once per pass unless `norandommap` is given, and reads and writes of a sequential mix have separate positions.

mod convert;
mod file;
mod job;
mod options;
#[cfg(test)]
mod tests;
mod value;

use base::units::Sectors;

use crate::fault::Faults;
use crate::generate::GeneratorSpec;
use base::fault::Fault;

/// A parsed job file.
#[derive(Clone, Debug, PartialEq)]
pub struct FioFile {
    /// The stages, which run one after another.
    pub stages: Vec<GeneratorSpec>,
    /// Notes for a reader of the results: options without meaning here, and deviations of a simulated device from fio.
    pub notes: Vec<Note>,
    /// The line and name of the job of every stream of every stage.
    places: Vec<Vec<String>>,
}

impl FioFile {
    /// Checks the stages against a device of `capacity` sectors, as in [`GeneratorSpec::validate`].
    ///
    /// # Errors
    /// All faults at once, with the line, job and option of each.
    pub fn validate(&self, capacity: Sectors) -> Result<(), Vec<Fault>> {
        let mut faults = Faults::default();
        for (stage, places) in self.stages.iter().zip(&self.places) {
            for fault in stage.validate(capacity).err().unwrap_or_default() {
                let path = place(&fault.path, places).unwrap_or(fault.path);
                faults.add(path, fault.message, fault.remedy);
            }
        }
        faults.or(())
    }
}

/// The place in the job file from which the key `path` of a description comes.
fn place(path: &str, places: &[String]) -> Option<String> {
    const OPTIONS: [(&str, &str); 4] =
        [("region.start", "offset"), ("region.size", "size"), ("total", "io_size"), ("align", "blockalign")];
    let (index, key) = path.strip_prefix("stream[")?.split_once("].")?;
    let job = places.get(index.parse::<usize>().ok()?)?;
    let option = OPTIONS.iter().find(|(name, _)| *name == key).map_or(key, |(_, option)| option);
    Some(format!("{job} {option}"))
}

/// A deviation from a job file, and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Line of the job file, counted from one.
    pub line: u64,
    /// The job's section; `global` for the defaults.
    pub job: String,
    /// The option.
    pub option: String,
    /// The reason.
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
    let stages = convert::stages(name, &jobs, &mut notes, &mut faults);
    // Every job reads its defaults; one note about each is enough.
    notes.sort_by_key(|note| note.line);
    notes.dedup();
    let (stages, places) = stages.into_iter().unzip();
    faults.or(FioFile { stages, notes, places })
}
