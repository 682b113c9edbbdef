//! The `flashloom` command: it reads files, runs what they describe and says what came of it.
//!
//! Results go to the standard output, everything else to the standard error. Exit codes: 0, it is
//! done; 2, the input is at fault; 101, Flashloom is.

mod args;
mod exit;
mod options;
mod progress;
mod run;

use std::io;

use clap::{CommandFactory, Parser};

use args::{Cli, Command};

fn main() -> std::process::ExitCode {
    exit::sweep_on_panic();
    let outcome = match Cli::parse().command {
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "flashloom", &mut io::stdout());
            Ok(())
        }
    };
    exit::code(outcome)
}
