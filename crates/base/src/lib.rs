//! The foundation of Flashloom: units as types, the event engine, host commands, and what is wrong with a description.
//!
//! Nothing here reads a clock, a file, the environment or a thread: time is handed in, and every random number comes
//! from a named stream of the run's seed.

pub mod engine;
pub mod fault;
pub mod io;
pub mod memory;
pub mod nonmax;
pub mod suggest;
pub mod units;
