//! A run: its table, its page and its folder.

mod figures;
mod folder;
mod page;
mod rerun;
mod rounds;
mod seeds;
mod table;

pub use folder::{fill, names};
pub use page::page;
pub use seeds::seeds_table;
pub use table::table;
