//! Files that appear whole or not at all.
//!
//! Everything is written under a temporary name beside its place and renamed when it is complete.
//! What is under way is listed, so that a program that has to end at once can [`sweep`] it away.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

static UNDER_WAY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn under_way() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    // A panic elsewhere does not make the list wrong.
    UNDER_WAY.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn remove(path: &Path) {
    // It is a temporary file: if it cannot be removed, nothing can be done about it here.
    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// Removes everything that is half written. For a panic hook or a signal handler.
pub fn sweep() {
    under_way().drain(..).for_each(|path| remove(&path));
}

/// A file that cannot be written.
#[derive(Debug)]
pub struct StageError {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
    /// What to do about it.
    pub remedy: &'static str,
}

impl fmt::Display for StageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path.display(), self.reason, self.remedy)
    }
}

impl std::error::Error for StageError {}

impl StageError {
    /// Something about `path` that the system reported.
    pub(crate) fn io(path: &Path, error: &io::Error) -> Self {
        let reason = format!("cannot be written: {error}");
        Self { path: path.to_owned(), reason, remedy: "choose a place that exists and can be written" }
    }
}

/// A temporary name beside `path`, listed until it is dropped.
#[derive(Debug)]
pub(super) struct Stage {
    temporary: PathBuf,
    path: PathBuf,
}

impl Stage {
    pub(super) fn new(path: &Path) -> Result<Self, StageError> {
        let Some(name) = path.file_name() else {
            let reason = "is not a name for a file".to_owned();
            return Err(StageError { path: path.to_owned(), reason, remedy: "give it a name" });
        };
        let temporary = path.with_file_name(format!(".{}.{}.part", name.to_string_lossy(), std::process::id()));
        under_way().push(temporary.clone());
        Ok(Self { temporary, path: path.to_owned() })
    }

    pub(super) fn temporary(&self) -> &Path {
        &self.temporary
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its real name.
    pub(super) fn finish(self) -> Result<(), StageError> {
        fs::rename(&self.temporary, &self.path).map_err(|error| StageError::io(&self.path, &error))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        remove(&self.temporary);
        under_way().retain(|path| *path != self.temporary);
    }
}

/// A file that gets its name when it is complete.
#[derive(Debug)]
pub struct StagedFile {
    stage: Stage,
}

impl StagedFile {
    /// Starts a file that will be `path`.
    ///
    /// # Errors
    /// If it cannot be created there.
    pub fn create(path: &Path) -> Result<(Self, File), StageError> {
        if path.is_dir() {
            let reason = "is a directory".to_owned();
            return Err(StageError { path: path.to_owned(), reason, remedy: "give the name of a file" });
        }
        let stage = Stage::new(path)?;
        let file = File::create(stage.temporary()).map_err(|error| StageError::io(path, &error))?;
        Ok((Self { stage }, file))
    }

    /// Gives it its name; what was there before is replaced.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub fn finish(self) -> Result<(), StageError> {
        self.stage.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).expect("a directory");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.txt");
        let (staged, mut file) = StagedFile::create(&path).expect("writable");
        file.write_all(b"whole").expect("written");
        assert!(!path.exists());
        staged.finish().expect("renamed");
        assert_eq!(names(dir.path()), ["a.txt"]);

        let (dropped, _file) = StagedFile::create(&dir.path().join("b.txt")).expect("writable");
        drop(dropped);
        assert_eq!(names(dir.path()), ["a.txt"]);
    }

    #[test]
    fn what_cannot_be_written_is_said_at_once() {
        let error = StagedFile::create(Path::new("no/such/place/a.txt")).expect_err("no such place").to_string();
        assert!(error.starts_with("no/such/place/a.txt: cannot be written: "), "{error}");
        assert!(StagedFile::create(Path::new("/")).is_err());
    }
}
