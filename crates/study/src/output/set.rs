//! A set of files that appears in its folder all at once, even if the program ends at any moment.
//!
//! The files get their names in a hidden folder first. If the destination is a new folder, the hidden folder is
//! renamed. If it exists, the two folders exchange their names at once, after the files of other programs have been
//! linked into the new one. The exchange has three conditions: this program's working directory is not in the folder,
//! the file system can exchange names, and all other entries of the folder are files. If one is not met, the files move
//! one by one, those that mark a result last.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::kind::{MARK, STUDY_MARK, kind_of};
use super::staged::{HiddenPath, StagedFile};
use super::system;

/// A hidden folder with the files of a result.
#[derive(Debug)]
pub(super) struct FileSet {
    hidden: HiddenPath<TempDir>,
    /// Locked while the program runs, so that no other program removes the folder.
    _lock: File,
    names: Vec<String>,
    /// True if the hidden folder lies beside the destination, false if it lies in it.
    is_beside: bool,
}

impl FileSet {
    /// Creates a set for the folder at `to`, which need not exist.
    pub(super) fn create(to: &Path) -> io::Result<Self> {
        let parent = to.parent().unwrap_or(Path::new("."));
        let beside = (!to.is_dir() || system::is_same_device(parent, to)).then(|| Self::within(parent, true));
        match beside {
            Some(Ok(set)) => Ok(set),
            Some(Err(error)) if !to.is_dir() => Err(error),
            _ => Self::within(to, false),
        }
    }

    fn within(home: &Path, is_beside: bool) -> io::Result<Self> {
        let hidden = HiddenPath::folder(home)?;
        let lock = File::open(hidden.path())?;
        system::lock(&lock);
        Ok(Self { hidden, _lock: lock, names: Vec::new(), is_beside })
    }

    /// Gives a complete file its name in the set, with the permissions of the file that it replaces at `to`.
    pub(super) fn add(&mut self, name: String, staged: StagedFile, to: &Path) -> io::Result<()> {
        let path = self.hidden.path().join(&name);
        if let Some(inner) = path.parent().filter(|inner| !inner.is_dir()) {
            fs::create_dir(inner)?;
        }
        staged.publish(&path, false)?;
        if let Ok(before) = fs::symlink_metadata(to.join(&name))
            && before.is_file()
        {
            fs::set_permissions(&path, before.permissions())?;
        }
        self.names.push(name);
        Ok(())
    }

    /// Replaces the files `earlier` of the folder at `to` by the set.
    pub(super) fn publish(mut self, to: &Path, earlier: &[String]) -> io::Result<()> {
        if !to.is_dir() && self.is_beside {
            return fs::rename(self.hidden.path(), to);
        }
        if self.is_beside && !holds_us(to) && self.link_others(to, earlier)? && self.exchange(to)? {
            return Ok(());
        }
        self.move_each(to, earlier)
    }

    /// Links the files of other programs at `to` into the set. Returns false if an entry cannot be linked.
    fn link_others(&self, to: &Path, earlier: &[String]) -> io::Result<bool> {
        for other in others(to, earlier)? {
            let Some(name) = other.filter(|name| !self.names.contains(name)) else { return Ok(false) };
            let link = self.hidden.path().join(&name);
            if let Some(inner) = link.parent().filter(|inner| !inner.is_dir()) {
                fs::create_dir(inner)?;
            }
            if fs::hard_link(to.join(&name), link).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Exchanges the names of the two folders. Returns false if the system cannot.
    fn exchange(&mut self, to: &Path) -> io::Result<bool> {
        fs::set_permissions(self.hidden.path(), fs::metadata(to)?.permissions())?;
        if !system::exchange(self.hidden.path(), to)? {
            return Ok(false);
        }
        // Also moves files that another program has written in the moment before the exchange.
        for name in others(self.hidden.path(), &[])?.into_iter().flatten() {
            let new = to.join(&name);
            if fs::symlink_metadata(&new).is_err() && kind_of(&name).is_none() {
                let _ = fs::rename(self.hidden.path().join(&name), new);
            }
        }
        Ok(true)
    }

    /// Moves the files one by one.
    fn move_each(self, to: &Path, earlier: &[String]) -> io::Result<()> {
        let is_mark = |name: &&String| [MARK, STUDY_MARK].contains(&&***name);
        let stays = |name: &&String| self.names.contains(name);
        for name in earlier.iter().filter(is_mark).chain(earlier.iter().filter(|name| !is_mark(name) && !stays(name))) {
            fs::remove_file(to.join(name))?;
            if let Some((stage, _)) = name.split_once('/') {
                // A folder that has other files is kept: the call fails for it.
                let _ = fs::remove_dir(to.join(stage));
            }
        }
        for name in &self.names {
            let new = to.join(name);
            if let Some(inner) = new.parent().filter(|inner| !inner.is_dir()) {
                fs::create_dir(inner)?;
            }
            fs::rename(self.hidden.path().join(name), new)?;
        }
        Ok(())
    }
}

/// True if the working directory of this program is the folder, or lies in it.
fn holds_us(folder: &Path) -> bool {
    std::env::current_dir().is_ok_and(|here| here.canonicalize().unwrap_or(here).starts_with(folder))
}

/// The names of all files below `folder` that are not `known`. A name may include one folder. `None` stands for each
/// entry that is neither a file nor a link.
fn others(folder: &Path, known: &[String]) -> io::Result<Vec<Option<String>>> {
    let mut found = Vec::new();
    let mut inner: Vec<PathBuf> = Vec::new();
    let mut look = |inside: &Path, inner: &mut Vec<PathBuf>, is_top: bool| -> io::Result<()> {
        for entry in fs::read_dir(folder.join(inside))? {
            let entry = entry?;
            let path = inside.join(entry.file_name());
            let of = entry.file_type()?;
            match path.to_str() {
                Some(name) if of.is_file() || of.is_symlink() => {
                    if !known.iter().any(|known| known == name) {
                        found.push(Some(name.to_owned()));
                    }
                }
                Some(_) if of.is_dir() && is_top => inner.push(path),
                _ => found.push(None),
            }
        }
        Ok(())
    };
    look(Path::new(""), &mut inner, true)?;
    let folders = std::mem::take(&mut inner);
    folders.iter().try_for_each(|path| look(path, &mut inner, false))?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use testkit::names;

    use super::*;
    use crate::output::staged::clear;

    fn set(to: &Path, files: &[&str]) -> FileSet {
        let mut set = FileSet::create(to).expect("writable");
        for name in files {
            let staged = StagedFile::create(to.parent().expect("a folder")).expect("writable");
            staged.file().write_all(b"new").expect("written");
            set.add((*name).to_owned(), staged, to).expect("named");
        }
        set
    }

    #[test]
    fn a_set_is_hidden_until_it_is_whole() {
        let dir = tempfile::tempdir().expect("a directory");
        let to = dir.path().join("out");
        let new = set(&to, &["a.toml", "stage-1/b.toml", "summary.json"]);
        let [hidden] = &names(dir.path())[..] else { panic!("one hidden folder") };
        assert!(hidden.starts_with('.'));
        new.publish(&to, &[]).expect("published");
        assert_eq!(
            (names(dir.path()), names(&to)),
            (vec!["out".into()], vec!["a.toml".to_owned(), "stage-1".to_owned(), "summary.json".to_owned()])
        );
        drop(set(&to, &["a.toml"]));
        assert_eq!(names(dir.path()), ["out"], "what is given up leaves nothing");
    }

    #[test]
    fn a_set_replaces_another_and_keeps_what_others_have_written() {
        let dir = tempfile::tempdir().expect("a directory");
        let to = dir.path().join("out");
        let first = ["a.toml", "stage-1/b.toml", "summary.json"];
        set(&to, &first).publish(&to, &[]).expect("published");
        fs::write(to.join("notes.md"), "mine").expect("written");
        fs::write(to.join("stage-1/notes.md"), "mine").expect("written");
        let earlier = first.map(ToOwned::to_owned);
        set(&to, &["c.toml", "summary.json"]).publish(&to, &earlier).expect("published");
        assert_eq!(names(dir.path()), ["out"]);
        assert_eq!(names(&to), ["c.toml", "notes.md", "stage-1", "summary.json"]);
        assert_eq!(names(&to.join("stage-1")), ["notes.md"]);
        // A folder of another program cannot be linked, so the files move one by one.
        fs::create_dir_all(to.join("mine/deep")).expect("created");
        set(&to, &["d.toml", "summary.json"])
            .publish(&to, &["c.toml".into(), "summary.json".into()])
            .expect("published");
        assert_eq!(names(&to), ["d.toml", "mine", "notes.md", "stage-1", "summary.json"]);
    }

    #[test]
    fn the_hidden_folder_of_a_dead_program_is_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir(dir.path().join(".flashloom-1-0.part")).expect("created");
        fs::write(dir.path().join(".flashloom-1-0.part/summary.json"), "half").expect("written");
        let alive = set(&dir.path().join("out"), &["a.toml"]);
        assert_eq!(names(dir.path()).len(), 1, "that of the dead one is gone: {:?}", names(dir.path()));
        assert!(clear(dir.path()).is_empty());
        alive.publish(&dir.path().join("out"), &[]).expect("published");
    }
}
