//! The argument of `schema`.

/// The kinds of JSON schemas.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Schema {
    /// A device
    Device,
    /// A generated workload
    Workload,
    /// A workload listed request by request
    Script,
    /// A workload that fills zones
    ZoneWrites,
    /// A study
    Study,
    /// A torture
    Torture,
    /// The reproduction of a loss: what `torture --loss` writes, and `torture --replay` reads
    Loss,
    /// What `run --json` prints, and summary.json
    Result,
    /// What `run --seeds N --json` prints
    SeedsResult,
    /// What `study --json` and `reproduce --json` print, and study.json
    StudyResult,
    /// What `compare --json` prints
    CompareResult,
    /// What `explain --json` prints
    ExplainResult,
    /// What `check --json` prints
    CheckResult,
    /// What `trace info --json` prints
    TraceInfoResult,
    /// What `store list --json` prints
    StoreResult,
    /// What `ctl status --json` prints
    StatusResult,
    /// What `study --shard --json` prints
    ShardResult,
    /// What `study --keys --json` prints, and keys.json
    KeysResult,
    /// What `torture --json` prints
    TortureResult,
    /// What `serve --json` prints
    ServeResult,
    /// The key of a run: what `store show --key` prints, and `point` reads
    Key,
    /// All files that Flashloom writes: the name, type, unit and meaning of each column
    Results,
}
