//! A run: its table, its page and its folder.

mod fairness;
mod figures;
mod folder;
mod page;
mod rerun;
mod rounds;
mod table;

pub use folder::{fill, names};
pub use page::page;
pub use table::table;
