//! Drives side by side: their tables and their page.

mod explained;
mod flows;
mod page;
mod table;

pub use page::page;
pub use table::table;
