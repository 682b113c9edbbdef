//! A translation layer in the host, above a drive with zones: users write anywhere, and zones are written as a log.
//!
//! A [`Translation`] is a [`ssd::Drive`] over one. As `dm-zap` of Linux and the target `pblk` of LightNVM, it keeps a map in the host's
//! RAM, appends what users write to open zones, collects zones of which little is valid, and finds its map again after a power cut.
//!
//! `log` is the state that survives: which unit lies where. `streams` has the open zones, `collector` empties zones, `mount` reads the
//! map after a power cut, `used` lays out a used state without simulating how it came about, and `layer` leads requests through all of
//! them.

mod collector;
mod counts;
mod layer;
mod log;
mod mount;
mod operation;
mod streams;
mod used;

pub use layer::Translation;
pub use used::UsedZones;
