//! Studies: their tables, their page and their folder.

mod folder;
mod page;
mod tables;

pub use folder::{names, write_all};
pub use page::page;
pub use tables::{claims_table, points_table};
