//! Tests of the command from outside. They are one program, because linking each by itself would take longer.

mod bad_input;
mod bad_table;
mod common;
mod examples;
mod forms;
mod glossary;
mod guide;
mod help;
mod limits;
mod links;
mod outputs;
mod page;
mod papers;
mod pictures;
mod readme;
mod reference;
mod renamed;
mod rerun;
mod run;
mod schema;
mod shown;
mod streams;
mod studies;
mod surface;
mod traces;
mod watch;
