//! A translation layer in the host, above a drive with zones: users write anywhere, and zones are written as a log.
//!
//! A [`Translation`] is a [`ssd::Drive`] over a drive. Like `dm-zap` of Linux and the target `pblk` of LightNVM, it has
//! a map in the host's RAM, appends the writes of users to open zones, collects zones with few valid units, and
//! rebuilds its map after a power cut.
//!
//! `log` is the state that survives a power cut: the place of each unit. `streams` has the open zones, `collector`
//! empties zones, `mount` reads the map after a power cut, `used` lays out a used state without a simulation of its
//! writes, and `layer` takes requests through all of them.

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
