//! Tests of served drives from outside. They are one program, because linking each by itself would take longer.

mod client;
mod connections;
mod fixture;
mod hostile;
mod limits;
mod memory;
mod programs;
