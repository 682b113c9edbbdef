//! The files of a recording of blktrace, one for each CPU: `NAME.blktrace.0` and so on.
//!
//! A recording is named by `NAME.blktrace`, by `NAME`, or by a directory that has no other recording. The files are
//! merged by time.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::SourceError;

/// The text between the name of the device and the number of the CPU.
const MIDDLE: &str = ".blktrace.";

/// The name of the recording and the number of the CPU in a file's name; `None` for other files.
fn parts(name: &OsStr) -> Option<(&str, u32)> {
    let (base, number) = name.to_str()?.rsplit_once(MIDDLE)?;
    Some((base, number.parse().ok()?))
}

/// The files of CPUs in a directory: the name of the recording, the number of the CPU, and the path; sorted in this
/// order.
fn listed(directory: &Path) -> Vec<(String, u32, PathBuf)> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let entries = std::fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let mut files: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let (base, cpu) = parts(&name)?;
            entry.path().is_file().then(|| (base.to_owned(), cpu, entry.path()))
        })
        .collect();
    files.sort();
    files
}

/// The files of the recording with this name, in the directory of `path`.
fn recording(path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name().and_then(OsStr::to_str) else { return Vec::new() };
    let name = name.strip_suffix(".blktrace").unwrap_or(name);
    let Some(directory) = path.parent() else { return Vec::new() };
    // The paths keep the form in which the user wrote the directory.
    let beside = |file: PathBuf| file.file_name().map_or_else(|| file.clone(), |name| directory.join(name));
    listed(directory).into_iter().filter(|(base, ..)| base == name).map(|(.., file)| beside(file)).collect()
}

/// The files of the CPUs of a recording, if `path` names a recording and is not a file itself; otherwise none.
///
/// # Errors
///
/// If `path` is a directory with several recordings.
pub(crate) fn cpus_of(path: &Path) -> Result<Vec<PathBuf>, SourceError> {
    if !path.is_dir() {
        return Ok(if path.exists() { Vec::new() } else { recording(path) });
    }
    let files = listed(path);
    let mut bases: Vec<&str> = files.iter().map(|(base, ..)| base.as_str()).collect();
    bases.dedup();
    if let [first, second, ..] = bases[..] {
        let message = format!("the directory holds the recordings of {} devices: {}", bases.len(), bases.join(", "));
        let remedy = format!("name one of them: {} or {}", path.join(first).display(), path.join(second).display());
        return Err(SourceError::new(message, remedy).in_file(path));
    }
    Ok(files.into_iter().map(|(.., file)| file).collect())
}

/// The files of a trace: those of all CPUs of a recording, or the single file at this path.
#[must_use]
pub fn files(path: &Path) -> Vec<PathBuf> {
    match cpus_of(path) {
        Ok(cpus) if !cpus.is_empty() => cpus,
        _ => vec![path.to_owned()],
    }
}

/// The number of files of the recording that this file belongs to, as that of one CPU; `None` if there is no other.
pub(crate) fn siblings(path: &Path) -> Option<usize> {
    let (base, _) = parts(path.file_name()?)?;
    let count = recording(&path.with_file_name(base)).len();
    (count > 1).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_named_by_its_base_or_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, b"x").unwrap();
            path
        };
        // An idle CPU may have no file, and the tenth follows the second.
        let wanted = [file("sda.blktrace.0"), file("sda.blktrace.2"), file("sda.blktrace.10")];
        file("README");
        for name in [dir.path().join("sda.blktrace"), dir.path().join("sda"), dir.path().to_owned()] {
            assert_eq!(cpus_of(&name).unwrap(), wanted, "{}", name.display());
            assert_eq!(files(&name), wanted);
        }
        assert_eq!(cpus_of(&wanted[0]).unwrap(), [] as [PathBuf; 0]);
        assert_eq!((siblings(&wanted[1]), siblings(&dir.path().join("README"))), (Some(3), None));
        let other = file("sdb.blktrace.0");
        assert_eq!(siblings(&other), None);
        let error = cpus_of(dir.path()).unwrap_err();
        assert!(error.message().contains("2 devices: sda, sdb") && error.remedy().contains("sda or "), "{error}");
        assert_eq!(cpus_of(&dir.path().join("sda")).unwrap().len(), 3);
    }
}
