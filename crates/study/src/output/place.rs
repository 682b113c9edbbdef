//! The destination of an output: a new file, an existing file, a folder, a device or a pipe.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::error::OutputError;
use super::kind::Kind;
use super::system::{self, Sort};

/// The thing that a path leads to, after links.
#[derive(Debug)]
pub(super) enum Place {
    /// A file that does not exist yet: its folder and its name.
    New(PathBuf),
    /// A file that exists already, at this path.
    File(PathBuf),
    /// A folder for all files of the output.
    Folder(PathBuf),
    /// A device or a pipe, open for writing.
    Stream(File),
}

const WRITABLE: &str = "choose a path that exists and is writable";

/// The error for a `path` at which the system refuses to write.
pub(super) fn unwritable(path: &Path, error: &io::Error) -> OutputError {
    let remedy = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free space there, or choose another path",
        io::ErrorKind::FileTooLarge => "raise the limit of a file's size (ulimit -f), or choose another file system",
        io::ErrorKind::BrokenPipe => "keep the reader of the pipe open until Flashloom has written all data",
        _ => WRITABLE,
    };
    OutputError::new(path, format!("cannot be written: {error}"), remedy)
}

/// Finds the destination of an option's path.
pub(super) fn find(option: &str, path: &Path) -> Result<Place, OutputError> {
    let fault = |reason: &str, remedy: &'static str| Err(OutputError::new(path, reason, remedy));
    if path.as_os_str().is_empty() {
        let reason = "has an empty path";
        return Err(OutputError::new(Path::new(option), reason, "write a path after it, e.g. result"));
    }
    let failed = |error: io::Error| unwritable(path, &error);
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return fault("is a link to a missing file", "remove the link, or choose another name");
            }
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let name = path.file_name().ok_or(error).map_err(failed)?;
            return Ok(Place::New(folder.canonicalize().map_err(failed)?.join(name)));
        }
        Err(error) => return Err(failed(error)),
    };
    Ok(match system::sort(meta.file_type()) {
        Sort::File => Place::File(path.canonicalize().map_err(failed)?),
        Sort::Folder => Place::Folder(path.canonicalize().map_err(failed)?),
        Sort::Stream => Place::Stream(OpenOptions::new().write(true).open(path).map_err(failed)?),
        Sort::Other(reason) => return fault(reason, "give the name of a file"),
    })
}

/// The existing file at a destination, and the reason for which it may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplacedFile {
    /// No file has the name.
    Nothing,
    /// The existing file is empty.
    Empty,
    /// Flashloom wrote the existing file, and it is of the same kind.
    Ours(Kind),
    /// `--force` replaces the existing file.
    Forced,
}

/// Decides whether a file of this kind may replace `path`. Messages name it `shown`.
pub(super) fn permit(path: &Path, shown: &Path, kind: Kind, force: bool) -> Result<ReplacedFile, OutputError> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ReplacedFile::Nothing),
        Err(error) => return Err(unwritable(shown, &error)),
    };
    if meta.is_dir() {
        return Err(OutputError::new(shown, "is a directory", "give the name of a file"));
    }
    let reason = if !meta.is_file() {
        "exists, and Flashloom did not write it".to_owned()
    } else if meta.permissions().readonly() {
        "is write-protected".to_owned()
    } else if meta.len() == 0 {
        return Ok(ReplacedFile::Empty);
    } else {
        match Kind::of(path) {
            Ok(Some(found)) if found == kind => return Ok(ReplacedFile::Ours(kind)),
            Ok(Some(found)) => format!("is {}, and would be replaced by {}", found.name(), kind.name()),
            Ok(None) => "exists, and Flashloom did not write it".to_owned(),
            Err(error) => format!("exists, and cannot be read: {error}"),
        }
    };
    if force {
        return Ok(ReplacedFile::Forced);
    }
    Err(OutputError::new(shown, reason, "choose another name, or replace it with --force"))
}

impl ReplacedFile {
    /// The note about the replacement; `None` if none is needed.
    pub(super) fn note(self, shown: &Path) -> Option<String> {
        let shown = shown.display();
        match self {
            Self::Nothing | Self::Empty => None,
            Self::Ours(kind) => Some(format!("{shown}: replaced {} of an earlier run", kind.name())),
            Self::Forced => Some(format!("{shown}: replaced the file there, because of --force")),
        }
    }
}
