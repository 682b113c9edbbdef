//! Finds devices, workloads and studies by name: a file, or a built-in one.

mod device;
mod study;
mod workload;

use std::path::{Path, PathBuf};

use crate::config::{ConfigFault, Faults, did_you_mean};

pub use device::{Device, device, device_from};
pub use study::study;
pub use workload::{ConcurrentJobs, Stage, Workload, WorkloadError, WorkloadFile, workload};

/// The text of the built-in thing with this name; `None` if the path is a file.
///
/// # Errors
///
/// If the path is neither. The message names the `kind` of thing, and the `command` that lists the built-in ones.
fn named<'a>(path: &Path, kind: &str, command: &str, all: &[(&str, &'a str)]) -> Result<Option<&'a str>, Faults> {
    // A dangling link or an unreadable folder is no name; the later read reports its fault.
    if path.symlink_metadata().is_ok() || path.try_exists().is_err() {
        return Ok(None);
    }
    if let Some((_, text)) = all.iter().find(|(name, _)| Path::new(name) == path) {
        return Ok(Some(text));
    }
    let meant = did_you_mean(&path.to_string_lossy(), all.iter().map(|(name, _)| *name));
    // With an extension, or in a folder of no built-in name, the user meant a file.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let elsewhere = folder.is_some() && !all.iter().any(|(name, _)| Path::new(name).parent() == folder);
    let beside = beside(path);
    if beside.is_none() && meant.is_empty() && (path.extension().is_some() || elsewhere) {
        return Ok(None);
    }
    let meant = beside.map_or(meant, |file| format!("did you mean `{}`? otherwise ", file.display()));
    let fault = ConfigFault {
        path: Some(path.to_owned()),
        line: None,
        key: String::new(),
        message: format!("is neither a file nor a {kind} that comes with Flashloom"),
        remedy: format!("{meant}check its name; `flashloom {command}` lists those that do"),
    };
    Err(fault.into())
}

/// The file `NAME.toml` beside a name without an extension, if there is one.
fn beside(path: &Path) -> Option<PathBuf> {
    let written = path.with_extension("toml");
    (path.extension().is_none() && written.is_file()).then_some(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dash_means_standard_input() {
        assert!(workload(Path::new("-")).expect("a trace").is_trace());
        assert!(device(Path::new("-")).is_err());
    }

    #[test]
    fn a_misspelt_name_is_refused_with_a_suggestion() {
        let refused =
            |name: &str, of: fn(&Path) -> Result<(), Faults>| of(Path::new(name)).expect_err(name).to_string();
        let text = refused("olpt", |path| workload(path).map(drop));
        assert_eq!(
            text,
            "olpt: is neither a file nor a workload that comes with Flashloom; did you mean `oltp`? check its name; \
             `flashloom workloads` lists those that do"
        );
        let text = refused("dmeo", |path| device(path).map(drop));
        assert!(text.contains("did you mean `demo`?") && text.contains("`flashloom devices`"), "{text}");
        let text = refused("mix/trcaes", |path| study(path).map(drop));
        assert!(text.contains("did you mean `mix/traces`?") && text.contains("`flashloom studies`"), "{text}");
        let text = refused("databse.fio", |path| workload(path).map(drop));
        assert!(text.contains("did you mean `database.fio`?"), "{text}");
        let text = refused("no-such-thing-at-all", |path| workload(path).map(drop));
        assert!(text.contains("check its name; `flashloom workloads`") && !text.contains("did you mean"), "{text}");
        let text = refused("no-such-study", |path| study(path).map(drop));
        assert!(text.contains("is neither a file nor a study"), "{text}");
        let text = refused("no/such.toml", |path| workload(path).map(drop));
        assert!(text.contains("cannot be read: there is no such file; check its name"), "{text}");
    }
}
