//! The ground floor of Flashloom: units, the event engine, NAND flash and the backend that
//! times it.
//!
//! Nothing here reads a clock, a file, the environment or a thread: time is handed in, and every
//! random number comes from a named stream of the run's seed.

pub mod backend;
pub mod engine;
pub mod fault;
pub mod io;
pub mod nand;
pub mod suggest;
pub mod units;
