//! Drives side by side: their tables and their page.

mod explained;
mod flows;
mod lead;
mod page;
mod rows;
mod table;

pub use page::page;
pub(crate) use page::{BAND, spread};
pub use rows::{fields, rows};
pub use table::table;
