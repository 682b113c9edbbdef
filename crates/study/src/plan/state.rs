//! The states of drives that a study loads and saves: `run.load-snapshot` and `run.save-snapshot`.

use std::path::Path;

use base::fault::Fault;

use super::point::Point;
use super::{RunSpec, StudySpec};
use crate::catalogue::Device;
use crate::config::{Document, Faults};
use crate::snapshot;

/// Makes the paths of a point's snapshots relative to the study's file. A snapshot that the point's device cannot load
/// is a fault.
pub(super) fn place(
    document: &Document,
    of_run: &Document,
    run: &mut RunSpec,
    device: Option<&Device>,
) -> Result<(), Faults> {
    if let Some(path) = &mut run.save_snapshot {
        let folder = document.path().parent().unwrap_or(Path::new(""));
        *path = folder.join(&*path);
    }
    let Some(path) = &mut run.load_snapshot else { return Ok(()) };
    *path = document.beside(path);
    let Some(device) = device else { return Ok(()) };
    snapshot::check_device(path, &device.resolved).map_err(|error| {
        let text = error.to_string();
        // The text of the error ends with its remedy.
        let (message, remedy) = text.rsplit_once("; ").unwrap_or((&text, ""));
        of_run.fault("load-snapshot", message, remedy).into()
    })
}

/// Finds runs that would write the same snapshot.
pub(super) fn check(study: &StudySpec, points: &[Point]) -> Option<Fault> {
    let mut all: Vec<&Path> = points.iter().filter_map(|point| point.run.save_snapshot.as_deref()).collect();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    let seeds = study.seeds.len();
    if count == 0 || (all.len() == count && seeds == 1) {
        return None;
    }
    let message = format!("{} runs would write {} files: each needs its own", count * seeds, all.len());
    Some(Fault::new("run.save-snapshot", message, "name them on an axis, and use one seed"))
}

#[cfg(test)]
mod tests;
