//! Several simulated drives as one: stripes, mirrors, and parity that is kept, used and rebuilt.
//!
//! A [`Raid`] is a [`ssd::Drive`] over drives. It is the software RAID of a host, as `md` of Linux is one: it cuts each request into
//! requests to drives, keeps parity, reads around what is missing, and rebuilds a spare at a limited rate. Its drives share one simulated
//! clock and nothing else.

mod assembly;
mod background;
mod code;
mod content;
mod counters;
mod field;
mod journal;
mod layout;
mod members;
mod operation;
mod plan;
mod raid;
mod writes;

pub use layout::Layout;
pub use members::Place;
pub use raid::Raid;
