//! The folder of `--out`: its files get their names together, when all of them are whole.
//!
//! In a folder that is there already the file by which a result is known goes first and comes last, so that files of two
//! runs are never taken for one result. Other files stay as they are.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::error::OutputError;
use super::inputs::Inputs;
use super::kind::Kind;
use super::place::{Before, permit, unwritable};
use super::staged::Staged;

/// The file by which a folder is known to hold the result of a run.
pub const MARK: &str = "summary.json";
/// The file by which a folder is known to hold the result of studies.
pub const STUDY_MARK: &str = "study.json";

/// How the folders of several stages begin.
const STAGE: &str = "stage-";

/// What a file of this name is in a folder with results.
fn kind_of(name: &str) -> Option<Kind> {
    match name.rsplit_once('/').map_or(name, |(_, name)| name) {
        MARK | STUDY_MARK => Some(Kind::Results),
        "report.html" => Some(Kind::Page),
        "table.txt" | "claims.txt" | "command.txt" => Some(Kind::Text),
        name if name.ends_with(".toml") => Some(Kind::Text),
        name if name.ends_with(".parquet") => Some(Kind::Columns),
        _ => None,
    }
}

/// The folder.
#[derive(Debug)]
pub struct OutFolder {
    shown: PathBuf,
    path: PathBuf,
    force: bool,
    inputs: Inputs,
    files: Vec<(String, Staged)>,
}

impl OutFolder {
    /// Prepares the folder at `path`, shown as `shown`, for files of these names.
    pub(super) fn create(
        (shown, path): (&Path, PathBuf),
        force: bool,
        inputs: &Inputs,
        names: &[String],
    ) -> Result<Self, OutputError> {
        let folder = Self { shown: shown.to_owned(), path, force, inputs: inputs.clone(), files: Vec::new() };
        // Whether it can be written is known before the run.
        drop(folder.stage()?);
        let earlier = folder.earlier()?;
        for name in &earlier {
            folder.spare_inputs(name)?;
        }
        for name in names {
            folder.permit(name)?;
        }
        let holds = || fs::read_dir(&folder.path).is_ok_and(|mut entries| entries.next().is_some());
        if earlier.is_empty() && !force && holds() {
            let remedy = "choose another name, or write into it with --force, which leaves other files alone";
            return Err(OutputError::new(shown, "holds something that is not a result", remedy));
        }
        Ok(folder)
    }

    fn stage(&self) -> Result<Staged, OutputError> {
        let home = if self.path.is_dir() { Some(&*self.path) } else { self.path.parent() };
        Staged::create(home.unwrap_or(Path::new("."))).map_err(|error| unwritable(&self.shown, &error))
    }

    /// Where it is, as the user calls it.
    #[must_use]
    pub fn shown(&self) -> &Path {
        &self.shown
    }

    /// Writes a file that will have this name in the folder, which may begin with the name of a folder inside it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        let staged = self.stage()?;
        let mut out = BufWriter::new(staged.file());
        let written = fill(&mut out).and_then(|()| out.flush());
        drop(out);
        written.map_err(|error| unwritable(&self.shown.join(name), &error))?;
        self.files.push((name.to_owned(), staged));
        Ok(())
    }

    /// Refuses to touch the file of this name if it is an input.
    fn spare_inputs(&self, name: &str) -> Result<(), OutputError> {
        self.inputs.spare(&self.path.join(name), &self.shown.join(name))
    }

    fn permit(&self, name: &str) -> Result<Before, OutputError> {
        self.spare_inputs(name)?;
        let kind = kind_of(name).expect("a name of a file of a result");
        permit(&self.path.join(name), &self.shown.join(name), kind, self.force)
    }

    /// The files of an earlier result, by their names in the folder.
    fn earlier(&self) -> Result<Vec<String>, OutputError> {
        let mut found = Vec::new();
        let mut look = |inside: &str| -> io::Result<Vec<String>> {
            let mut folders = Vec::new();
            for entry in fs::read_dir(self.path.join(inside))? {
                let entry = entry?;
                let Ok(name) = entry.file_name().into_string() else { continue };
                let of = entry.file_type()?;
                if of.is_dir() && name.strip_prefix(STAGE).is_some_and(|number| number.parse::<u32>().is_ok()) {
                    folders.push(format!("{name}/"));
                } else if of.is_file() && kind_of(&name).is_some() && Kind::of(&entry.path())? == kind_of(&name) {
                    found.push(format!("{inside}{name}"));
                }
            }
            Ok(folders)
        };
        if self.path.is_dir() {
            let stages = look("").and_then(|stages| stages.iter().try_for_each(|stage| look(stage).map(drop)));
            stages.map_err(|error| unwritable(&self.shown, &error))?;
        }
        found.sort();
        Ok(found)
    }

    /// Whether all of it can get its names. Returns what becomes of the files that are there.
    pub(super) fn check(&self) -> Result<Vec<Before>, OutputError> {
        self.files.iter().map(|(name, _)| self.permit(name)).collect()
    }

    /// Gives all files their names. Returns what is to be said about those that were there.
    pub(super) fn publish(mut self) -> Result<Vec<String>, OutputError> {
        self.files.sort_by_key(|(name, _)| [MARK, STUDY_MARK].contains(&&**name));
        let before = self.check()?;
        let earlier = self.earlier()?;
        let shown = self.shown.clone();
        let failed = |error: io::Error| unwritable(&shown, &error);
        let made = !self.path.is_dir();
        if made {
            fs::create_dir(&self.path).map_err(failed)?;
        }
        let path = self.path.clone();
        let named = self.replace(&earlier, &before);
        if let Err(error) = named {
            if made {
                // Only what was made here is in it.
                let _ = fs::remove_dir_all(path);
            }
            return Err(failed(error));
        }
        let mut notes = Vec::new();
        if !earlier.is_empty() {
            notes.push(format!("{}: replaced an earlier result ({})", shown.display(), earlier.join(", ")));
        }
        notes.extend(named.unwrap_or_default().iter().filter_map(|name| Before::Forced.note(&shown.join(name))));
        Ok(notes)
    }

    /// Returns the files that were replaced because the user says so.
    fn replace(self, earlier: &[String], before: &[Before]) -> io::Result<Vec<String>> {
        let is_mark = |name: &&String| [MARK, STUDY_MARK].contains(&&***name);
        let stays = |name: &&String| self.files.iter().any(|(new, _)| new == *name);
        for name in earlier.iter().filter(is_mark).chain(earlier.iter().filter(|name| !is_mark(name) && !stays(name))) {
            fs::remove_file(self.path.join(name))?;
            if let Some((stage, _)) = name.split_once('/') {
                // It stays if there is something else in it.
                let _ = fs::remove_dir(self.path.join(stage));
            }
        }
        let mut forced = Vec::new();
        for ((name, staged), before) in self.files.into_iter().zip(before) {
            let to = self.path.join(&name);
            if let Some(inner) = to.parent().filter(|inner| !inner.is_dir()) {
                fs::create_dir(inner)?;
            }
            staged.publish(&to, *before != Before::Nothing)?;
            if *before == Before::Forced {
                forced.push(name);
            }
        }
        Ok(forced)
    }
}

/// Whether a file at `path` would stand among the results in `folder`, links followed in both.
pub(super) fn holds(folder: &Path, path: &Path) -> bool {
    let Some(inside) = path.parent() else { return false };
    let stage = inside.file_name().is_some_and(|name| name.to_string_lossy().starts_with(STAGE));
    inside == folder || stage && inside.parent() == Some(folder)
}
