//! The arguments of `flashloom compare`.

use std::path::PathBuf;

use clap::Args;

use super::{FitArgs, IssueArgs, MeasureArgs, PartArgs, ReadingArgs, StudyArgs};
use crate::failures::FailuresArgs;
use crate::options::{seeds, whole};

/// The arguments of `compare`. Drives of several sizes play one trace, so its addresses wrap.
#[derive(Args, Clone, Debug)]
#[command(mut_arg("extent", |arg| arg.default_value("wrap")), mut_arg("volumes", |arg| arg.default_value("overlay")))]
pub(crate) struct CompareArgs {
    /// A trace, a generator, a fio job, or a workload that comes with Flashloom
    pub(crate) workload: PathBuf,

    /// Device files, or names of devices that come with Flashloom; by default the drives of the papers, scaled to one
    /// array of chips, one capacity and one link
    #[arg(value_name = "DEVICE")]
    pub(crate) devices: Vec<PathBuf>,

    /// Compare the drives of the papers as published, not scaled
    #[arg(long, conflicts_with = "devices")]
    pub(crate) as_published: bool,

    /// Bring each drive into a state first, as in `flashloom run`; `none` for new drives, by default `fill`
    #[arg(long, value_name = "STEP", value_delimiter = ',')]
    pub(crate) precondition: Option<Vec<String>>,

    #[command(flatten)]
    pub(crate) issue: IssueArgs,

    #[command(flatten)]
    pub(crate) measured: MeasureArgs,

    #[command(flatten)]
    pub(crate) part: PartArgs,

    #[command(flatten)]
    pub(crate) fit: FitArgs,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    /// Show where the time of the requests went: the mean of all requests, and the mean of the slowest 1 %; a report
    /// always shows both
    #[arg(long)]
    pub(crate) explain: bool,

    /// The first seed
    #[arg(long, default_value_t = 0, value_parser = whole(0, u64::MAX))]
    pub(crate) seed: u64,

    /// Run each drive with this many seeds, from --seed on; a result is the mean over them with its 95 % interval
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seeds)]
    pub(crate) seeds: u32,

    #[command(flatten)]
    pub(crate) failures: FailuresArgs,

    #[command(flatten)]
    pub(crate) study: StudyArgs,
}
