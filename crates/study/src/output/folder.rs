//! The folder of `--out`. Its files get their names together, when all are complete ([`super::set`]). Other files in
//! the folder are kept.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::error::OutputError;
use super::inputs::Inputs;
use super::kind::{Kind, MARK, STUDY_MARK, kind_of};
use super::place::{ReplacedFile, permit, unwritable};
use super::set::FileSet;
use super::staged::StagedFile;

const STAGE: &str = "stage-";

/// The folder for the files of a result.
#[derive(Debug)]
pub struct OutFolder {
    shown: PathBuf,
    path: PathBuf,
    force: bool,
    inputs: Inputs,
    files: Vec<(String, StagedFile)>,
}

impl OutFolder {
    /// Prepares the folder at `path`, shown as `shown`, for files with these names.
    pub(super) fn create(
        (shown, path): (&Path, PathBuf),
        force: bool,
        inputs: &Inputs,
        names: &[String],
    ) -> Result<Self, OutputError> {
        let folder = Self { shown: shown.to_owned(), path, force, inputs: inputs.clone(), files: Vec::new() };
        // Creates the stage now, so that an unwritable folder is found before the run.
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
            return Err(OutputError::new(shown, "contains files that are not part of a result", remedy));
        }
        Ok(folder)
    }

    fn stage(&self) -> Result<StagedFile, OutputError> {
        let home = if self.path.is_dir() { Some(&*self.path) } else { self.path.parent() };
        StagedFile::create(home.unwrap_or(Path::new("."))).map_err(|error| unwritable(&self.shown, &error))
    }

    /// The path as the user gave it.
    #[must_use]
    pub fn shown(&self) -> &Path {
        &self.shown
    }

    /// Writes a file with this name to the folder. The name may begin with a folder inside it.
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

    /// Refuses to replace the file with this name if it is an input.
    fn spare_inputs(&self, name: &str) -> Result<(), OutputError> {
        self.inputs.spare(&self.path.join(name), &self.shown.join(name))
    }

    fn permit(&self, name: &str) -> Result<ReplacedFile, OutputError> {
        self.spare_inputs(name)?;
        let kind = kind_of(name).expect("a name of a file of a result");
        permit(&self.path.join(name), &self.shown.join(name), kind, self.force)
    }

    /// The names of an earlier result's files in the folder.
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

    /// Checks that all files can get their names. Returns, for each name, whether a file has it now.
    pub(super) fn check(&self) -> Result<Vec<ReplacedFile>, OutputError> {
        self.files.iter().map(|(name, _)| self.permit(name)).collect()
    }

    /// Gives all files their final names. Returns notes about replaced files.
    pub(super) fn publish(mut self) -> Result<Vec<String>, OutputError> {
        self.files.sort_by_key(|(name, _)| [MARK, STUDY_MARK].contains(&&**name));
        let before = self.check()?;
        let earlier = self.earlier()?;
        let shown = self.shown.clone();
        let failed = |error: io::Error| unwritable(&shown, &error);
        let forced = self.replace(&earlier, &before).map_err(failed)?;
        let mut notes = Vec::new();
        if !earlier.is_empty() {
            notes.push(format!("{}: replaced an earlier result ({})", shown.display(), earlier.join(", ")));
        }
        notes.extend(forced.iter().filter_map(|name| ReplacedFile::Forced.note(&shown.join(name))));
        Ok(notes)
    }

    /// Replaces the files as a set. Returns those replaced by `--force`.
    fn replace(self, earlier: &[String], before: &[ReplacedFile]) -> io::Result<Vec<String>> {
        let mut set = FileSet::create(&self.path)?;
        let mut forced = Vec::new();
        for ((name, staged), before) in self.files.into_iter().zip(before) {
            if *before == ReplacedFile::Forced {
                forced.push(name.clone());
            }
            set.add(name, staged, &self.path)?;
        }
        set.publish(&self.path, earlier)?;
        Ok(forced)
    }
}

/// True if `path` lies in `folder`, or would if it existed; links are followed for both.
pub(super) fn holds(folder: &Path, path: &Path) -> bool {
    let Some(inside) = path.parent() else { return false };
    let stage = inside.file_name().is_some_and(|name| name.to_string_lossy().starts_with(STAGE));
    inside == folder || stage && inside.parent() == Some(folder)
}
