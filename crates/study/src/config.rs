//! Configuration files: all faults at once, each with its place and the remedy.

mod document;
mod fault;
pub(crate) mod limited;
mod place;
mod suggest;

pub use document::{Document, load};
pub use fault::{Fault, Faults};
