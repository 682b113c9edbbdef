//! The suites over all crates, in one program, because linking one program for each would take longer.

mod allocations;
mod channel_order;
mod circles;
mod conformance;
mod growth;
mod imports;
mod keys;
mod map;
mod memory;
mod names;
mod newcomers;
mod priority;
mod raid;
mod sabotage;
mod second_model;
mod store_keys;
mod swarm;
mod tidy;
mod translation;
mod words;
mod write_amplification;
mod zones;
