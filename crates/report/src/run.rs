//! A run: its table, its page and its folder.

mod by_cause;
mod fairness;
mod figures;
mod folder;
mod intervals;
mod lead;
mod life;
mod over_time;
mod page;
mod power;
mod raid;
mod rerun;
mod rounds;
mod rows;
mod seeds;
mod seeds_folder;
mod seeds_page;
mod table;
mod translation;
mod wear;
mod zones;

pub use folder::{fill, names};
pub use page::page;
pub use rows::rows;
pub(crate) use seeds::seeds_fields;
pub use seeds::{seeds_rows, seeds_table};
pub use seeds_folder::{seeds_fill, seeds_names};
pub use seeds_page::seeds_page;
pub use table::table;
