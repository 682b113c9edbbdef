//! Mechanisms that several families share.

mod die_lists;
mod every;
mod free_list;
mod gates;
mod holes;
mod map;
mod minima;
mod program;
mod reads;
pub(crate) mod recovery;
mod single_pages;
mod versions;
mod walk;
mod wear;

pub(crate) use crate::map_unit::ENTRY;
pub(crate) use die_lists::DieLists;
pub(crate) use every::PeriodicTrigger;
pub(crate) use free_list::FreeList;
pub(crate) use gates::Gates;
pub(crate) use holes::Holes;
pub(crate) use map::Map;
pub(crate) use minima::Minima;
pub(crate) use program::{ProgramSlot, add_copy, add_read, give_unit, move_parts, push_unit, read_rest};
pub(crate) use reads::{Reads, scan_time};
pub(crate) use single_pages::single_page_faults;
pub(crate) use versions::Versions;
pub(crate) use walk::{Commands, Slots};
pub use wear::WearSpec;
