//! Why a session has no outcome.

use std::fmt;
use std::io;

use base::fault::Fault;
use ssd::Precondition;

use crate::memory::TooLarge;
use crate::reconcile::Unreconciled;
use crate::run::RunError;
use crate::snapshot::LoadError;
use crate::worn::WornOut;

/// Why a session has no outcome.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionError {
    /// There is no workload.
    NoFlow,
    /// Workloads that run at once have several stages.
    SeveralStages {
        /// The first that has.
        workload: String,
    },
    /// It takes more memory than there is.
    TooLarge(TooLarge),
    /// A step of preconditioning that the device does not allow.
    Precondition {
        /// The step.
        step: Precondition,
        /// What is wrong with it.
        fault: Fault,
    },
    /// Preconditioning has worn the drive out.
    WornOut(WornOut),
    /// A snapshot cannot be loaded.
    Load(LoadError),
    /// A snapshot cannot be kept.
    Save(io::Error),
    /// A run did not get to its end.
    Run {
        /// Why.
        error: Box<RunError>,
        /// The workload or its stage.
        workload: String,
    },
    /// The books of a run do not balance: a fault of Flashloom.
    Books {
        /// The checks that do not hold.
        error: Unreconciled,
        /// The workload or its stage.
        workload: String,
    },
}

impl SessionError {
    /// The session was asked to stop before its workload ran.
    pub(super) fn interrupted() -> Self {
        Self::Run { error: Box::new(RunError::Interrupted), workload: String::new() }
    }

    /// True if Flashloom is at fault, and not its input: the drive returned wrong data, or its counters disagree.
    #[must_use]
    pub fn is_bug(&self) -> bool {
        match self {
            Self::Run { error, .. } => matches!(**error, RunError::Mismatch(_)),
            Self::Books { .. } => true,
            _ => false,
        }
    }

    /// The workload, or the stage of it, that was under way.
    #[must_use]
    pub fn workload(&self) -> Option<&str> {
        match self {
            Self::Run { workload, .. } | Self::Books { workload, .. } => Some(workload),
            _ => None,
        }
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFlow => f.write_str("nothing is to be run; add a workload"),
            Self::SeveralStages { workload } => {
                write!(f, "{workload}: has several stages, and flows run at once; give each a job file of its own")
            }
            Self::TooLarge(error) => error.fmt(f),
            Self::Precondition { step, fault: Fault { message, remedy, .. } } => {
                write!(f, "--precondition {step}: {message}; {remedy}")
            }
            Self::WornOut(error) => error.fmt(f),
            Self::Load(error) => error.fmt(f),
            Self::Save(error) => error.fmt(f),
            Self::Run { error, .. } => error.fmt(f),
            Self::Books { error, .. } => error.fmt(f),
        }
    }
}

impl std::error::Error for SessionError {}
