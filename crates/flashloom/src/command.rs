//! The `flashloom` command: it reads files, runs the simulations they describe and prints the results.
//!
//! Results go to the standard output, everything else to the standard error. Exit codes:
//!
//! * 0: success
//! * 1: claims of a study do not hold, for no reason that the study gives; a torture found a loss; requests failed
//! * 2: the input is at fault
//! * 101: Flashloom is at fault
//! * 130: the command was interrupted

use std::ffi::OsString;
use std::io;

use crate::args::{Cli, Command, Form};
use crate::on::Cluster;
use crate::{
    check, compare, completions, ctl, exit, explain, lists, manual, mqsim, run, serve, store, studies, torture, trace,
};

/// Runs the command line with these arguments, the first of which is the name of the program. The function installs the signal and
/// panic handlers of the whole process. Returns the exit code.
#[must_use]
pub fn command(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    command_with(arguments, None)
}

/// Runs the command line as [`command`] does; `study --on` uses `workers` for the runs of studies.
#[must_use]
pub fn command_with(arguments: impl IntoIterator<Item = OsString>, workers: Option<&dyn Cluster>) -> u8 {
    exit::sweep_on_panic();
    exit::sweep_on_interrupt();
    exit::survive_file_size_limit();
    let arguments = match Cli::read(arguments) {
        Ok(arguments) => arguments,
        Err(answer) => return exit::no_command(&answer),
    };
    let outcome = match arguments.command {
        Command::Completions { shell } => exit::print(&mut io::stdout(), &completions::script(shell)),
        Command::Run(args) => run::run(&args, &mut io::stdout()),
        Command::Explain { request, what_if, jobs, run } => {
            explain::explain(&run, request, what_if.then_some(jobs), &mut io::stdout())
        }
        Command::Study { studies, workload, reading, claims, cluster, study } => {
            let from = (workload.as_deref(), &reading);
            studies::study(&studies, from, &cluster, (&study, &claims), workers, &mut io::stdout())
        }
        Command::Reproduce { paper, long, claims, study } => {
            studies::reproduce(&paper, long, (&study, &claims), &mut io::stdout())
        }
        Command::Compare(args) => compare::compare(&args, &mut io::stdout()),
        Command::Serve(args) => serve::serve(&args, &mut io::stdout()),
        Command::Store(command) => store::store(&command, &mut io::stdout()),
        Command::Point { key, store } => store::point(&key, store.as_deref(), &mut io::stdout()),
        Command::Ctl(args) => ctl::ctl(&args, &mut io::stdout()),
        Command::Studies { name, csv } => lists::studies(name.as_deref(), csv, &mut io::stdout()),
        Command::ConvertMqsim(args) => mqsim::convert(&args, &mut io::stdout()),
        Command::Torture(args) => torture::torture(&args, &mut io::stdout()),
        Command::Trace(command) => trace::trace(&command, &mut io::stdout()),
        Command::Workloads { name, csv } => lists::workloads(name.as_deref(), csv, &mut io::stdout()),
        Command::Check { devices, set, json, csv } => {
            check::check(&devices, &set, Form::of(json, csv), &mut io::stdout())
        }
        Command::Devices { name, csv } => lists::devices(name.as_deref(), csv, &mut io::stdout()),
        Command::Man { dir, replace } => manual::man(&dir, replace.force),
        Command::Schema { of } => lists::schema(of, &mut io::stdout()),
    };
    exit::code(outcome)
}
