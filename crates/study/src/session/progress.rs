//! The progress of a session, for progress bars.

use ssd::Precondition;

use crate::run;

/// The progress of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Progress {
    /// The session preconditions the drive.
    Preconditioning {
        /// The step of preconditioning under way.
        step: Precondition,
        /// The number of mapping units written.
        done: u64,
        /// The number of mapping units to write, as far as known.
        total: u64,
    },
    /// The session runs a workload.
    Running {
        /// The index of the stage, from zero.
        stage: usize,
        /// The progress of the run, warm-up included.
        run: run::Progress,
        /// The number of requests of the stage, if known.
        requests: Option<u64>,
    },
}
