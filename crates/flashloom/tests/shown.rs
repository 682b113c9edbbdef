//! Pages whose files, commands and outputs are tests: README.md and the guide.
//!
//! With `FLASHLOOM_BLESS` set, the tests rewrite the shown lines of each output: review every change.

pub(crate) mod blocks;
mod refresh;

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use blocks::{FencedBlock, ShownCommand, blocks};
use refresh::refreshed;

use crate::common::{NO_STORE, program};

/// Pages that quote files and show commands without their output; other tests compare them.
const WITH_TESTS_OF_THEIR_OWN: [&str; 2] = ["docs/src/papers", "docs/src/reference"];

/// Programs besides `flashloom` that a page may run, because readers have them.
const PROGRAMS: [&str; 8] = ["bash", "flashloom", "cargo", "cat", "grep", "gzip", "head", "printf"];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn makefile() -> String {
    fs::read_to_string(root().join("Makefile")).expect("a Makefile")
}

/// The commands of a target of the Makefile.
fn recipe(target: &str) -> Vec<String> {
    let text = makefile();
    let lines = text.lines().skip_while(|line| !line.starts_with(&format!("{target}: ")));
    lines.skip(1).take_while(|line| line.starts_with('\t')).map(ToOwned::to_owned).collect()
}

pub(crate) fn flashloom(arguments: &[&str], folder: &Path) -> Output {
    program().args(arguments).current_dir(folder).output().expect("it starts")
}

/// Links the repository's devices, workloads and studies into a folder, for the commands of a page.
pub(crate) fn furnish(folder: &Path) {
    for name in ["workloads", "devices", "studies"] {
        std::os::unix::fs::symlink(root().join(name), folder.join(name)).expect("linked");
    }
}

#[derive(Debug)]
pub(crate) struct MarkdownPage {
    /// The path of the page in the repository.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The share of a page's commands that are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// All but the commands whose comment gives minutes.
    Quick,
    All,
}

impl MarkdownPage {
    /// The page at a path in the repository.
    pub(crate) fn at(name: &str) -> Self {
        let text = fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        Self { name: name.to_owned(), text }
    }

    pub(crate) fn blocks(&self) -> Vec<FencedBlock> {
        blocks(&self.text)
    }

    pub(crate) fn commands(&self) -> Vec<ShownCommand> {
        let consoles = self.blocks().into_iter().filter_map(|block| match block {
            FencedBlock::Console(all) => Some(all),
            _ => None,
        });
        consoles.flatten().collect()
    }

    fn has_tests_of_its_own(&self) -> bool {
        WITH_TESTS_OF_THEIR_OWN.iter().any(|folder| self.name.starts_with(folder))
    }

    fn assert_target(&self, target: &str) {
        let is_there = makefile().lines().any(|line| line.starts_with(&format!("{target}: ")));
        assert!(is_there, "{} names `make {target}`, which the Makefile has not", self.name);
    }

    /// Runs a command as a reader does who has built the repository.
    fn run(&self, shown: &ShownCommand, folder: &Path) -> Output {
        if let Some(target) = shown.command.strip_prefix("make ") {
            let recipe = recipe(target);
            let run = recipe.iter().find_map(|line| line.split_once("debug/flashloom ")).expect("it runs Flashloom").1;
            fs::create_dir_all(folder.join("out")).expect("created");
            return flashloom(&run.split_whitespace().collect::<Vec<_>>(), folder);
        }
        for stage in shown.command.split('|') {
            // A variable may stand before the program.
            let program = stage.split_whitespace().find(|word| !word.contains('=')).unwrap_or_default();
            assert!(PROGRAMS.contains(&program), "{}:{}: `{program}` is none of {PROGRAMS:?}", self.name, shown.line);
        }
        // A page calls `flashloom` and `cargo` as a reader of the repository does.
        let flashloom = format!("flashloom() {{ '{}' \"$@\"; }}", env!("CARGO_BIN_EXE_flashloom"));
        let cargo = format!(
            "cargo() {{ '{}' \"$1\" --quiet --offline --locked --manifest-path '{}' -p flashloom \"${{@:2}}\"; }}",
            env!("CARGO"),
            root().join("Cargo.toml").display()
        );
        // A script of a page calls `flashloom`, too.
        let script = format!("set -o pipefail\n{flashloom}\nexport -f flashloom\n{cargo}\n{}", shown.command);
        let mut bash = Command::new("bash");
        // Cargo sets these variables for a test. With them, build scripts of external crates run again, and all crates that depend
        // on these are compiled again, here and once more after the tests.
        for (name, _) in env::vars_os() {
            if ["CARGO_MANIFEST_", "CARGO_PKG_", "OUT_DIR"].iter().any(|of| name.to_string_lossy().starts_with(of)) {
                bash.env_remove(name);
            }
        }
        bash.env(NO_STORE.0, NO_STORE.1).args(["-c", &script]).current_dir(folder).output().expect("bash starts")
    }

    /// Runs a command and compares its output. The page may show standard error too. Returns the exit code; if the output differs,
    /// also the reason and the lines to show instead.
    fn differs(&self, shown: &ShownCommand, folder: &Path) -> (i32, Option<(String, Vec<String>)>) {
        let output = self.run(shown, folder);
        let status = output.status.code().unwrap_or(-1);
        let place = format!("{}:{}: `{}`", self.name, shown.line, shown.command);
        let printed = String::from_utf8_lossy(&output.stdout);
        let said = String::from_utf8_lossy(&output.stderr);
        if shown.output.is_empty() && self.has_tests_of_its_own() {
            return (status, None);
        }
        assert!(!shown.output.is_empty() || output.stdout.is_empty(), "{place}: show the output:\n{printed}");
        let ways = [printed.to_string(), format!("{printed}{said}"), format!("{said}{printed}")];
        let wrong: Vec<String> = ways.iter().filter_map(|way| shown.differs(way)).collect();
        if wrong.len() < ways.len() {
            return (status, None);
        }
        let fresh = ways.iter().map(|way| refreshed(&shown.output, way)).min_by_key(|(unlike, _)| *unlike);
        let why = format!("{place}: {}\n\nIt prints:\n{printed}\nand says:\n{said}", wrong[0]);
        (status, fresh.map(|(_, lines)| (why, lines)))
    }

    /// Runs a command, compares its output, and returns its exit code.
    pub(crate) fn compare(&self, shown: &ShownCommand, folder: &Path) -> i32 {
        let (status, differs) = self.differs(shown, folder);
        assert!(differs.is_none(), "{}", differs.expect("it differs").0);
        status
    }

    /// True if the test may rewrite the page, which must lie in the repository.
    #[allow(clippy::disallowed_methods)] // The user who runs the tests asks for written files.
    fn is_blessed(&self) -> bool {
        std::env::var_os("FLASHLOOM_BLESS").is_some() && root().join(&self.name).is_file()
    }

    /// Writes the page with other outputs.
    fn bless(&self, fresh: &[(&ShownCommand, Vec<String>)]) {
        let mut lines: Vec<String> = self.text.lines().map(ToOwned::to_owned).collect();
        for (shown, output) in fresh.iter().rev() {
            lines.splice(shown.output_at..shown.output_at + shown.output.len(), output.iter().cloned());
        }
        fs::write(root().join(&self.name), lines.join("\n") + "\n").expect("written");
    }

    /// Writes all files of the page into a folder, runs its commands there one after another, and compares. A command
    /// that fails is followed by `echo $?` and its exit code. Returns how many commands ran.
    pub(crate) fn play(
        &self,
        folder: &Path,
        share: Share,
        is_compared_elsewhere: impl Fn(&ShownCommand) -> bool,
    ) -> usize {
        let (mut files, mut used, mut compared) = (Vec::new(), BTreeSet::new(), 0);
        let (blocks, mut fresh) = (self.blocks(), Vec::new());
        for block in &blocks {
            match block {
                FencedBlock::File(name, text) => {
                    fs::write(folder.join(name), text).expect("written");
                    files.push(name);
                }
                FencedBlock::Console(all) => {
                    let mut status = 0;
                    for shown in all {
                        let place = format!("{}:{}", self.name, shown.line);
                        if shown.command == "echo $?" {
                            assert_eq!(shown.output, [status.to_string()], "{place}: the exit code");
                            status = 0;
                            continue;
                        }
                        assert_eq!(status, 0, "{place}: the command before it failed: show its exit code");
                        used.extend(shown.command.split(|c| " =,".contains(c)).map(ToOwned::to_owned));
                        match shown.command.strip_prefix("make ") {
                            Some(target) if shown.output.is_empty() => self.assert_target(target),
                            _ if is_compared_elsewhere(shown) || shown.takes_minutes && share == Share::Quick => {}
                            _ => {
                                let differs;
                                (status, differs) = self.differs(shown, folder);
                                match differs {
                                    Some((_, lines)) if self.is_blessed() => fresh.push((shown, lines)),
                                    Some((why, _)) => panic!("{why}"),
                                    None => {}
                                }
                                compared += 1;
                            }
                        }
                    }
                    assert_eq!(status, 0, "{}: the last command of a block failed: show its exit code", self.name);
                }
                FencedBlock::Include(path) => self.assert_included(path),
                FencedBlock::Forms(_) => {}
                FencedBlock::Quotation(line) => {
                    assert!(
                        self.has_tests_of_its_own(),
                        "{}:{line}: a file without a name, or a command that no test runs",
                        self.name
                    );
                }
                FencedBlock::Unknown(line, kind) => {
                    panic!(
                        "{}:{line}: ```{kind} is none of `toml NAME`, `csv NAME`, `ini NAME`, `sh NAME`, `xml NAME`, `yaml NAME`, \
                         `console`, `text`",
                        self.name
                    )
                }
            }
        }
        // A written file may name another one: a study names its device.
        let named = |file: &str| {
            used.contains(file) || blocks.iter().any(|b| matches!(b, FencedBlock::File(_, text) if text.contains(file)))
        };
        for file in files {
            assert!(named(file), "{} shows {file}, and no command that uses it", self.name);
        }
        if !fresh.is_empty() {
            self.bless(&fresh);
        }
        compared
    }

    /// Checks that an included example or test exists and has the named part.
    fn assert_included(&self, path: &str) {
        let (file, anchor) = path.split_once(':').unwrap_or((path, ""));
        let file = root().join(&self.name).parent().expect("a folder").join(file);
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{} includes {path}: {error}", self.name));
        let is_compiled = file.parent().is_some_and(|folder| folder.ends_with("examples") || folder.ends_with("tests"));
        assert!(is_compiled, "{} includes {path}, which no test compiles", self.name);
        for mark in ["ANCHOR", "ANCHOR_END"].iter().filter(|_| !anchor.is_empty()) {
            let mark = format!("// {mark}: {anchor}");
            assert!(text.lines().any(|line| line.trim() == mark), "{} has no `{mark}`", file.display());
        }
    }

    /// Checks that every command, option and `make` target in the text exists.
    pub(crate) fn assert_names(&self) {
        let place = tempfile::tempdir().expect("a directory");
        let help = |command: &[&str]| {
            let output = flashloom(&[command, &["--help"]].concat(), place.path());
            assert!(output.status.success(), "{} names `flashloom {}`", self.name, command.join(" "));
            String::from_utf8(output.stdout).expect("text")
        };
        let with_options: [&[&str]; 20] = [
            &["run"],
            &["serve"],
            &["ctl", "status"],
            &["ctl", "fault"],
            &["ctl", "snapshot"],
            &["compare"],
            &["explain"],
            &["study"],
            &["reproduce"],
            &["check"],
            &["trace", "info"],
            &["trace", "convert"],
            &["store", "list"],
            &["store", "show"],
            &["store", "merge"],
            &["store", "gc"],
            &["convert-mqsim"],
            &["point"],
            &["torture"],
            &["man"],
        ];
        let every: String = with_options.map(help).concat();
        let mut commands = BTreeSet::new();
        // Code spans about other programs may name options of these.
        let others = [
            "cargo ",
            "pip ",
            "cp ",
            "mdbook ",
            "sbatch ",
            "kubectl ",
            "nbdcopy ",
            "fio ",
            "text\nnbdinfo ",
            "text\nmodprobe ",
            "text\nnvme ",
            "text\n# nvme ",
            "text\nssh ",
            "text\nmkdir disk ",
            "text\nset -e\n",
            "text\nsetpriv ",
            "text\nfrom dask_",
            "text\n  dask ",
            "text\nname: ",
        ];
        let text: Vec<&str> = self.text.lines().filter(|line| !line.starts_with("#SBATCH ")).collect();
        let text = text.join("\n");
        let spans = text.split('`').filter(|span| !others.iter().any(|other| span.starts_with(other)));
        let ours = spans.collect::<Vec<_>>().join("`");
        let words: Vec<&str> = ours.split(|c: char| c.is_whitespace() || "`,;|()[]{}".contains(c)).collect();
        for pair in words.windows(2).filter(|pair| pair[0] == "flashloom") {
            let command = pair[1].trim_end_matches(['.', ':']);
            if command.chars().all(|c| c.is_ascii_lowercase()) && !command.is_empty() {
                commands.insert(command);
            }
        }
        for command in commands {
            help(&[command]);
        }
        let is_option = |word: &&&str| {
            word.strip_prefix("--").is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
        };
        for option in words.iter().filter(is_option) {
            let option = option.trim_end_matches(['.', ':', ',']);
            let option = option.split('=').next().unwrap_or(option);
            let listed = every.split(|c: char| c.is_whitespace() || c == ',').any(|word| word == option);
            assert!(listed || option == "--example", "{} names {option}, which no command has", self.name);
        }
        for target in self.text.split("`make ").skip(1).filter_map(|rest| rest.split('`').next()) {
            self.assert_target(target.split_whitespace().next().unwrap_or_default());
        }
    }
}
