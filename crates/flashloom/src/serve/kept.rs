//! The directories of served drives, and the messages on their files.

use std::path::{Path, PathBuf};

use serve::engine::{EngineError, FileNotice, NoticeCallback, PersistenceSettings};
use serve::{Durability, State, StateDir, StateError};

use super::ExportedDrive;
use super::front::Stop;
use crate::args::ServeArgs;
use crate::exit::{Failure, note};

/// The most damaged places that are printed; a client that repeats a failing read would fill the screen.
const NAMED: usize = 16;

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        Self::Input(error.to_string())
    }
}

/// Locks the directory of each drive, before any drive is made.
pub(super) fn directories(args: &ServeArgs, served: &[ExportedDrive]) -> Result<Vec<Option<StateDir>>, Failure> {
    let Some(dir) = &args.state.state else { return Ok(served.iter().map(|_| None).collect()) };
    for of in served {
        let refused = |error: EngineError| Failure::Input(error.to_string());
        EngineError::refuse_kept_layer(&of.device).map_err(refused)?;
    }
    let path = |of: &ExportedDrive| match args.device {
        Some(_) => Ok(dir.clone()),
        None => below(dir, &of.names[0]),
    };
    let paths = served.iter().map(path).collect::<Result<Vec<_>, _>>()?;
    let lock = |(path, of): (PathBuf, &ExportedDrive)| {
        let locked = StateDir::lock(&path, &of.device.resolved)?;
        let is_prepared = !args.state.precondition.is_empty() || args.state.load_snapshot.is_some();
        if locked.holds_drive() && is_prepared {
            return Err(StateError::Exists { dir: path }.into());
        }
        if locked.holds_drive() && args.state.seed != 0 {
            let why = "has no effect here: it holds a drive, whose random streams go on; leave it out";
            return Err(Failure::Input(format!("{}: --seed {why}", path.display())));
        }
        Ok(Some(locked))
    };
    paths.into_iter().zip(served).map(lock).collect()
}

/// The directory of the drive `name` in the directory of several drives.
fn below(dir: &Path, name: &str) -> Result<PathBuf, Failure> {
    if State::is_there(dir) {
        let dir = dir.display();
        return Err(Failure::Input(format!(
            "{dir}: holds one drive, and with --export it would hold a directory for each; serve it without --export, or \
             choose another directory"
        )));
    }
    Ok(dir.join(file_name(name, "--state")?))
}

/// Checks that the name of an export can be part of a file name, which `option` asks for.
pub(super) fn file_name<'a>(name: &'a str, option: &str) -> Result<&'a str, Failure> {
    if name.is_empty() || name.starts_with('.') || !name.chars().all(|c| c.is_alphanumeric() || "._-".contains(c)) {
        return Err(Failure::Input(format!(
            "--export: `{name}` cannot be in the name of a file, as {option} wants it; write letters, digits, `-`, `_` and `.`, \
             e.g. disk-1, or leave {option} out"
        )));
    }
    Ok(name)
}

/// The files of a drive. A failure of the files stops the server.
pub(super) fn keep(args: &ServeArgs, dir: StateDir, stopper: Stop) -> PersistenceSettings {
    let durability = if args.state.sync { Durability::Machine } else { Durability::Process };
    let on_notice = Some(hears(dir.path().to_owned(), stopper));
    PersistenceSettings { dir, durability, on_notice }
}

fn hears(dir: PathBuf, stopper: Stop) -> NoticeCallback {
    let mut named = Vec::new();
    Box::new(move |notice| match notice {
        FileNotice::Damage(error) => {
            let text = error.to_string();
            if named.len() <= NAMED && !named.contains(&text) {
                match named.len() {
                    NAMED => note("more data is damaged; its places are not named any more"),
                    _ => note(&text),
                }
                named.push(text);
            }
        }
        // The command prints the failure at its end.
        FileNotice::Failure(_) => stopper.stop(),
        FileNotice::Unverified => note(format_args!(
            "{}: nobody knows what this drive has acknowledged before; the first read of each sector is believed",
            dir.display()
        )),
    })
}
