//! fio job files, as far as they describe requests.
//!
//! [`parse`] turns a job file into stages: each is a [`GeneratorSpec`] and begins when everything of
//! the one before it has completed, as `stonewall` asks. Jobs between two stonewalls run at the same
//! time; they become the streams of one stage and share one queue, as deep as theirs together.
//!
//! Every option of fio falls into one of three classes: it is honoured, it has no meaning for a
//! simulated device and is listed in the notes, or it is an error that names it. None is ignored.
//! The semantics are those of fio's HOWTO and `io_u.c`: sizes are binary by default (`4k` is 4,096
//! bytes), random offsets visit every block once per pass unless `norandommap` is given, and reads
//! and writes of a sequential mix each have a position of their own.

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

/// A job file that has been understood.
#[derive(Clone, Debug, PartialEq)]
pub struct FioFile {
    /// What runs one after another. A stage begins when the one before it has completed.
    pub stages: Vec<GeneratorSpec>,
    /// What a reader of the results should know: options without meaning here, and where a simulated
    /// device cannot do exactly as fio does.
    pub notes: Vec<Note>,
    /// The line and the name of the job behind every stream of every stage.
    places: Vec<Vec<String>>,
}

impl FioFile {
    /// Checks the stages against a device of `capacity` sectors, as [`GeneratorSpec::validate`].
    ///
    /// # Errors
    /// All faults at once, with the line, the job and the option they come from.
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

/// Where in the job file the key `path` of a description comes from.
fn place(path: &str, places: &[String]) -> Option<String> {
    const OPTIONS: [(&str, &str); 4] =
        [("region.start", "offset"), ("region.size", "size"), ("total", "io_size"), ("align", "blockalign")];
    let (index, key) = path.strip_prefix("stream[")?.split_once("].")?;
    let job = places.get(index.parse::<usize>().ok()?)?;
    let option = OPTIONS.iter().find(|(name, _)| *name == key).map_or(key, |(_, option)| option);
    Some(format!("{job} {option}"))
}

/// Something in a job file that was not followed to the letter, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Line of the job file, counted from one.
    pub line: u64,
    /// The job's section; `global` for the defaults.
    pub job: String,
    /// The option.
    pub option: String,
    /// What became of it.
    pub reason: String,
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, [{}] {}: {}", self.line, self.job, self.option, self.reason)
    }
}

/// Reads a job file. `name` becomes the name of its stages, with the names of their jobs.
///
/// # Errors
/// All faults at once: options that are not supported or do not exist, values that fio would not take
/// either, and files without a job; each with its line, its section, and the remedy.
pub fn parse(name: &str, text: &str) -> Result<FioFile, Vec<Fault>> {
    let mut faults = Faults::default();
    let mut notes = Vec::new();
    let jobs = file::jobs(text, &mut faults);
    let stages = convert::stages(name, &jobs, &mut notes, &mut faults);
    // A default is read for every job that it holds for; a reader needs to be told once.
    notes.sort_by_key(|note| note.line);
    notes.dedup();
    let (stages, places) = stages.into_iter().unzip();
    faults.or(FioFile { stages, notes, places })
}
