//! Test doubles and checkers that more than one crate needs.

mod fixed;
mod list;

pub use fixed::{Bug, FixedDrive};
pub use list::List;
