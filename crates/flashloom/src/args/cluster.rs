//! The arguments of studies that several machines run.

use std::path::PathBuf;

use clap::Args;
use study::execute::Shard;

use crate::on::Address;

/// The part of a study that this machine runs.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "On several machines")]
pub(crate) struct ClusterArgs {
    /// Run only this shard of the studies, e.g. 3/16, into the store. Each run is in one shard; the division balances
    /// the requests. A later command without this option takes the results from the store; `flashloom store merge`
    /// joins the stores of shards
    #[arg(long, value_name = "N/OF", conflicts_with_all = ["keys", "junit", "out", "report", "no_store"])]
    pub(crate) shard: Option<Shard>,

    /// Run nothing, and write the key of each run into this directory, for `flashloom point`: DIGEST.json, and keys.json
    /// with the memory and the predicted time of each, longest first
    #[arg(long, value_name = "DIR", conflicts_with_all = ["junit", "out", "report"])]
    pub(crate) keys: Option<PathBuf>,

    /// Run the points on a Dask cluster: the address of its scheduler, e.g. tcp://scheduler:8786, or local for --jobs
    /// workers on this machine. Outputs are equal to those of a run without --on. --store takes URLs, too, e.g.
    /// s3://bucket/results. Needs the Python package: `pip install 'flashloom[cluster]'`
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["shard", "keys"])]
    pub(crate) on: Option<Address>,
}
