//! The suites over all crates: one program of all tests, because each would be linked anew.

mod allocations;
mod circles;
mod conformance;
mod keys;
mod memory;
mod newcomers;
mod priority;
mod sabotage;
mod second_model;
mod swarm;
mod tidy;
mod words;
mod write_amplification;
