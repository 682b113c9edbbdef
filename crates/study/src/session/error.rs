//! Errors of a session.

use std::fmt;
use std::io;

use base::fault::Fault;
use ssd::Precondition;

use crate::catalogue::WorkloadError;
use crate::life::LifeError;
use crate::memory::TooLarge;
use crate::reconcile::FailedChecks;
use crate::run::RunError;
use crate::snapshot::LoadError;
use crate::worn::WornOutError;

/// The reason that a session has no outcome.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionError {
    /// The session has no workload.
    NoFlow,
    /// A workload has several stages, and others run beside it.
    SeveralStages {
        /// The first such workload.
        workload: String,
    },
    /// There is only one workload, so it cannot be compared with its run alone.
    NoNeighbour,
    /// A workload has jobs that run at the same time, so it cannot be one of several flows.
    JobsBeside {
        /// Name of the workload with the jobs.
        workload: String,
    },
    /// The requests of a workload can be read only once, so it cannot also run alone.
    Once {
        /// Name of the workload that can be read only once.
        workload: String,
    },
    /// The FTL of the drive needs to know future writes for its streams, and the run cannot be made twice.
    Foresight {
        /// The impossible action, in words.
        cannot: &'static str,
    },
    /// A workload cannot be opened a second time.
    Again {
        /// The reason why the workload cannot be opened.
        error: WorkloadError,
        /// Name of the workload that cannot be opened again.
        workload: String,
    },
    /// The simulation needs more memory than there is.
    TooLarge(TooLarge),
    /// The device does not allow a preconditioning step.
    Precondition {
        /// The step that the device refuses.
        step: Precondition,
        /// The reason and the remedy.
        fault: Fault,
    },
    /// The device cannot age, or cannot age in this way.
    Age {
        /// The reason and the remedy.
        fault: Fault,
    },
    /// Preconditioning wore the drive out.
    WornOut(WornOutError),
    /// The snapshot cannot be loaded.
    Load(LoadError),
    /// The snapshot cannot be written.
    Save(io::Error),
    /// A RAID of drives, or a translation over zones, cannot do something that the session asks for.
    Layer {
        /// The table of the layer in the description.
        layer: &'static str,
        /// The thing that the layer cannot do.
        cannot: &'static str,
    },
    /// The drive's life cannot be simulated.
    Life(LifeError),
    /// The run of a workload failed.
    Run {
        /// The reason why the run failed.
        error: Box<RunError>,
        /// Name of the workload, or of its stage if it has several.
        workload: String,
    },
    /// The counters of a run disagree: a bug of Flashloom.
    Books {
        /// The equations between counters that do not hold.
        error: FailedChecks,
        /// Name of the workload, or of its stage if it has several.
        workload: String,
    },
}

impl SessionError {
    pub(super) fn interrupted() -> Self {
        Self::Run { error: Box::new(RunError::Interrupted), workload: String::new() }
    }

    /// True if Flashloom is at fault, not its input: the drive returned wrong data, or its counters disagree.
    #[must_use]
    pub fn is_bug(&self) -> bool {
        match self {
            Self::Run { error, .. } => matches!(**error, RunError::Mismatch(_)),
            Self::Books { .. } => true,
            _ => false,
        }
    }

    /// The workload or stage that was running.
    #[must_use]
    pub fn workload(&self) -> Option<&str> {
        match self {
            Self::Run { workload, .. }
            | Self::Books { workload, .. }
            | Self::JobsBeside { workload }
            | Self::Once { workload }
            | Self::Again { workload, .. } => Some(workload),
            _ => None,
        }
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFlow => f.write_str("the session has no workload; add one"),
            Self::NoNeighbour => {
                f.write_str("fairness compares several workloads with each of them alone; add another workload")
            }
            Self::JobsBeside { workload } => write!(
                f,
                "{workload}: has jobs that run at the same time, and fairness compares single flows; put each job into a \
                 file of its own and add it with --flow"
            ),
            Self::Once { workload } => write!(
                f,
                "{workload}: its requests can be read only once, and the session needs them again; open it with \
                 `Session::open`"
            ),
            Self::Foresight { cannot } => write!(
                f,
                "ftl.streams.host: the policy `oracle` needs a run that can be made twice, and {cannot}; use `run`, `compare` \
                 or `study` without --fairness, or another policy"
            ),
            Self::Again { error, .. } => error.fmt(f),
            Self::SeveralStages { workload } => {
                write!(
                    f,
                    "{workload}: has several stages, and a flow has one; put each stage into a job file of its \
                           own"
                )
            }
            Self::TooLarge(error) => error.fmt(f),
            Self::Precondition { step, fault: Fault { message, remedy, .. } } => {
                write!(f, "--precondition {step}: {message}; {remedy}")
            }
            Self::Age { fault: Fault { path, message, remedy } } => write!(f, "--{path}: {message}; {remedy}"),
            Self::WornOut(error) => error.fmt(f),
            Self::Load(error) => error.fmt(f),
            Self::Save(error) => error.fmt(f),
            Self::Life(error) => error.fmt(f),
            Self::Layer { layer, cannot } => {
                write!(
                    f,
                    "{layer}: drives with such a layer above them cannot {cannot}; use a device without [{layer}]"
                )
            }
            Self::Run { error, .. } => error.fmt(f),
            Self::Books { error, .. } => error.fmt(f),
        }
    }
}

impl std::error::Error for SessionError {}
