//! The foundation of Flashloom: typed units of measure, the event engine, host commands, and faults of a description.
//!
//! No code here reads a clock, a file, the environment or a thread. The caller passes the time, and every random number
//! comes from a named stream of the run's seed.

pub mod engine;
pub mod fault;
pub mod io;
pub mod memory;
pub mod nonmax;
pub mod prefetch;
pub mod steps;
pub mod suggest;
pub mod units;
