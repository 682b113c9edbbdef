//! A file that gets its name when it is complete.
//!
//! On file systems that support it, the file has no name until then, so a program that ends early leaves nothing
//! behind. Elsewhere the file has a hidden name beside its destination, and so has a set of files. A signal or a panic
//! removes the hidden names ([`sweep`]). After SIGKILL the next run that writes to the folder removes them: a running
//! program locks its files, so unlocked ones are abandoned.
//!
//! The crate `tempfile` finds free hidden names, creates the files and folders, renames them and removes them when their
//! values are dropped. It cannot give a name to a file without one, drops no value at a signal, and knows nothing of the
//! files of ended programs: these three are here.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{Builder, TempDir, TempPath};

use super::system;

/// Locked while complete files get their names: an interruption waits for the lock.
static NAMING: Mutex<()> = Mutex::new(());

/// The hidden names in use, which a signal removes.
static HIDDEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

const FIRST: &str = ".flashloom-";
const LAST: &str = ".part";

fn locked<T>(of: &'static Mutex<T>) -> MutexGuard<'static, T> {
    // The values are valid even after a panic of another thread.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the lock for which an interruption waits. The caller holds it until all files of one result are named.
pub(super) fn naming() -> MutexGuard<'static, ()> {
    locked(&NAMING)
}

/// Removes all incomplete files. Called by a panic hook.
pub fn sweep() {
    // These are temporary files: if one cannot be removed, no remedy is possible here.
    locked(&HIDDEN).drain(..).for_each(|path| drop(remove(&path)));
}

/// Removes all incomplete files for a signal that ends the program. Waits for the naming that is in progress and
/// prevents any other.
pub fn sweep_for_good() {
    std::mem::forget(naming());
    sweep();
}

/// Removes a hidden file or folder.
fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

/// Removes hidden files and folders of programs that no longer run. Returns the lengths of the files.
pub(crate) fn clear(folder: &Path) -> Vec<u64> {
    let mut removed = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return removed };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with(FIRST) && name.ends_with(LAST));
        if !ours || !entry.file_type().is_ok_and(|of| of.is_file() || of.is_dir()) {
            continue;
        }
        if let Ok(file) = File::open(entry.path())
            && system::lock(&file)
        {
            let length = file.metadata().map_or(0, |meta| meta.len());
            // If the file is gone, another program has removed it.
            if remove(&entry.path()).is_ok() {
                removed.push(length);
            }
        }
    }
    removed
}

/// Writes a file of a cache, completely or not at all, even if the program ends at any moment; replaces an older one.
/// The call does not wait for the disk: if the machine stops, the file may be damaged, and its reader must find that.
pub(crate) fn write_whole(to: &Path, fill: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    let staged = StagedFile::unswept(folder_of(to))?;
    fill(&staged.file)?;
    let _naming = naming();
    staged.name(to, true)
}

/// An entry of [`HIDDEN`], which ends when it is dropped.
#[derive(Debug)]
struct ListEntry(PathBuf);

impl ListEntry {
    fn new(path: &Path) -> Self {
        locked(&HIDDEN).push(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for ListEntry {
    fn drop(&mut self) {
        locked(&HIDDEN).retain(|path| *path != self.0);
    }
}

/// A file or folder with a hidden name. Dropping the value removes it, unless it has another name by then.
#[derive(Debug)]
pub(super) struct HiddenPath<T> {
    // Fields are dropped in this order: the entry outlives the name.
    temporary: T,
    _entry: ListEntry,
}

fn hidden_names() -> Builder<'static, 'static> {
    let mut names = Builder::new();
    names.prefix(FIRST).suffix(LAST);
    names
}

impl HiddenPath<TempDir> {
    /// Creates a folder with a hidden name, and removes hidden files of programs that no longer run.
    pub(super) fn folder(home: &Path) -> io::Result<Self> {
        clear(home);
        let temporary = hidden_names().tempdir_in(home)?;
        Ok(Self { _entry: ListEntry::new(temporary.path()), temporary })
    }

    pub(super) fn path(&self) -> &Path {
        self.temporary.path()
    }
}

impl HiddenPath<TempPath> {
    /// Makes a file with a hidden name: `make` fails if the name that it gets is not free.
    fn file<R>(folder: &Path, make: impl FnMut(&Path) -> io::Result<R>) -> io::Result<(R, Self)> {
        let (made, temporary) = hidden_names().make_in(folder, make)?.into_parts();
        Ok((made, Self { _entry: ListEntry::new(&temporary), temporary }))
    }

    /// Gives the file its final name, which may be that of another file.
    fn rename(self, to: &Path) -> io::Result<()> {
        self.temporary.persist(to).map_err(|error| error.error)
    }
}

/// Creates a file at a path that must be free.
fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().create_new(true).read(true).write(true).open(path)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

/// A file that is being written.
#[derive(Debug)]
pub(super) struct StagedFile {
    file: File,
    hidden: Option<HiddenPath<TempPath>>,
}

impl StagedFile {
    /// Creates a file that will get its name in this folder, and removes hidden files of programs that no longer run.
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        clear(folder);
        Self::unswept(folder)
    }

    /// Creates a file without a search for files of other programs.
    fn unswept(folder: &Path) -> io::Result<Self> {
        match system::anonymous(folder)? {
            Some(file) => {
                // Locked, because the file may get a hidden name before its own.
                system::lock(&file);
                Ok(Self { file, hidden: None })
            }
            None => Self::named(folder),
        }
    }

    /// Creates a file with a hidden name, for file systems without nameless files.
    pub(super) fn named(folder: &Path) -> io::Result<Self> {
        loop {
            let (file, hidden) = HiddenPath::file(folder, create_new)?;
            system::lock(&file);
            // Between creation and lock, another program may have removed the file as abandoned.
            if system::has_name(&file) {
                return Ok(Self { file, hidden: Some(hidden) });
            }
        }
    }

    pub(super) const fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file a name, in the folder of its creation or in another folder of the same file system. Without
    /// `replace`, the name must be free.
    pub(super) fn publish(self, to: &Path, replace: bool) -> io::Result<()> {
        // Some file systems report only here that they are full.
        self.file.sync_all()?;
        self.name(to, replace)
    }

    fn name(mut self, to: &Path, replace: bool) -> io::Result<()> {
        if let Some(before) = fs::symlink_metadata(to).ok().filter(|before| replace && before.is_file()) {
            self.file.set_permissions(before.permissions())?;
        }
        let hidden = match self.hidden.take() {
            Some(hidden) => hidden,
            None => match system::link(&self.file, to) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !replace => return Err(error),
                // A link cannot replace a file, so the file gets a hidden name first and is renamed.
                Err(_) => self.hide(to)?,
            },
        };
        if !replace && fs::symlink_metadata(to).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        hidden.rename(to)
    }

    /// Takes the name of `before`, at once. Returns `before` under a hidden name, so that it can take its place again;
    /// `None` where a file cannot have two names.
    pub(super) fn exchange(mut self, to: &Path, before: File) -> io::Result<(File, Option<Self>)> {
        let from = self.hidden.take().expect("it has a hidden name");
        let second = HiddenPath::file(folder_of(to), |path| fs::hard_link(to, path)).ok();
        from.rename(to)?;
        Ok((self.file, second.map(|((), hidden)| Self { file: before, hidden: Some(hidden) })))
    }

    /// Gives the file a hidden name beside `to`. If files cannot be linked, a copy gets the name.
    fn hide(&self, to: &Path) -> io::Result<HiddenPath<TempPath>> {
        if let Ok(((), hidden)) = HiddenPath::file(folder_of(to), |path| system::link(&self.file, path)) {
            return Ok(hidden);
        }
        let (mut copy, hidden) = HiddenPath::file(folder_of(to), create_new)?;
        let mut from = &self.file;
        from.rewind()?;
        copy.set_permissions(self.file.metadata()?.permissions())?;
        io::copy(&mut from, &mut copy)?;
        copy.sync_all()?;
        Ok(hidden)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use testkit::names;

    use super::*;

    /// Both ways to create a file: nameless, and with a hidden name.
    const WAYS: [fn(&Path) -> io::Result<StagedFile>; 2] = [StagedFile::create, StagedFile::named];

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        for create in WAYS {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("a.txt");
            let staged = create(dir.path()).expect("writable");
            staged.file().write_all(b"whole").expect("written");
            assert!(!path.exists());
            staged.publish(&path, false).expect("named");
            assert_eq!(names(dir.path()), ["a.txt"]);

            drop(create(dir.path()).expect("writable"));
            assert_eq!(names(dir.path()), ["a.txt"]);

            let second = create(dir.path()).expect("writable");
            second.file().write_all(b"second").expect("written");
            let taken = second.publish(&path, false).expect_err("the name is taken");
            assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read(&path).expect("there"), b"whole");

            let third = create(dir.path()).expect("writable");
            third.file().write_all(b"third").expect("written");
            third.publish(&path, true).expect("replaced");
            assert_eq!((names(dir.path()), fs::read(&path).expect("there")), (vec!["a.txt".into()], b"third".into()));
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_has_no_name_before_it_is_whole() {
        let dir = tempfile::tempdir().expect("a directory");
        let staged = StagedFile::create(dir.path()).expect("writable");
        // Few file systems have nameless files; on others the file has a hidden name.
        if staged.hidden.is_none() {
            assert!(names(dir.path()).is_empty());
        } else {
            assert_eq!(names(dir.path()).len(), 1);
        }
    }

    #[test]
    fn a_replaced_file_keeps_its_permissions() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.txt");
        fs::write(&path, "before").expect("written");
        let mut alone = path.metadata().expect("there").permissions();
        alone.set_readonly(true);
        fs::set_permissions(&path, alone).expect("set");
        StagedFile::create(dir.path()).expect("writable").publish(&path, true).expect("replaced");
        assert!(path.metadata().expect("there").permissions().readonly());
    }

    #[test]
    fn part_files_of_dead_processes_are_removed_and_those_of_live_ones_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        // No program has a lock on the file, as after SIGKILL.
        fs::write(dir.path().join(".flashloom-1-0.part"), "half").expect("written");
        fs::write(dir.path().join(".flashloom.part"), "somebody else's").expect("written");
        let alive = StagedFile::named(dir.path()).expect("writable");
        assert_eq!(names(dir.path()).len(), 3);
        drop(StagedFile::create(dir.path()).expect("writable"));
        assert_eq!(names(dir.path()).len(), 2, "{:?}", names(dir.path()));
        alive.publish(&dir.path().join("a.txt"), false).expect("named");
        assert_eq!(names(dir.path()), [".flashloom.part", "a.txt"]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_that_cannot_be_linked_is_copied() {
        let dir = tempfile::tempdir().expect("a directory");
        let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") else { return };
        let there = elsewhere.path().join("a.txt");
        let staged = StagedFile::create(dir.path()).expect("writable");
        staged.file().write_all(b"whole").expect("written");
        staged.publish(&there, false).expect("copied across file systems");
        assert_eq!(fs::read(&there).expect("there"), b"whole");
        assert!(names(dir.path()).is_empty() && names(elsewhere.path()) == ["a.txt"]);
    }
}
