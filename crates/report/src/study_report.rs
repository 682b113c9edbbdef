//! Studies: their tables, their page and their folder.

mod charts;
mod folder;
mod lead;
mod page;
mod tables;

#[cfg(test)]
pub(crate) use folder::write_points;
pub(crate) use folder::{ALWAYS, column_name};
pub use folder::{names, write_all};
pub use page::{Charts, page};
pub use tables::{claims_table, points_table};
