//! A run: its table, its page and its folder.

mod fairness;
mod figures;
mod folder;
mod lead;
mod over_time;
mod page;
mod rerun;
mod rounds;
mod rows;
mod seeds;
mod table;

pub use folder::{fill, names};
pub use page::page;
pub use rows::rows;
pub use seeds::{seeds_rows, seeds_table};
pub use table::table;
