//! The snapshots that the points of a study save.

use std::io;

use super::{ExecuteError, RunLabel};
use crate::output::{Kind, OutFile, OutputError, Outputs, publish};
use crate::plan::{Plan, Point};
use crate::session::Session;

const KEY: &str = "run.save-snapshot";

/// Checks that the snapshots of all points can be written, before the first run.
///
/// # Errors
/// The first reason why one cannot.
pub fn check_snapshots(plan: &Plan) -> Result<(), OutputError> {
    let mut outputs = Outputs::new(&plan.named, plan.force);
    let mut paths = plan.points.iter().filter_map(|point| point.run.save_snapshot.as_ref());
    paths.try_for_each(|path| outputs.file(KEY, path, Kind::Snapshot).map(drop))
}

/// Makes the session save the state of its drive, if the point asks for that. The snapshot is kept even if the run
/// fails.
pub(super) fn saving<'a>(
    session: Session<'a>,
    plan: &Plan,
    point: &Point,
    place: impl Fn() -> RunLabel,
) -> Result<Session<'a>, ExecuteError> {
    let Some(path) = &point.run.save_snapshot else { return Ok(session) };
    let file = Outputs::new(&plan.named, plan.force).file(KEY, path, Kind::Snapshot);
    let mut file: OutFile = file.map_err(|error| ExecuteError::Output(error, place()))?;
    Ok(session.save_snapshot(move |state| {
        file.fill(|out| state.write(out)).map_err(io::Error::other)?;
        publish(vec![file], None).map_err(io::Error::other).map(drop)
    }))
}
