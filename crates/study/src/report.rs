//! What came of a run, for people and for programs: a table, JSON, Parquet and a page to look at.

mod columns;
mod explained;
mod figure;
mod figures;
mod hybrid;
mod log;
mod map;
mod out;
mod page;
mod requests;
mod rerun;
mod run_page;
mod summary;
mod table;

pub(crate) use columns::{Column, whole};
pub use columns::{write_erases, write_histograms, write_series};
pub(crate) use explained::{parts_of_time, stack_of_parts};
pub use figure::{
    Axis, COLOURS, Chart, Course, Figure, HeatRow, Lane, LaneSlice, Line, Names, Number, Part, Scale, Stack,
};
pub use hybrid::HybridSummary;
pub use log::LogSummary;
pub use map::{MapSummary, Mshrs};
pub use out::{fill, names};
pub use page::{Block, Cell, Page, Row, Section, Table, Tile};
pub use requests::RequestFile;
pub use run_page::page;
pub use summary::{
    Delayed, Energies, Erases, FlashRow, FlowSummary, KindSummary, Latencies, MergeSummary, Summary, Utilisation,
};
pub use table::table;
pub(crate) use table::{WIDTH, count, duration, grid, memory, percent, rate, wrapped};

use base::units::Energy;

use crate::oracle::Verified;
use crate::run::RunResult;
use crate::watch::explain::Explained;
use crate::watch::timeline::Timeline;

/// Where a result comes from; every result file says so.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// Version of the program.
    pub version: String,
    /// Commit of the program.
    pub commit: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// Name of the device.
    pub device: String,
    /// Name of the workload.
    pub workload: String,
    /// What the flash of the device costs, if that is known.
    pub cost: Option<ssd::Cost>,
    /// The resolved configuration: a table for the device, one for the workload and one for the run.
    pub config: toml::Table,
}

/// Everything that is reported of a run.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// Where it comes from.
    pub about: &'a About,
    /// What came of it.
    pub result: &'a RunResult,
    /// What happened in a window of the run, if that was watched.
    pub timeline: Option<&'a Timeline>,
    /// Where the time of the requests went, if that was watched.
    pub explained: &'a [Explained],
    /// Erase count of every block at the end; empty if the device has none.
    pub erase_counts: &'a [u32],
    /// Energy spent during the run, by name; empty if it is not known.
    pub energy: &'a [(String, Energy)],
    /// What the oracle compared, if it was asked to.
    pub verified: Option<Verified>,
    /// What a reader should know besides, one sentence each.
    pub notes: &'a [String],
}
