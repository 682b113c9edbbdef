//! What several families do alike.

mod entry;
mod minima;
mod wear;

pub(crate) use entry::ENTRY;
pub(crate) use minima::Minima;
pub use wear::WearSpec;
