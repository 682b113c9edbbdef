//! Tests of the command from outside. They are one program, because linking each by itself would take longer.

mod bad_input;
mod bad_table;
mod common;
mod examples;
mod limits;
mod outputs;
mod page;
mod readme;
mod renamed;
mod rerun;
mod run;
mod schema;
mod streams;
mod studies;
mod surface;
mod traces;
mod watch;
