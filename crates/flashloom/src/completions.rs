//! Completion scripts that know the names of the devices, workloads and studies that come with Flashloom.
//!
//! The scripts of clap know commands and options. This module adds the names: in bash by a function that goes before
//! clap's, in zsh by the action of the argument, in fish by further completions. Clap's scripts for Elvish and
//! PowerShell do not complete arguments, so these have no names either.

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use flash::nand::Part;

use crate::args::Cli;
use crate::studies::papers;

/// The kind of names that an argument takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Devices,
    DevicesAndParts,
    Workloads,
    Studies,
    Papers,
}

impl Names {
    const ALL: [Self; 5] = [Self::Devices, Self::DevicesAndParts, Self::Workloads, Self::Studies, Self::Papers];

    fn function(self) -> &'static str {
        match self {
            Self::Devices => "_flashloom_devices",
            Self::DevicesAndParts => "_flashloom_devices_and_parts",
            Self::Workloads => "_flashloom_workloads",
            Self::Studies => "_flashloom_studies",
            Self::Papers => "_flashloom_papers",
        }
    }

    fn list(self) -> Vec<&'static str> {
        let of = |all: &'static [(&'static str, &'static str)]| all.iter().map(|(name, _)| *name);
        match self {
            Self::Devices => of(ssd::builtin()).collect(),
            Self::DevicesAndParts => of(ssd::builtin()).chain(Part::presets().map(|part| part.name.as_str())).collect(),
            Self::Workloads => of(workload::generate::builtin()).collect(),
            Self::Studies => of(study::plan::builtin()).collect(),
            Self::Papers => papers(),
        }
    }
}

/// An argument that takes names.
#[derive(Clone, Debug)]
struct Slot {
    command: String,
    /// The position of the argument; `None` for an option.
    position: Option<usize>,
    /// True if all later arguments take the same names.
    many: bool,
    /// The name of the option or of the argument.
    name: String,
    names: Names,
    /// True if the argument also takes a file.
    files: bool,
}

pub(crate) fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "flashloom", &mut script);
    let script = String::from_utf8_lossy(&script);
    match shell {
        Shell::Bash => bash(&script),
        Shell::Zsh => zsh(&script),
        Shell::Fish => fish(&script),
        _ => script.into_owned(),
    }
}

/// All arguments and options that take names.
fn slots() -> Vec<Slot> {
    let mut slots = Vec::new();
    for command in Cli::command().get_subcommands() {
        let here = command.get_name();
        for (position, argument) in command.get_positionals().enumerate() {
            let name = argument.get_id().as_str();
            let (names, files) = match (here, name) {
                ("studies", "name") => (Names::Studies, false),
                ("workloads", "name") => (Names::Workloads, false),
                ("devices", "name") => (Names::DevicesAndParts, false),
                (_, "paper") => (Names::Papers, false),
                (_, "device" | "devices") => (Names::Devices, true),
                (_, "workload") => (Names::Workloads, true),
                (_, "studies") => (Names::Studies, true),
                _ => continue,
            };
            let many =
                argument.get_action().takes_values() && argument.get_num_args().is_some_and(|n| n.max_values() > 1);
            let many = many || matches!(argument.get_action(), clap::ArgAction::Append);
            slots.push(Slot { command: here.into(), position: Some(position), many, name: name.into(), names, files });
        }
        for option in command.get_opts() {
            if let Some(name @ ("workload" | "flow")) = option.get_long() {
                let name = format!("--{name}");
                let (command, names) = (here.to_owned(), Names::Workloads);
                slots.push(Slot { command, position: None, many: false, name, names, files: true });
            }
        }
    }
    slots
}

/// The options of all commands that take a value.
fn valued() -> Vec<String> {
    fn of(command: &Command, all: &mut Vec<String>) {
        for option in command.get_opts().filter(|option| option.get_action().takes_values()) {
            all.extend(option.get_long().map(|name| format!("--{name}")));
        }
        command.get_subcommands().for_each(|inner| of(inner, all));
    }
    let mut all = Vec::new();
    of(&Cli::command(), &mut all);
    all.sort_unstable();
    all.dedup();
    all
}

fn bash(script: &str) -> String {
    let mut cases = String::new();
    for slot in slots() {
        let pattern = match slot.position {
            Some(_) if slot.many => format!("{}:[0-9]*", slot.command),
            Some(position) => format!("{}:{position}", slot.command),
            None => format!("{}:{}", slot.command, slot.name),
        };
        let files = u8::from(slot.files);
        cases.push_str(&format!("        {pattern}) names=\"{}\"; files={files} ;;\n", slot.names.list().join(" ")));
    }
    let valued = valued().join("|");
    let ours = format!(
        r#"
# Names of what comes with Flashloom, and files, where an argument may be either.
_flashloom_names() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" command="" at=0 option="" names="" files=0 word name i
    for (( i = 1; i < COMP_CWORD; i++ )); do
        word="${{COMP_WORDS[i]}}"
        if [[ -n "$option" ]]; then option=""; continue; fi
        case "$word" in
            {valued}) option="$word" ;;
            -*) ;;
            *) if [[ -z "$command" ]]; then command="$word"; else at=$((at + 1)); fi ;;
        esac
    done
    case "$command:${{option:-$at}}" in
{cases}    esac
    if [[ -z "$names" || "$cur" == -* ]]; then
        _flashloom "$@"
        return
    fi
    COMPREPLY=()
    for name in $names; do
        [[ "$name" == "$cur"* ]] && COMPREPLY+=("$name")
    done
    if (( files )); then
        while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen -f -- "$cur")
        compopt -o filenames 2>/dev/null
    fi
}}

"#
    );
    // Clap's last lines register the completing function.
    let (before, after) = script.split_at(script.rfind("\nif [[").map_or(script.len(), |at| at + 1));
    format!("{before}{ours}{}", after.replace("-F _flashloom ", "-F _flashloom_names "))
}

fn zsh(script: &str) -> String {
    let slots = slots();
    let mut text = String::new();
    let mut command = "";
    for line in script.lines() {
        if let Some(name) = line.trim().strip_prefix('(').and_then(|line| line.strip_suffix(')')) {
            command = name;
        }
        let of = |slot: &&Slot| {
            let start = line.trim_start_matches(['\'', '*', ':', '"']);
            slot.command == command
                && match slot.position {
                    Some(_) => line.starts_with(['\'', '"']) && start.starts_with(&format!("{} -- ", slot.name)),
                    None => start.starts_with(&format!("{}=", slot.name)),
                }
        };
        match slots.iter().find(of) {
            Some(slot) => {
                let line = line.trim_end_matches(" \\").trim_end_matches(['\'', '"']);
                let line = line.trim_end_matches("_files").trim_end_matches("_default");
                let quote = if line.starts_with('"') { '"' } else { '\'' };
                text.push_str(&format!("{line}{}{quote} \\\n", slot.names.function()));
            }
            None => text.push_str(&format!("{line}\n")),
        }
        if line.starts_with("#compdef") {
            for names in Names::ALL {
                let files = if slots.iter().any(|slot| slot.names == names && slot.files) {
                    " 'files:file:_files'"
                } else {
                    ""
                };
                text.push_str(&format!(
                    "\n{}() {{\n    local -a names=({})\n    _alternative 'names:name:compadd -a names'{files}\n}}\n",
                    names.function(),
                    names.list().join(" ")
                ));
            }
        }
    }
    text
}

fn fish(script: &str) -> String {
    let mut text = script.to_owned();
    for slot in slots() {
        let (names, files) = (slot.names.list().join(" "), if slot.files { "" } else { " -f" });
        let option = match slot.position {
            Some(_) => String::new(),
            None => format!(" -l {} -r", slot.name.trim_start_matches('-')),
        };
        text.push_str(&format!(
            "complete -c flashloom -n \"__fish_flashloom_using_subcommand {}\"{option}{files} -a \"{names}\"\n",
            slot.command
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words that bash offers for the last word of a line, in a folder with the file `own.toml`.
    fn offered(line: &str) -> Vec<String> {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("script"), script(Shell::Bash)).expect("written");
        std::fs::write(dir.path().join("own.toml"), "").expect("written");
        let words: Vec<String> = line.split(' ').map(|word| format!("'{word}'")).collect();
        let program = format!(
            "source ./script\nCOMP_WORDS=({})\nCOMP_CWORD={}\n\
             f=$(complete -p flashloom | sed 's/.*-F \\([a-z_]*\\).*/\\1/')\n\
             \"$f\" flashloom {} {}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
            words.join(" "),
            words.len() - 1,
            words[words.len() - 1],
            words[words.len() - 2]
        );
        let bash = std::process::Command::new("bash")
            .args(["--norc", "-c", &program])
            .current_dir(dir.path())
            .output()
            .expect("bash");
        assert!(bash.stderr.is_empty(), "{line}: {}", String::from_utf8_lossy(&bash.stderr));
        String::from_utf8(bash.stdout).expect("text").lines().map(ToOwned::to_owned).collect()
    }

    #[test]
    fn bash_offers_names_and_files_where_both_are_valid() {
        let has = |line: &str, wanted: &[&str], not: &[&str]| {
            let all = offered(line);
            for name in wanted {
                assert!(all.iter().any(|other| other == name), "{line}: no {name} in {all:?}");
            }
            for name in not {
                assert!(!all.iter().any(|other| other == name), "{line}: {name} in {all:?}");
            }
        };
        has("flashloom run ", &["demo", "fmmu-16x8", "own.toml"], &["oltp"]);
        has("flashloom run demo ol", &["oltp"], &["demo", "own.toml"]);
        has("flashloom run demo ", &["oltp", "database.fio", "own.toml"], &["demo"]);
        has("flashloom run --seed 3 --quiet demo o", &["oltp", "own.toml"], &["demo"]);
        has("flashloom explain demo --request 4 ol", &["oltp"], &[]);
        has("flashloom compare ", &["oltp", "own.toml"], &["demo"]);
        has("flashloom compare oltp demo ", &["fmmu-16x8", "own.toml"], &["oltp"]);
        has("flashloom check demo ql", &["qlc"], &[]);
        has("flashloom study ", &["mix/traces", "own.toml"], &["demo"]);
        has("flashloom study mix/traces --workload ol", &["oltp"], &[]);
        has("flashloom run demo oltp --flow rand", &["random-read-4k"], &[]);
        has("flashloom reproduce ", &["chang", "dirik", "fmmu", "hydra", "mix", "sung", "today"], &["own.toml"]);
        has("flashloom workloads ", &["oltp"], &["own.toml", "demo"]);
        has("flashloom devices ", &["demo", "dirik-2009"], &["own.toml"]);
        has("flashloom studies mix/", &["mix/traces"], &[]);
        // Clap's completion of commands and options still works.
        has("flashloom re", &["reproduce"], &["demo"]);
        has("flashloom run demo --pre", &["--precondition"], &["demo"]);
    }

    #[test]
    fn an_option_takes_a_value_in_every_command_or_in_none() {
        fn flags(command: &Command, all: &mut Vec<String>) {
            let flag = command.get_arguments().filter(|argument| !argument.get_action().takes_values());
            all.extend(flag.filter_map(|flag| Some(format!("--{}", flag.get_long()?))));
            command.get_subcommands().for_each(|inner| flags(inner, all));
        }
        let mut all = Vec::new();
        flags(&Cli::command(), &mut all);
        assert!(all.iter().all(|flag| !valued().contains(flag)), "{all:?}");
    }

    #[test]
    fn the_scripts_of_zsh_and_fish_complete_every_slot() {
        let (zsh, fish) = (script(Shell::Zsh), script(Shell::Fish));
        assert!(slots().len() >= 12);
        for slot in slots() {
            let function = format!(":{}' \\", slot.names.function());
            let lines = zsh.lines().skip_while(|line| line.trim() != format!("({})", slot.command));
            let here: Vec<&str> = lines.take_while(|line| *line != ";;").collect();
            let taken = |line: &&str| line.contains(&slot.name) && line.ends_with(&function);
            assert!(here.iter().any(taken), "{slot:?}: {here:#?}");
            let wanted = format!("__fish_flashloom_using_subcommand {}\"", slot.command);
            let names = slot.names.list().join(" ");
            assert!(fish.lines().any(|line| line.contains(&wanted) && line.contains(&names)), "{slot:?}");
        }
        for names in Names::ALL {
            let function = format!("{}() {{\n    local -a names=({})", names.function(), names.list().join(" "));
            assert!(zsh.contains(&function), "{names:?}");
        }
    }
}
