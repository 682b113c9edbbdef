//! Results of runs and studies, for people and for programs: tables, Parquet, timelines and HTML pages.
//!
//! The crate reads results and runs nothing. [`run`], [`compare`] and [`study_report`] each make the tables, the page
//! and the files of one kind of result. They use [`figure`], [`page`] and the private modules beside them.

pub mod catalogue;
mod cautions;
pub mod cluster;
mod columns;
pub mod compare;
mod cumulated;
mod escape;
mod explained;
pub mod figure;
mod grid;
mod lanes;
pub mod page;
mod perfetto;
mod quantity;
mod requests;
mod retries;
pub mod run;
mod sentence;
mod sides;
pub mod store;
pub mod study_report;
mod suspensions;
pub mod table;
pub mod tables;
mod what_if;
mod words;

#[cfg(test)]
mod testing;

pub use explained::{cautions_text, explained_rows, explained_table, request_rows, request_table};
pub use perfetto::write_timeline;
pub use requests::RequestFile;
pub use retries::retries_text;
pub use suspensions::suspensions_text;
pub use what_if::{levers_text, trial_rows};
