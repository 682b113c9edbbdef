//! Tests of served drives from outside. They are one program, because linking each by itself would take longer.
#![allow(clippy::disallowed_methods)] // Limits of time are what some of them test, and a hang has to end.

mod certificates;
mod client;
mod connections;
mod fixture;
mod hostile;
mod limits;
mod memory;
mod programs;
mod sparse;
mod subsystem;
mod tls;
