//! Options of other programs, above all fio's, with the Flashloom options of equal effect.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

const DESCRIBED: &str = "the workload says it: in a TOML file, or in an fio job file (FILE.fio)";

/// Options by which users of other programs ask for something, and how to ask for it here.
const FOREIGN: [(&[&str], &str); 14] = [
    (&["--runtime", "--timeout", "--duration"], "to measure so much simulated time, write --measure 10s"),
    (&["--ramp_time", "--ramp-time"], "to leave the beginning unmeasured, write --warm-up 10s"),
    (&["--iodepth", "--qd", "--queue-depth"], "to keep so many requests outstanding, write --depth 32"),
    (
        &["--numjobs", "--jobs", "--threads"],
        "to run another workload at the same time, write --flow WORKLOAD; `numjobs=` is read from an fio job file",
    ),
    (
        &["--bs", "--blocksize", "--block-size"],
        "the workload says the sizes of its requests: `sizes` in a TOML file, `bs=` in an fio job file",
    ),
    (
        &["--rw", "--readwrite", "--rwmixread"],
        "the workload says what is read and written: `reads` and `address` in a TOML file, `rw=` in an fio job file; flashloom workloads lists those that come with Flashloom",
    ),
    (
        &["--size", "--offset", "--io_size"],
        "the workload says where its requests go: `region` in a TOML file, `offset=` and `size=` in an fio job file",
    ),
    (&["--number_ios", "--requests-limit", "--count"], "to stop after so many requests, write --limit 2000"),
    (
        &["--rate", "--rate_iops"],
        "the workload says its rate: `arrivals` in a TOML file, `rate_iops=` in an fio job file; --time-scale 0.5 plays a trace twice as fast",
    ),
    (&["--randseed"], "to draw other requests, write --seed 7"),
    (&["--output-format"], "to print JSON or CSV, write --json or --csv"),
    (&["--filename", "--ioengine", "--direct", "--name"], DESCRIBED),
    (&["--thinktime", "--startdelay", "--time_based", "--stonewall", "--loops"], DESCRIBED),
    (&["--bssplit", "--bsrange", "--random_distribution", "--percentage_random", "--fsync"], DESCRIBED),
];

/// An error of the command line, with a tip if it names an option of another program.
pub(super) fn explained(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return error };
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let name = option.split(['=', ' ']).next().unwrap_or_default();
    let tip = FOREIGN.iter().find(|(names, _)| names.contains(&name)).map(|(_, tip)| StyledStr::from(*tip));
    if let Some(tip) = tip {
        // An option that is merely spelt alike would mislead, and so would the usage with it.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Usage);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::args::Cli;

    use super::*;

    /// The message of `flashloom run demo oltp` with these further arguments.
    fn said(arguments: &[&str]) -> String {
        let all = ["flashloom", "run", "demo", "oltp"].iter().chain(arguments).map(Into::into);
        Cli::read(all).map(drop).expect_err("refused").to_string()
    }

    #[test]
    fn an_option_of_fio_is_answered_with_what_does_the_same() {
        for (arguments, wanted) in [
            (&["--runtime", "10s"][..], "--measure 10s"),
            (&["--runtime=10s"], "--measure 10s"),
            (&["--bs", "4k"], "`bs=` in an fio job file"),
            (&["--iodepth=4"], "--depth 32"),
            (&["--numjobs", "4"], "--flow WORKLOAD"),
            (&["--rw=randread"], "`rw=` in an fio job file"),
            (&["--direct=1"], "in an fio job file (FILE.fio)"),
        ] {
            let text = said(arguments);
            assert!(text.contains(wanted) && text.matches("tip:").count() == 1 && !text.contains("Usage"), "{text}");
        }
        assert!(said(&["--dept", "4"]).contains("'--depth'"), "a slip is answered with the option");
    }

    #[test]
    fn no_option_of_ours_is_foreign() {
        let command = Cli::plain();
        let run = command.find_subcommand("run").expect("a command");
        let ours: BTreeSet<String> =
            run.get_arguments().filter_map(|arg| arg.get_long()).map(|name| format!("--{name}")).collect();
        let both: Vec<_> = FOREIGN.iter().flat_map(|(names, _)| *names).filter(|name| ours.contains(**name)).collect();
        assert!(both.is_empty(), "{both:?}");
    }
}
