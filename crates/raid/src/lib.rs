//! Several simulated drives as one: stripes, mirrors, and parity that is updated, used and rebuilt.
//!
//! A [`Raid`] is a [`ssd::Drive`] over drives. Like `md` of Linux, it is the software RAID of a host: it cuts each
//! request into requests to drives, updates parity, reads around missing data, and rebuilds a spare at a limited rate.
//! Its drives share nothing except the simulated clock.

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
