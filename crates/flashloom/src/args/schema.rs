//! The argument of `schema`.

/// The kinds of JSON schemas.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Schema {
    /// Device file: the SSD, its flash, FTL and host interface
    Device,
    /// Workload file with generated requests
    Workload,
    /// Workload file that lists each request
    Script,
    /// Workload file that fills zones
    ZoneWrites,
    /// Study file: a grid of runs, with figures and claims
    Study,
    /// Torture file: a recorded run of software on a drive, with power cuts
    Torture,
    /// The reproduction of a loss: the output of `torture --loss`, and the input of `torture --replay`
    Loss,
    /// Output of `run --json`, and summary.json
    Result,
    /// Output of `run --seeds N --json`
    SeedsResult,
    /// Output of `study --json` and `reproduce --json`, and study.json
    StudyResult,
    /// Output of `compare --json`
    CompareResult,
    /// Output of `explain --json`
    ExplainResult,
    /// Output of `check --json`
    CheckResult,
    /// Output of `trace info --json`
    TraceInfoResult,
    /// Output of `store list --json`
    StoreResult,
    /// Output of `ctl status --json`
    StatusResult,
    /// Output of `study --shard --json`
    ShardResult,
    /// Output of `study --keys --json`, and keys.json
    KeysResult,
    /// Output of `torture --json`
    TortureResult,
    /// Output of `serve --json`
    ServeResult,
    /// The key of a run: the output of `store show --key`, and the input of `point`
    Key,
    /// All files that Flashloom writes: the name, type, unit and meaning of each column
    Results,
}
