//! Tests of whole drives, by family and by subject: one program, because each would link all crates again.

mod absorption;
mod checkpoints;
mod copies;
mod device;
mod dies;
mod host_memory;
mod hydra;
mod map_unit;
mod merges;
mod paired;
mod power;
mod queues;
mod quiet;
mod reclaim_units;
mod refusals;
mod runs;
mod slc_mlc;
mod steady_model;
mod times;
mod trims;
mod twins;
mod unmapped;
mod versions;
mod word_lines;
mod worn;
