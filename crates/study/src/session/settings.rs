//! The settings of a session other than its device and workloads.

use std::path::PathBuf;

use base::units::{Age, Span, Temperature};
use ssd::{Precondition, Storage};

use crate::run::{Course, Window};
use crate::snapshot::State;

/// How long background work may continue after the last request, so that the counters can be reconciled.
const SETTLE: Span = Span::from_secs(60);

/// The warranty if none is given: what makers of client and enterprise drives usually state.
pub(super) const WARRANTY: Age = Age::from_days(5 * 365);

/// The program that runs a session, for its results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The version.
    pub version: String,
    /// The commit.
    pub commit: String,
}

#[derive(Clone)]
pub(super) struct Settings {
    pub(super) program: Program,
    pub(super) seed: u64,
    pub(super) verify: bool,
    pub(super) check_drive: bool,
    /// Whether each flow runs alone, too.
    pub(super) fairness: bool,
    /// Preconditioning steps.
    pub(super) steps: Vec<Precondition>,
    /// The time without power behind preconditioning, and the temperature meanwhile, if one is given.
    pub(super) storage: Option<Storage>,
    pub(super) temperature: Option<Temperature>,
    /// The snapshot to start from.
    pub(super) load: Option<PathBuf>,
    /// The snapshot stands for preconditioning that would lead to it.
    pub(super) as_preconditioned: bool,
    /// The same in memory.
    pub(super) state: Option<State>,
    pub(super) time_scale: Option<f64>,
    /// The detailed time series, if one is asked for.
    pub(super) course: Option<Course>,
    /// The part of the run that is measured, as far as the session says.
    pub(super) window: Window,
    pub(super) settle: Span,
    /// Rounds of a life at most.
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
