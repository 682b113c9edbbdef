//! Studies: their tables, their page and their folder.

mod charts;
mod claims;
mod described;
mod folder;
mod junit;
mod lead;
mod metric_plot;
mod page;
mod points;
mod series;
mod tables;

pub use claims::claims;
pub use folder::{names, write_all};
pub use junit::{UnsoundPoints, junit};
pub use page::{Charts, page};
pub(crate) use points::fields;
pub use points::points;
pub use series::series;
pub(crate) use series::{series_fields, series_of};
pub use tables::{cautions_text, claims_table, points_table};
