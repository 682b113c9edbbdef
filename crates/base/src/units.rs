//! Units of measure as types: time, sizes, rates, electrical quantities and identifiers.
//!
//! No bare integer crosses a public boundary. In files, every quantity is a string with its unit (`"25us"`, `"4KiB"`,
//! `"667MB/s"`, `"7%"`); decimal prefixes are powers of 1000, `Ki`/`Mi`/`Gi` are powers of 1024.

mod divide;
mod electric;
mod id;
mod parse;
mod ratio;
mod size;
mod storage;
mod time;

pub use divide::Divisor;
pub use electric::{Current, Energy, Power, ThermalResistance, Voltage};
pub use id::{BlockId, ChannelId, DieId, Lba, Lpn, Ppn, Psn, SuperblockId};
pub use parse::{Exact, ParseUnitError};
pub use ratio::Ratio;
pub use size::{Bytes, Frequency, LaneRate, Rate, SECTOR, Sectors};
pub use storage::{Age, Temperature};
pub use time::{Span, Time};
