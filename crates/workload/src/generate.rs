//! Workloads that are made up: described in TOML, generated from a seed.
//!
//! [`GeneratorSpec`] is the description, [`Generator`] the source of requests it becomes for a device
//! of a given capacity. A workload is one or more streams, interleaved by their shares; a stream has
//! its kinds of requests, a histogram of sizes for each kind, a pattern of addresses in a region, and
//! flushes. All randomness comes from named streams of the seed, one for each purpose, so that the
//! sizes stay the same when the addresses change; everything transcendental comes from `libm`, so
//! that they are the same on every machine.

mod address;
mod arrivals;
mod builtin;
mod generator;
mod permute;
mod quantity;
mod resolve;
mod sizes;
mod spec;
mod stream;
#[cfg(test)]
mod tests;
mod zipf;

pub use builtin::builtin;
pub use generator::Generator;
pub use quantity::{Amount, RequestRate, SizeRange};
pub use spec::{
    AddressSpec, ArrivalSpec, FlushSpec, GeneratorSpec, RegionSpec, SequentialSpec, SizeSpec, StreamSpec, ZoneSpec,
};
