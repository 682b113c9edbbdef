//! Configuration files. The reader reports all faults at once, each with its place and remedy.

mod alternatives;
mod decode;
mod document;
#[cfg(test)]
mod every_key;
mod fault;
pub(crate) mod limited;
mod parse;
mod place;
mod renamed;
mod say;
mod schema;
mod shown;
mod texts;

pub use base::suggest::did_you_mean;

pub use document::{Document, load};
pub use fault::{ConfigFault, Faults};
pub use parse::text;
pub(crate) use renamed::renamed;
pub use renamed::{FormerName, RENAMED};
