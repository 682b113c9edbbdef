//! The settings of a session other than its device and workloads.

use std::path::PathBuf;

use base::units::{Age, Span, Temperature};
use ssd::{Precondition, Storage};

use crate::run::{Course, Window};
use crate::snapshot::State;

/// The time for which background work may continue after the last request, so that the counters can be reconciled.
const SETTLE: Span = Span::from_secs(60);

/// The default warranty: the usual one of client and enterprise drives.
pub(super) const WARRANTY: Age = Age::from_days(5 * 365);

/// The program that runs a session, as results record it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Version of the program that runs the session, which results state.
    pub version: String,
    /// Commit from which the program was built.
    pub commit: String,
}

#[derive(Clone)]
pub(super) struct Settings {
    pub(super) program: Program,
    pub(super) seed: u64,
    pub(super) verify: bool,
    pub(super) check_drive: bool,
    /// True if each flow also runs alone.
    pub(super) fairness: bool,
    pub(super) steps: Vec<Precondition>,
    /// The kind of storage between preconditioning and run, during which the drive has no power.
    pub(super) storage: Option<Storage>,
    pub(super) temperature: Option<Temperature>,
    /// The snapshot to start from.
    pub(super) load: Option<PathBuf>,
    /// True if the snapshot replaces the preconditioning that would lead to it.
    pub(super) as_preconditioned: bool,
    /// The state in memory to start from.
    pub(super) state: Option<State>,
    pub(super) time_scale: Option<f64>,
    /// The detailed time series, if the user asked for one.
    pub(super) course: Option<Course>,
    /// The part of the run that is measured, as far as the session states it.
    pub(super) window: Window,
    pub(super) settle: Span,
    /// The most rounds of a life.
    pub(super) rounds: Option<u32>,
    /// The time over which a life's writes are spread.
    pub(super) warranty: Age,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            program: Program::default(),
            seed: 0,
            verify: false,
            check_drive: false,
            fairness: false,
            steps: Vec::new(),
            storage: None,
            temperature: None,
            load: None,
            as_preconditioned: false,
            state: None,
            time_scale: None,
            course: None,
            window: Window::default(),
            settle: SETTLE,
            rounds: None,
            warranty: WARRANTY,
        }
    }
}
