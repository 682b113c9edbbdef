//! What several families do alike.

mod die_lists;
mod entry;
mod every;
mod free_list;
mod gates;
mod holes;
mod minima;
mod versions;
mod wear;

pub(crate) use die_lists::DieLists;
pub(crate) use entry::ENTRY;
pub(crate) use every::Every;
pub(crate) use free_list::FreeList;
pub(crate) use gates::Gates;
pub(crate) use holes::Holes;
pub(crate) use minima::Minima;
pub(crate) use versions::Versions;
pub use wear::WearSpec;
