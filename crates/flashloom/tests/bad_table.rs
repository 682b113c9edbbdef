//! The table of bad inputs, `bad/*.txt`: each row is a command line that Flashloom must refuse, and the words of the
//! refusal.
//!
//! A row begins with the arguments of `flashloom` at the beginning of a line, quoted as in a shell. The indented lines
//! below belong to the row and take effect in this order:
//!
//! ```text
//! - FILE: OLD => NEW     replaces a part of a file (\n is a new line); the part must be there
//! + FILE: TEXT           writes a file; \xNN is a byte, and `1000 x TEXT` repeats the text 1000 times
//! cut FILE N             keeps the first N bytes, or drops the last -N
//! flip FILE N            changes a bit of byte N, or of the -Nth from the end
//! dir, fifo, unreadable FILE      makes a folder, a pipe, or a file that cannot be read
//! link NAME TARGET       makes a symbolic link
//! first ARGUMENTS        runs this command before; it must succeed
//! stdin TEXT             the standard input; without it the standard input is empty
//! exit N: WHY            ends with another code than 2
//! prints: WHY            prints a result all the same
//! lines N: WHY           prints more than ten lines
//! > WORDS ... WORDS      words of the message, in this order; each row has this line
//! ```
//!
//! Each row runs in a folder of its own with the files of [`FILES`]. [`RefusalCase::faults`] checks more than the words.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write as _};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::common::program;

/// The subjects, and the rows of each.
const SUBJECTS: [(&str, &str); 9] = [
    ("devices", include_str!("bad/devices.txt")),
    ("drives that cannot be", include_str!("bad/drives.txt")),
    ("workloads", include_str!("bad/workloads.txt")),
    ("fio jobs", include_str!("bad/fio.txt")),
    ("traces", include_str!("bad/traces.txt")),
    ("studies", include_str!("bad/studies.txt")),
    ("options", include_str!("bad/options.txt")),
    ("outputs", include_str!("bad/outputs.txt")),
    ("snapshots", include_str!("bad/snapshots.txt")),
];

/// The valid files that the rows change.
const FILES: [(&str, &str); 7] = [
    ("p.toml", include_str!("bad/part.toml")),
    ("d.toml", crate::common::DEVICE),
    ("w.toml", crate::common::WORKLOAD),
    (
        "s.toml",
        r#"name = "s"
device = "d.toml"
workload = "w.toml"
metrics = ["read.mean", "write.mean"]

[[axis]]
name = "channels"
key = "device.flash.channels"
values = [1, 2]

[[claim]]
id = "A"
says = "Two channels are faster than one"

[[claim.expect]]
metric = "read.mean"
ratio = { at = { channels = 2 }, to = { channels = 1 }, between = [0.0, 1.5] }
"#,
    ),
    ("j.fio", "[global]\nrw=randread\nbs=4k\nsize=1m\n[job]\niodepth=4\n"),
    (
        "t.csv",
        "128166372003061629,hm,0,Read,0,4096,100\n128166372003062629,hm,0,Write,8192,4096,100\n\
         128166372003064629,hm,0,Read,8192,4096,100\n",
    ),
    ("t.spc", "0,0,4096,r,0.001\n0,8,4096,w,0.002\n0,16,4096,r,0.003\n"),
];

/// Commands that write more files from the valid ones: a snapshot and a converted trace.
const MADE: [&[&str]; 2] = [
    &["run", "d.toml", "w.toml", "--precondition", "fill", "--save-snapshot", "state", "--quiet"],
    &["trace", "convert", "t.csv", "t.parquet"],
];

/// The most time that a refusing command may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The first words of remedies, of which each message must have one.
const VERBS: [&str; 52] = [
    "add", "allow", "ask", "begin", "bring", "change", "check", "choose", "convert", "correct", "cut", "delete",
    "describe", "export", "fetch", "fill", "free", "give", "have", "keep", "leave", "let", "lay", "list", "lower",
    "make", "name", "nest", "pack", "paste", "point", "put", "raise", "read", "redirect", "reduce", "remove", "rename",
    "repeat", "run", "save", "say", "scale", "send", "set", "shorten", "skip", "start", "swap", "test", "use", "write",
];

/// Other forms of a remedy: allowed values, or a suggestion.
const ALLOWED: [&str; 12] = [
    "a value is required for ",
    "e.g. ",
    "did you mean ",
    "there must be at least ",
    "the keys here are ",
    "its points are ",
    "the axes are ",
    "Usage: ",
    "tip: ",
    "possible values: ",
    "lists them",
    "their shares sum to ",
];

/// Internal terms, which messages must not have.
const JARGON: [&str; 32] = [
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "i8",
    "i16",
    "i32",
    "i64",
    "i128",
    "f32",
    "f64",
    "usize",
    "isize",
    "bool",
    "struct",
    "enum",
    "tuple",
    "variant",
    "Option",
    "Some",
    "None",
    "Vec",
    "String",
    "str",
    "untagged",
    "newtype",
    "serde",
    "a sequence",
    "invalid type",
    "panicked",
    "unwrap",
];

#[derive(Debug, Default)]
struct RefusalCase {
    subject: &'static str,
    line: usize,
    arguments: Vec<String>,
    steps: Vec<&'static str>,
    words: Vec<&'static str>,
    code: i32,
    prints: bool,
    lines: usize,
}

/// The words of a command line, by the shell's rules that rows need.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quote, mut open) = (Vec::new(), None, false);
    for c in line.chars() {
        match (quote, c) {
            (None, ' ') => open = false,
            (None, '\'' | '"') => quote = Some(c),
            (Some(mark), c) if c == mark => quote = None,
            _ => {
                if !open {
                    words.push(String::new());
                }
                words.last_mut().expect("one was begun").push(c);
            }
        }
        if c != ' ' && !open {
            if quote == Some(c) {
                words.push(String::new());
            }
            open = true;
        }
    }
    words
}

/// The bytes of a text, with its escapes resolved; repeated if the text begins with a count.
fn bytes(text: &str) -> Vec<u8> {
    let counted = text.split_once(" x ").and_then(|(times, text)| Some((times.parse().ok()?, text)));
    let (times, text): (usize, &str) = counted.unwrap_or((1, text));
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match (byte, byte == b'\\') {
            (_, false) => byte,
            _ => match rest.next().expect("an escape goes on") {
                b'n' => b'\n',
                b't' => b'\t',
                b'x' => {
                    let digits = [rest.next().expect("two digits"), rest.next().expect("two digits")];
                    u8::from_str_radix(&String::from_utf8_lossy(&digits), 16).expect("two digits")
                }
                other => other,
            },
        });
    }
    bytes.repeat(times)
}

fn rows() -> Vec<RefusalCase> {
    let mut rows: Vec<RefusalCase> = Vec::new();
    for (subject, text) in SUBJECTS {
        for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let Some(about) = line.strip_prefix("  ") else {
                let arguments = words(line);
                rows.push(RefusalCase {
                    subject,
                    line: i + 1,
                    arguments,
                    code: 2,
                    lines: 10,
                    ..RefusalCase::default()
                });
                continue;
            };
            let row = rows.last_mut().expect("a row stands above");
            let number = |text: &str| text.split(':').next().and_then(|n| n.parse().ok()).expect("a number, then why");
            match about.split_once(' ').expect("what it is, and a space") {
                (">", said) => row.words.extend(said.split(" ... ")),
                ("exit", code) => row.code = number(code),
                ("prints:", _) => row.prints = true,
                ("lines", lines) => row.lines = number(lines) as usize,
                _ => row.steps.push(about),
            }
        }
    }
    rows
}

/// The exit status of a command and its output.
struct End {
    status: Option<ExitStatus>,
    stdout: String,
    stderr: String,
}

fn run(dir: &Path, arguments: &[String], stdin: &[u8]) -> End {
    let mut command = program();
    command.current_dir(dir).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    // A refusing command does not read its input to the end.
    let _ = child.stdin.take().expect("a pipe").write_all(stdin);
    let streams: [Box<dyn Read + Send>; 2] =
        [Box::new(child.stdout.take().expect("a pipe")), Box::new(child.stderr.take().expect("a pipe"))];
    let (sender, receiver) = channel();
    let mut read = [String::new(), String::new()];
    let ended = thread::scope(|scope| {
        for (which, mut stream) in streams.into_iter().enumerate() {
            let sender = sender.clone();
            scope.spawn(move || {
                let mut read = Vec::new();
                let _ = stream.read_to_end(&mut read);
                let _ = sender.send((which, String::from_utf8_lossy(&read).into_owned()));
            });
        }
        for _ in 0..2 {
            let Ok((which, text)) = receiver.recv_timeout(PATIENCE) else {
                let _ = child.kill();
                return false;
            };
            read[which] = text;
        }
        true
    });
    let status = child.wait().expect("it ended");
    if !ended {
        return End { status: None, stdout: String::new(), stderr: "it does not end".into() };
    }
    let [stdout, stderr] = read;
    End { status: Some(status), stdout, stderr }
}

/// All paths below a folder, each with its content.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a directory") {
            let path = entry.expect("an entry").path();
            let of = fs::symlink_metadata(&path).expect("there").file_type();
            let inside = match () {
                () if of.is_dir() => Vec::new(),
                () if of.is_symlink() => b"link".to_vec(),
                () if of.is_fifo() => b"pipe".to_vec(),
                () => fs::read(&path).unwrap_or_default(),
            };
            if of.is_dir() {
                folders.push(path.clone());
            }
            found.insert(path, inside);
        }
    }
    found
}

/// The message without the words in backquotes, which are the user's.
fn our_words(message: &str) -> String {
    message.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
    text.match_indices(word)
        .any(|(at, _)| !inside(text[..at].chars().next_back()) && !inside(text[at + word.len()..].chars().next()))
}

/// True if a part of a message names a remedy or the allowed values.
fn has_remedy(message: &str) -> bool {
    let marks = ["; ", ": ", "? ", ", ", "\n", " and ", " or "];
    let parts = marks.iter().flat_map(|mark| message.split(mark).skip(1));
    let told = |part: &str| VERBS.iter().any(|verb| part.strip_prefix(verb).is_some_and(|rest| rest.starts_with(' ')));
    ALLOWED.iter().any(|way| message.contains(way)) || parts.into_iter().any(told)
}

fn place(text: &str, len: usize) -> usize {
    let place: i64 = text.parse().expect("a number");
    usize::try_from(if place < 0 { len as i64 + place } else { place }).expect("inside the file")
}

impl RefusalCase {
    fn prepare(&self, dir: &Path) -> Vec<u8> {
        let mut stdin = Vec::new();
        for step in &self.steps {
            let (what, rest) = step.split_once(' ').expect("it was read before");
            let pair = |mark: &str| rest.split_once(mark).unwrap_or_else(|| panic!("`{step}` has no `{mark}`"));
            match what {
                "-" => {
                    let (file, change) = pair(": ");
                    let (old, new) = change.split_once(" =>").expect("OLD => NEW");
                    let text = fs::read_to_string(dir.join(file)).expect("read");
                    let old = String::from_utf8(bytes(old)).expect("text");
                    assert!(text.contains(&old), "{}:{}: `{old}` is not in {file}", self.subject, self.line);
                    let new = String::from_utf8(bytes(new.strip_prefix(' ').unwrap_or(new))).expect("text");
                    fs::write(dir.join(file), text.replacen(&old, &new, 1)).expect("written");
                }
                "+" => {
                    let (file, text) = pair(":");
                    fs::write(dir.join(file), bytes(text.strip_prefix(' ').unwrap_or(text))).expect("written");
                }
                "cut" | "flip" => {
                    let (file, at) = pair(" ");
                    let mut read = fs::read(dir.join(file)).expect("read");
                    let at = place(at, read.len());
                    if what == "cut" {
                        read.truncate(at);
                    } else {
                        read[at] ^= 1;
                    }
                    fs::write(dir.join(file), read).expect("written");
                }
                "dir" => fs::create_dir_all(dir.join(rest)).expect("made"),
                "fifo" => {
                    let made = Command::new("mkfifo").arg(dir.join(rest)).status().expect("mkfifo");
                    assert!(made.success(), "{rest}");
                }
                "link" => {
                    let (name, target) = pair(" ");
                    symlink(target, dir.join(name)).expect("made");
                }
                "unreadable" => {
                    fs::set_permissions(dir.join(rest), fs::Permissions::from_mode(0o000)).expect("set");
                }
                "first" => {
                    let end = run(dir, &words(rest), b"");
                    assert!(end.status.is_some_and(|status| status.success()), "{rest}: {}", end.stderr);
                }
                "stdin" => stdin = bytes(rest),
                other => panic!("{}:{}: `{other}` is nothing that a row does", self.subject, self.line),
            }
        }
        stdin
    }

    /// True if the row needs an unreadable file and the user may read every file (root).
    fn is_moot(&self, dir: &Path) -> bool {
        let locked = self.steps.iter().filter_map(|step| step.strip_prefix("unreadable "));
        locked.map(|name| dir.join(name)).any(|path| fs::read(path).is_ok())
    }

    /// True if the message names a file, a value or an option of the command line.
    fn names_its_subject(&self, message: &str) -> bool {
        let own = self.arguments.iter().skip(1).flat_map(|word| word.split(['=', ',']));
        let unknown = self.arguments.first().map(|first| format!("'{first}'"));
        let mut words =
            own.chain(unknown.as_deref()).chain(FILES.map(|(name, _)| name)).filter(|word| !word.is_empty());
        let begins = message.trim_start_matches("error: ").split(": ").next().unwrap_or(message);
        words.any(|word| message.contains(word) && (word != "-" || begins == word))
            || self.steps.iter().any(|step| step.contains(begins))
            || ["<stdin>", " --", "<WORKLOAD>", "<DEVICE>", "``"].iter().any(|named| message.contains(named))
    }

    /// The faults of the refusal; empty if it is right.
    fn faults(&self, sound: &Path) -> Vec<String> {
        let dir = tempfile::tempdir().expect("a directory");
        for file in fs::read_dir(sound).expect("a directory") {
            let file = file.expect("a file");
            fs::copy(file.path(), dir.path().join(file.file_name())).expect("copied");
        }
        let stdin = self.prepare(dir.path());
        if self.is_moot(dir.path()) {
            return Vec::new();
        }
        let before = content(dir.path());
        let End { status, stdout, stderr } = run(dir.path(), &self.arguments, &stdin);
        let mut faults = Vec::new();
        let mut must = |holds: bool, what: String| {
            if !holds {
                faults.push(what);
            }
        };
        let code = status.and_then(|status| status.code());
        must(code == Some(self.code), format!("ends with {code:?} instead of {}", self.code));
        must(!self.words.is_empty(), "has no words".into());
        let mut rest = &stderr[..];
        for word in &self.words {
            let at = rest.find(word);
            must(at.is_some(), format!("does not say `{word}` there"));
            rest = at.map_or(rest, |at| &rest[at + word.len()..]);
        }
        let ours = our_words(&stderr);
        for word in JARGON {
            must(!has_word(&ours, word), format!("says `{word}`, which a user need not know"));
        }
        must(!stderr.contains("bug in Flashloom"), "blames Flashloom".into());
        must(self.code != 2 || has_remedy(&stderr), "says nothing to be done".into());
        let told = stderr.lines().count();
        must(told <= self.lines, format!("has {told} lines, more than {}", self.lines));
        must(stderr.lines().all(|line| line.len() <= 1500), "has a line without an end".into());
        must(self.prints || stdout.is_empty(), format!("has a result: {stdout:.200}"));
        must(
            self.code != 2 || self.arguments.len() < 2 || self.names_its_subject(&stderr),
            "names none of the words of the command line, and no option".into(),
        );
        let after = content(dir.path());
        let odd: Vec<_> = after.iter().filter(|(path, inside)| before.get(*path) != Some(*inside)).collect();
        must(odd.is_empty(), format!("leaves behind {:?}", odd.iter().map(|(path, _)| path).collect::<Vec<_>>()));
        must(before.keys().all(|path| after.contains_key(path)), "removes files".into());
        if !faults.is_empty() {
            faults.push(format!("It says:\n{stderr:.3000}"));
        }
        faults
    }
}

/// A folder with the valid files and those made from them.
fn sound() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, text) in FILES {
        fs::write(dir.path().join(name), text).expect("written");
    }
    for made in MADE {
        let arguments: Vec<_> = made.iter().map(ToString::to_string).collect();
        let end = run(dir.path(), &arguments, b"");
        assert!(end.status.is_some_and(|status| status.success()), "{made:?}: {}", end.stderr);
    }
    dir
}

#[test]
fn the_valid_files_of_the_table_run() {
    let dir = sound();
    for line in [
        "run d.toml w.toml --verify --quiet",
        "run d.toml j.fio --verify --quiet",
        "run d.toml t.csv --verify --quiet",
        "run d.toml t.spc --verify --quiet",
        "run d.toml t.parquet --verify --quiet",
        "run d.toml w.toml --load-snapshot state --verify --quiet",
        "study s.toml --quiet",
        "check d.toml",
    ] {
        let end = run(dir.path(), &words(line), b"");
        assert!(end.status.is_some_and(|status| status.success()), "{line}: {}{}", end.stdout, end.stderr);
    }
}

#[test]
fn every_row_is_refused_with_its_message() {
    let (rows, sound) = (rows(), sound());
    assert!(rows.len() >= 150, "{} rows", rows.len());
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, |n| n.get().max(2)) {
            scope.spawn(|| {
                while let Some((n, row)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, rows.get(n)?)))
                {
                    let faults = row.faults(sound.path());
                    if !faults.is_empty() {
                        found.lock().expect("sound").insert(n, faults);
                    }
                }
            });
        }
    });
    let found = found.into_inner().expect("sound");
    let mut told = String::new();
    for (n, faults) in &found {
        let row = &rows[*n];
        let _ = writeln!(told, "\n{}, line {}: flashloom {}", row.subject, row.line, row.arguments.join(" "));
        for fault in faults {
            let _ = writeln!(told, "  {fault}");
        }
    }
    assert!(found.is_empty(), "{} of {} rows:\n{told}", found.len(), rows.len());
}

/// A row of the table fails if its command succeeds, prints nothing, or prints other words.
#[test]
fn a_wrong_row_fails() {
    let sound = sound();
    for (arguments, words, wanted) in [
        ("run d.toml w.toml --quiet", &["name"][..], "ends with Some(0) instead of 2"),
        ("run d.toml none.toml", &["banana"], "does not say `banana`"),
        ("run d.toml none.toml", &["cannot be read", "none.toml"], "does not say `none.toml` there"),
        ("run d.toml none.toml", &[], "has no words"),
        ("run d.toml w.toml --report r.html --quiet", &["r"], "leaves behind"),
        ("devices", &["r"], "has a result"),
    ] {
        let (words, code, lines) = (words.to_vec(), 2, 10);
        let row = RefusalCase { arguments: self::words(arguments), words, code, lines, ..RefusalCase::default() };
        let faults = row.faults(sound.path());
        assert!(faults.iter().any(|fault| fault.contains(wanted)), "{arguments}: {faults:?}");
    }
    assert_eq!(words("a 'b c' \"d\" '' e='f g'"), ["a", "b c", "d", "", "e=f g"]);
    assert_eq!(bytes("2 x a\\n\\x01\\\\"), b"a\n\x01\\a\n\x01\\");
    assert!(has_word("expected u32, not", "u32") && !has_word("not `u32s`", "u32"));
    assert_eq!(our_words("is `u32` not"), "is   not");
    assert!(has_remedy("x: is zero; use at least 1") && !has_remedy("x: cannot be read, and nobody wonders why"));
    assert!(has_remedy("x: is zero; use at least 1") && !has_remedy("x: cannot be read, and nobody wonders why"));
}
