//! The outputs of a command, under one rule.
//!
//! A command never overwrites one of its inputs under any name ([`Outputs`] compares files, not names), and no two
//! outputs go to one file. It replaces an existing file if Flashloom wrote that file and it is of the same kind
//! ([`Kind`]: every file states its origin), or if the user gives `--force`; it reports each replacement. A link is
//! kept, and its target is replaced. Devices and pipes are written through.
//!
//! A file gets its name only when it is complete: [`OutFile`] and [`OutFolder`] are prepared before a run, filled after
//! it and named by [`publish`].

mod error;
mod folder;
mod growing;
mod inputs;
mod kind;
mod place;
mod set;
mod staged;
mod system;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

pub use error::OutputError;
pub use folder::OutFolder;
pub use growing::AppendFile;
use inputs::Inputs;
pub use kind::{COLUMNS, JOURNAL, JUNIT, Kind, MANUAL, MARK, PAGE, REQUESTS, STUDY_MARK, TEXT, TIMELINE};
use place::{Place, ReplacedFile, find, permit, unwritable};
use staged::StagedFile;
pub(crate) use staged::{clear, write_whole};
pub use staged::{sweep, sweep_for_good};
use system::FileId;

/// The destination of an output: an existing file, or the path of a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    There(FileId),
    New(PathBuf),
}

/// The outputs of a command. All are declared before the first is written, so that conflicts are found before a run.
#[derive(Debug)]
pub struct Outputs {
    inputs: Inputs,
    force: bool,
    taken: Vec<(String, Target)>,
    folder: Option<PathBuf>,
}

impl Outputs {
    /// Creates the set of outputs of a command with these inputs; inputs that are not files are skipped. With `force`,
    /// the command also replaces files that Flashloom did not write.
    pub fn new<P: AsRef<Path>>(inputs: impl IntoIterator<Item = P>, force: bool) -> Self {
        let inputs = Inputs::new(inputs);
        let streams = [
            ("the standard output", system::stream(io::stdout())),
            ("the standard error", system::stream(io::stderr())),
        ];
        let streams = streams.into_iter().filter_map(|(name, id)| Some((name.to_owned(), Target::There(id?))));
        Self { inputs, force, taken: streams.collect(), folder: None }
    }

    /// Reserves the destination for an option; refuses it if another option has it.
    fn take(&mut self, option: &str, path: &Path, target: Target) -> Result<(), OutputError> {
        if let Some((other, _)) = self.taken.iter().find(|(_, taken)| *taken == target) {
            let reason = format!("{other} and {option} write to the same path");
            return Err(OutputError::new(path, reason, "give each option its own path"));
        }
        self.taken.push((option.to_owned(), target));
        Ok(())
    }

    /// Prepares the file of an option; call it after [`Outputs::folder`].
    ///
    /// # Errors
    /// If it cannot be created, is an input or another output, or is a file that Flashloom did not write.
    pub fn file(&mut self, option: &str, path: &Path, kind: Kind) -> Result<OutFile, OutputError> {
        let out = |to| Ok(OutFile { path: path.to_owned(), to });
        let place = find(option, path)?;
        let to = match place {
            Place::Folder(_) => return Err(OutputError::new(path, "is a directory", "give the name of a file")),
            Place::Stream(file) => {
                if !system::may_be_shared(path) {
                    self.inputs.spare(path, path)?;
                    self.take(option, path, there(path)?)?;
                }
                return out(Destination::Stream(file));
            }
            Place::New(_) if path.as_os_str().as_encoded_bytes().ends_with(b"/") => {
                return Err(OutputError::new(path, "ends with a slash, like a directory", "give the name of a file"));
            }
            Place::New(to) => {
                self.take(option, path, Target::New(to.clone()))?;
                to
            }
            Place::File(to) => {
                self.inputs.spare(&to, path)?;
                self.take(option, path, there(path)?)?;
                permit(&to, path, kind, self.force)?;
                to
            }
        };
        if let Some((extension, remedy)) = kind.promised(path) {
            let reason = format!("{option} writes {}, and no .{extension} file", kind.name());
            return Err(OutputError::new(path, reason, remedy));
        }
        if self.folder.as_ref().is_some_and(|folder| folder::holds(folder, &to)) {
            let reason = format!("{option} would write into the directory of the result");
            return Err(OutputError::new(path, reason, "use a path outside that directory"));
        }
        let folder = to.parent().unwrap_or(Path::new("."));
        let staged = StagedFile::create(folder).map_err(|error| unwritable(path, &error))?;
        out(Destination::File { staged, to, kind, force: self.force })
    }

    /// Prepares the folder of an option, for files with these names.
    ///
    /// # Errors
    /// If it cannot be created, or if inputs or files that Flashloom did not write would be replaced.
    pub fn folder(&mut self, option: &str, path: &Path, names: &[String]) -> Result<OutFolder, OutputError> {
        for (i, name) in names.iter().enumerate() {
            if names[..i].contains(name) {
                let reason = "two studies have the same name and would write the same file".to_owned();
                return Err(OutputError::new(&path.join(name), reason, "give each study its own name"));
            }
        }
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if !path.exists() && kind::FORMATS.iter().any(|format| format.eq_ignore_ascii_case(extension)) {
            let reason = format!("{option} writes a directory, and no .{extension} file");
            return Err(OutputError::new(path, reason, "give the name of a directory"));
        }
        // Checked before the open, which would wait forever for the reader of a pipe.
        if path.metadata().is_ok_and(|there| !there.is_dir() && !there.is_file()) {
            return Err(OutputError::new(path, "is a device or a pipe", "choose another name"));
        }
        let (to, target) = match find(option, path)? {
            Place::File(_) => return Err(OutputError::new(path, "is a file", "choose another name, or remove it")),
            Place::Stream(_) => return Err(OutputError::new(path, "is a device or a pipe", "choose another name")),
            Place::Folder(to) => (to, there(path)?),
            Place::New(to) => (to.clone(), Target::New(to)),
        };
        self.take(option, path, target)?;
        self.folder = Some(to.clone());
        OutFolder::create((path, to), self.force, &self.inputs, names)
    }
}

fn there(path: &Path) -> Result<Target, OutputError> {
    system::identity(path).map(Target::There).map_err(|error| unwritable(path, &error))
}

/// A file that gets its name when it is complete, or a stream.
#[derive(Debug)]
pub struct OutFile {
    path: PathBuf,
    to: Destination,
}

#[derive(Debug)]
enum Destination {
    Stream(File),
    File { staged: StagedFile, to: PathBuf, kind: Kind, force: bool },
}

impl OutFile {
    /// The path as the user gave it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open file, to write the output to.
    #[must_use]
    pub const fn file(&self) -> &File {
        match &self.to {
            Destination::Stream(file) => file,
            Destination::File { staged, .. } => staged.file(),
        }
    }

    /// A duplicate of the open file, for a caller that keeps it.
    ///
    /// # Errors
    /// If the system has no free file descriptor.
    pub fn duplicate(&self) -> Result<File, OutputError> {
        self.file().try_clone().map_err(|error| self.failed(&error))
    }

    /// The error of a failed operation on the file, with the file's name.
    #[must_use]
    pub fn failed(&self, error: &io::Error) -> OutputError {
        unwritable(&self.path, error)
    }

    /// Writes the whole file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn fill(&mut self, fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<(), OutputError> {
        let mut out = BufWriter::new(self.file());
        let written = fill(&mut out).and_then(|()| out.flush());
        drop(out);
        written.map_err(|error| self.failed(&error))
    }

    fn check(&self) -> Result<ReplacedFile, OutputError> {
        match &self.to {
            Destination::Stream(_) => Ok(ReplacedFile::Nothing),
            // Another program may have changed the destination during the run.
            Destination::File { to, kind, force, .. } => permit(to, &self.path, *kind, *force),
        }
    }

    fn publish(self, before: ReplacedFile) -> Result<Option<String>, OutputError> {
        if let Destination::File { staged, to, .. } = self.to {
            staged.publish(&to, before != ReplacedFile::Nothing).map_err(|error| unwritable(&self.path, &error))?;
        }
        Ok(before.note(&self.path))
    }
}

/// Names all outputs, each complete. Returns notes about replaced files.
///
/// # Errors
/// If an output cannot be named. If a check finds this in advance, no output is named.
pub fn publish(files: Vec<OutFile>, folder: Option<OutFolder>) -> Result<Vec<String>, OutputError> {
    let _until_all_are_named = staged::naming();
    let before = files.iter().map(OutFile::check).collect::<Result<Vec<_>, _>>()?;
    folder.as_ref().map(OutFolder::check).transpose()?;
    let mut notes = folder.map(OutFolder::publish).transpose()?.unwrap_or_default();
    for (file, before) in files.into_iter().zip(before) {
        notes.extend(file.publish(before)?);
    }
    Ok(notes)
}
