//! The arguments of the store of results.

use std::path::PathBuf;
use std::time::Duration;

use base::units::Bytes;
use clap::{Args, Subcommand};
use study::store::DEFAULT_LIMIT;

use crate::options::age;

/// Where the results of runs are kept.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Store of results")]
pub(crate) struct StoreArgs {
    /// Keep each result in this folder as soon as its run ends, and do no run whose result the folder has. The default
    /// is the folder that the variable FLASHLOOM_STORE names, or `flashloom` in your folder for caches
    #[arg(long, value_name = "DIR", conflicts_with = "no_store")]
    pub(crate) store: Option<PathBuf>,

    /// Do all runs, and keep no result
    #[arg(long)]
    pub(crate) no_store: bool,

    /// The room in the store for preconditioned drives that several runs share; the most recently used drives stay
    #[arg(long, value_name = "SIZE", default_value_t = DEFAULT_LIMIT)]
    pub(crate) states: Bytes,
}

impl StoreArgs {
    /// The store, if it is the URL of a file system of fsspec.
    pub(crate) fn url(&self) -> Option<&str> {
        self.store.as_deref()?.to_str().filter(|text| text.contains("://"))
    }

    /// An option of the store that the user gave, if any.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let all = [
            ("--store", self.store.is_some()),
            ("--no-store", self.no_store),
            ("--states", self.states != DEFAULT_LIMIT),
        ];
        all.into_iter().find_map(|(option, given)| given.then_some(option))
    }
}

impl Default for StoreArgs {
    fn default() -> Self {
        Self { store: None, no_store: false, states: DEFAULT_LIMIT }
    }
}

/// The commands of `flashloom store`.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// List the studies and the results in a store
    List {
        /// The folder of the store, instead of the default
        #[arg(long, value_name = "DIR")]
        store: Option<PathBuf>,
        /// Print JSON instead of tables; `flashloom schema` describes the keys
        #[arg(long)]
        json: bool,
    },
    /// Show a result and the inputs of its run
    Show {
        /// The digest, its first digits, or `last` for the result written last
        digest: String,
        /// The folder of the store, instead of the default
        #[arg(long, value_name = "DIR")]
        store: Option<PathBuf>,
        /// Print only the key, from which `flashloom point` does the run again
        #[arg(long)]
        key: bool,
        /// Print JSON with the key and the result, instead of a table
        #[arg(long, conflicts_with = "key")]
        json: bool,
    },
    /// Take over the results of other stores, e.g. of the shards of a study
    Merge(MergeArgs),
    /// Remove half-written files of programs that were killed, and the results that the options name
    Gc(GcArgs),
}

/// The stores to merge, and the store that takes their results.
#[derive(Args, Clone, Debug)]
pub(crate) struct MergeArgs {
    /// The folders of the stores to take the results from; these stores do not change
    #[arg(required = true, value_name = "FROM")]
    pub(crate) from: Vec<PathBuf>,

    /// The folder of the store that takes the results, instead of the default
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,

    /// Print JSON instead of a sentence
    #[arg(long)]
    pub(crate) json: bool,
}

/// The results and states to remove from a store.
#[derive(Args, Clone, Debug)]
pub(crate) struct GcArgs {
    /// The folder of the store, instead of the default
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,

    /// Remove results that this Flashloom does not use: of other versions of the model, and damaged files
    #[arg(long)]
    pub(crate) unusable: bool,

    /// Remove results that were written, and preconditioned drives that were used, longer ago than this, e.g. 30d
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) older_than: Option<Duration>,

    /// Remove the oldest results until the others take no more room than this, e.g. 10GiB
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,

    /// The room for preconditioned drives; the least recently used drives are removed
    #[arg(long, value_name = "SIZE", default_value_t = DEFAULT_LIMIT)]
    pub(crate) states: Bytes,

    /// Print JSON instead of a sentence
    #[arg(long)]
    pub(crate) json: bool,
}
