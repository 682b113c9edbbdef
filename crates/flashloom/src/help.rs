//! Examples of each command, for its help and its manual page; `tests/help.rs` runs them.

use clap::Command;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Example {
    /// The command without `flashloom`, e.g. `trace info`.
    pub(crate) of: &'static str,
    /// The whole command line.
    pub(crate) line: &'static str,
    /// The effect of the command line, in words.
    pub(crate) does: &'static str,
}

const fn example(of: &'static str, line: &'static str, does: &'static str) -> Example {
    Example { of, line, does }
}

/// Every example. `mine.csv` and `msr.csv` are a user's traces, `ssd.xml` and `flows.xml` are MQSim's, `KEY.json` is a key,
/// `torture.toml` a torture, and `drive.ctl` the socket of a served drive. No other file has to be there before.
pub(crate) const EXAMPLES: [Example; 59] = [
    example("run", "flashloom run demo oltp --limit 2000", "Run a described workload on a drive"),
    example(
        "run",
        "flashloom run demo oltp --limit 2000 --set flash.channels=4 --csv > run.csv",
        "Change a key of the drive, and keep the numbers for a spreadsheet",
    ),
    example(
        "run",
        "flashloom run demo oltp --limit 2000 --report page.html --verbose",
        "Draw the results on a page, and say what is done",
    ),
    example(
        "run",
        "flashloom run demo oltp --limit 2000 --seeds 3",
        "Give every mean its 95 % interval, over three seeds",
    ),
    example("explain", "flashloom explain demo oltp --limit 2000", "Show where the time of the requests went"),
    example("explain", "flashloom explain demo oltp --limit 2000 --request 100", "Show the life of one request"),
    example(
        "explain",
        "flashloom explain demo oltp --limit 2000 --precondition fill --what-if",
        "Try the settings that act on the largest parts of the time",
    ),
    example("study", "flashloom study sung/merges", "Run a study that comes with Flashloom"),
    example("study", "flashloom study sung/merges --csv > points.csv", "Keep every run for a spreadsheet"),
    example(
        "study",
        "flashloom study sung/merges --junit claims.xml --quiet",
        "Judge the claims in a pipeline of continuous integration",
    ),
    example(
        "study",
        "flashloom study sung/merges --shard 3/16 --store s",
        "Run the third of sixteen shards, as one of sixteen machines",
    ),
    example(
        "study",
        "flashloom study sung/merges --keys keys --csv > keys.csv",
        "Write a key for each run, for a scheduler of your own",
    ),
    example(
        "study",
        "flashloom study sung/merges --on local --jobs 2",
        "Run the points on Dask workers here, or on those of a scheduler's address",
    ),
    example("reproduce", "flashloom reproduce sung", "Print the claims of a paper beside the measurements"),
    example(
        "compare",
        "flashloom compare oltp demo qlc --limit 1000 --precondition none",
        "Compare two new drives under one workload",
    ),
    example(
        "compare",
        "flashloom compare oltp demo qlc --limit 1000 --precondition none --csv",
        "Print the comparison for a spreadsheet",
    ),
    example("serve", "flashloom serve demo", "Serve a drive, until Ctrl-C, and print where"),
    example(
        "serve",
        "flashloom serve demo --run 'test -S \"$unixsocket\" && echo \"$uri\"'",
        "Serve a drive while a command runs, here one that shows what it is given",
    ),
    example(
        "serve",
        "flashloom serve --export a=demo --export b=demo --run 'echo $uri'",
        "Serve two drives, each under its name",
    ),
    example(
        "serve",
        "flashloom serve demo --state disk --run 'echo $uri'",
        "Keep the flash in a directory, and find it there the next time",
    ),
    example(
        "serve",
        "flashloom serve demo --metrics 127.0.0.1:0 --run 'echo $uri'",
        "Serve metrics for Prometheus on a free port",
    ),
    example(
        "serve",
        "flashloom serve demo --web 127.0.0.1:0 --run 'echo $uri'",
        "Show the drive live on a web page while a command runs",
    ),
    example(
        "serve",
        "flashloom serve demo --verify --run 'echo $uri'",
        "Compare every read with what clients wrote, across power cuts too",
    ),
    example(
        "store list",
        "flashloom study sung/merges --store s && flashloom store list --store s",
        "Keep the results of a study in a folder, and list them",
    ),
    example(
        "store show",
        "flashloom study sung/merges --store s && flashloom store show last --store s",
        "Show the result that was written last",
    ),
    example(
        "store merge",
        "flashloom study sung/merges --store a && flashloom store merge a --store b",
        "Take over the results of another store",
    ),
    example(
        "store gc",
        "flashloom study sung/merges --store s && flashloom store gc --store s",
        "Remove what programs that were killed have left half-written",
    ),
    example("point", "flashloom point KEY.json > result.json", "Do the run of a key"),
    example("point", "flashloom point KEY.json --store s > result.json", "The same, and keep its result"),
    example("torture", "flashloom torture torture.toml", "Cut the power at every promise and at random moments"),
    example(
        "torture",
        "flashloom torture torture.toml --journal run.journal --loss loss.toml",
        "Keep the run, and the first loss if there is one",
    ),
    example("convert-mqsim", "flashloom convert-mqsim ssd.xml > drive.toml", "Convert a configuration of MQSim"),
    example(
        "convert-mqsim",
        "flashloom convert-mqsim ssd.xml flows.xml --out mq",
        "Convert its workloads, too, and print the commands that run them",
    ),
    example("ctl status", "flashloom ctl drive.ctl status", "Show what a served drive has done"),
    example("ctl status", "flashloom ctl drive.ctl status --json", "The same for a program"),
    example("ctl power-cut", "flashloom ctl drive.ctl power-cut", "Cut its power"),
    example(
        "ctl power-on",
        "flashloom ctl drive.ctl power-cut && flashloom ctl drive.ctl power-on",
        "Cut its power, and let it recover",
    ),
    example("ctl power-off", "flashloom ctl drive.ctl power-off", "Switch it off in order"),
    example("ctl set-pace", "flashloom ctl drive.ctl set-pace 0.1", "Slow it down to a tenth"),
    example("ctl fault", "flashloom ctl drive.ctl fault program --after 100", "Let the 101st program from now on fail"),
    example("ctl fail-die", "flashloom ctl drive.ctl fail-die 3", "Let die 3 fail; parity rebuilds its data"),
    example("ctl fail-drive", "flashloom ctl raid.ctl fail-drive 1", "Let drive 1 of a RAID fail; a spare is rebuilt"),
    example(
        "ctl host-memory",
        "flashloom ctl drive.ctl host-memory 0B",
        "Let the host take back the memory that holds a part of the map",
    ),
    example("ctl power-state", "flashloom ctl drive.ctl power-state 2", "Limit what it draws to its power state 2"),
    example("ctl snapshot", "flashloom ctl drive.ctl snapshot now.state", "Keep what its flash holds"),
    example("studies", "flashloom studies", "List the studies"),
    example("studies", "flashloom studies sung/merges > mine.toml", "Begin a study of your own"),
    example("check", "flashloom check demo", "Summarise a drive"),
    example(
        "check",
        "flashloom devices demo | flashloom check - --json",
        "Check a device file that another program writes",
    ),
    example(
        "trace info",
        "flashloom trace info mine.csv --columns time=1:us,op=2,offset=3:B,size=4:B",
        "Summarise a CSV of any columns",
    ),
    example(
        "trace convert",
        "flashloom trace convert msr.csv msr.parquet",
        "Convert a trace to Parquet, which is read fastest",
    ),
    example("trace formats", "flashloom trace formats", "List the formats that are read"),
    example("workloads", "flashloom workloads oltp > mine.toml", "Begin a workload of your own"),
    example("devices", "flashloom devices", "List the devices and the parts"),
    example("devices", "flashloom devices demo > mine.toml", "Begin a device of your own"),
    example("schema", "flashloom schema device > device.json", "Let an editor complete and check device files"),
    example("schema", "flashloom schema results", "List every file and column that Flashloom writes"),
    example("completions", "flashloom completions bash > flashloom.bash", "Write the completions for bash"),
    example("man", "flashloom man pages", "Write the manual pages into the directory `pages`"),
];

pub(crate) fn with_examples(command: Command) -> Command {
    under(command, "")
}

fn under(command: Command, way: &str) -> Command {
    command.mut_subcommands(|inner| {
        let way = format!("{way} {}", inner.get_name()).trim_start().to_owned();
        let lines: String = EXAMPLES
            .iter()
            .filter(|example| example.of == way)
            .map(|Example { line, does, .. }| format!("  # {does}\n  {line}\n"))
            .collect();
        let inner = under(inner, &way);
        if lines.is_empty() {
            return inner;
        }
        inner.after_help(format!("Examples:\n{lines}\nExit codes: see `flashloom --help`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;

    #[test]
    fn every_command_has_an_example_and_every_example_a_command() {
        fn leaves(command: &Command, way: &str, all: &mut Vec<String>) {
            for inner in command.get_subcommands() {
                let way = format!("{way} {}", inner.get_name()).trim_start().to_owned();
                if inner.has_subcommands() {
                    leaves(inner, &way, all);
                } else {
                    all.push(way);
                }
            }
        }
        let mut all = Vec::new();
        leaves(&Cli::plain(), "", &mut all);
        for example in EXAMPLES {
            assert!(all.iter().any(|way| way == example.of), "{example:?}");
            // An argument may stand between: `flashloom ctl SOCKET status`.
            let mut words = example.line.split_whitespace();
            let mut called = ["flashloom"].into_iter().chain(example.of.split(' '));
            assert!(called.all(|name| words.any(|word| word == name)), "{example:?}");
            // A wrapped line cannot be copied.
            assert!(example.line.len() <= 76 && example.does.len() <= 76, "{example:?}");
        }
        for way in all {
            assert!(EXAMPLES.iter().any(|example| example.of == way), "`flashloom {way}` has no example");
        }
    }
}
