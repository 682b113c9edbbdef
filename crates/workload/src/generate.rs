//! Synthetic workloads: described in TOML, generated from a seed.
//!
//! [`GeneratorSpec`] describes a workload; [`Generator`] yields its requests for a device of a given capacity. A
//! workload interleaves one or more streams by their shares. A stream has kinds of requests, a histogram of sizes for
//! each kind, an address pattern in a region, and flushes. Each purpose draws from its own named random stream of the
//! seed, so that sizes stay the same when addresses change. All transcendental functions come from `libm`, so that
//! requests are the same on every machine.
//!
//! ```
//! use base::units::Sectors;
//! use workload::Source;
//! use workload::generate::{Generator, GeneratorSpec};
//!
//! let spec = GeneratorSpec::from_toml(r#"
//!     name = "mixed"
//!     requests = 1000
//!     arrivals = { kind = "poisson", rate = "20k/s" }
//!
//!     [[stream]]
//!     reads = "70%"
//!     sizes = [{ size = "4KiB", share = "80%" }, { size = "8KiB..64KiB", share = "20%" }]
//!     address = { pattern = "zipf", theta = 0.99 }
//!     flush = { every = 8 }
//! "#).unwrap();
//! let capacity = Sectors::new(1 << 21);
//! let mut generator = Generator::new(&spec, capacity, 42).unwrap();
//! while let Some(arrival) = generator.next().unwrap() {
//!     assert!(arrival.io.end().get() <= capacity.get());
//! }
//! ```

mod address;
mod arrivals;
mod builtin;
mod generator;
mod permute;
mod placement;
mod quantity;
mod resolve;
mod sizes;
mod spec;
mod stream;
mod stride;
#[cfg(test)]
mod tests;
mod zipf;

pub use builtin::builtin;
pub use generator::Generator;
pub use placement::PlacementIds;
pub use quantity::{Amount, ParseQuantityError, RequestRate, SizeRange};
pub use spec::{
    AddressSpec, ArrivalSpec, FlushSpec, GeneratorSpec, RegionSpec, SequentialSpec, SizeSpec, StreamSpec, StrideOrder,
    ThinkSpec, ZoneSpec,
};
