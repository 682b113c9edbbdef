//! The error for a drive whose life a session cannot simulate.

use std::fmt;
use std::path::PathBuf;

/// The reason that a drive's life cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LifeError {
    /// No block of the drive ever fails.
    NoWear,
    /// The drive has an SLC array beside its main one.
    SlcArray,
    /// The workload has several stages.
    Stages,
    /// An option needs a single run.
    Option {
        /// Name of the option that needs a single run.
        name: &'static str,
        /// The reason for which the option cannot be combined with a life.
        why: &'static str,
    },
    /// The session runs on a drive of its caller.
    OwnDrive,
    /// A round ended without a write.
    NoWrites,
    /// The drive took as many writes as its versions allow, so it is read-only before it is worn.
    Versions,
    /// The life in the snapshot has another seed than the session.
    Seed {
        /// The path of the snapshot.
        path: PathBuf,
        /// The seed of the life in the snapshot.
        there: u64,
    },
    /// The drive in the snapshot is worn.
    Ended {
        /// The path of the snapshot.
        path: PathBuf,
    },
}

impl fmt::Display for LifeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWear => f.write_str(
                "until = \"worn\": no block of this drive ever fails; set flash.faults.wear-out = true, so that blocks fail at \
                 the endurance of their part, or flash.faults.erase-failures",
            ),
            Self::SlcArray => f.write_str(
                "until = \"worn\": the drive has two flash arrays, which wear out apart; use a device without [slc]",
            ),
            Self::Stages => f.write_str(
                "until = \"worn\": the workload has several stages, and a life repeats one; use a workload with one stage",
            ),
            Self::Option { name, why } => {
                write!(f, "until = \"worn\": {name} does not go together with it: {why}; leave one of them out")
            }
            Self::OwnDrive => f.write_str(
                "until = \"worn\": a life restarts its drive, and this one is the caller's; let the session make the drive",
            ),
            Self::NoWrites => f.write_str(
                "until = \"worn\": the drive took no write in a whole round, so it never wears out; use a workload that writes",
            ),
            Self::Versions => f.write_str(
                "until = \"worn\": the drive is read-only after 2^32 - 2^24 writes, the limit of the model, before its blocks have \
                 failed; use a smaller drive, or a part with less endurance",
            ),
            Self::Seed { path, there } => write!(
                f,
                "{}: is the life of a drive with seed {there}, from which the endurance of its blocks follows; use --seed {there}",
                path.display()
            ),
            Self::Ended { path } => {
                write!(f, "{}: the drive is worn already; start from an earlier snapshot", path.display())
            }
        }
    }
}

impl std::error::Error for LifeError {}
