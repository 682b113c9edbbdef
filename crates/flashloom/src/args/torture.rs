//! The arguments of `torture`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::ReplaceArgs;
use crate::options::{jobs, whole};

/// The arguments of `torture`.
#[derive(Args, Clone, Debug)]
pub(crate) struct TortureArgs {
    /// The file of the torture
    #[arg(value_name = "TORTURE.toml", required_unless_present = "replay")]
    pub(crate) torture: Option<PathBuf>,

    /// Keep the recorded run in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    /// Write the first loss into this file, for --replay
    #[arg(long, value_name = "LOSS.toml")]
    pub(crate) loss: Option<PathBuf>,

    /// The most moments to cut at, drawn from the moments of the file
    #[arg(long, value_name = "N", value_parser = whole(1, u32::MAX))]
    pub(crate) points: Option<u32>,

    /// Cut at this many moments at once; by default one per core. The results do not depend on it
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// Rebuild the drive of a loss, and leave its image and the lines of the workload in the directory of --into
    #[arg(
        long,
        value_name = "LOSS.toml",
        requires = "into",
        conflicts_with_all = ["torture", "journal", "loss", "points", "jobs"]
    )]
    pub(crate) replay: Option<PathBuf>,

    /// The directory, which is created, for the files that --replay rebuilds
    #[arg(long, value_name = "DIR", requires = "replay")]
    pub(crate) into: Option<PathBuf>,

    /// Print JSON instead of a table; `flashloom schema` describes the keys
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,

    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}
