//! A real process that is killed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use base::io::IoKind;

use super::directory::{content, device, request};
use crate::state::{Durability, State};

/// The environment variable that makes this test the process that is killed: the directory of its drive.
const DIRECTORY: &str = "FLASHLOOM_TEST_STATE";
/// Places that are written again and again.
const PLACES: u64 = 300;

/// Writes and flushes until the process is killed. After each flush it prints the number of the last write.
fn write_on(dir: &Path) {
    let opened = State::open_or_create(dir, &device(), 3, Durability::Process);
    let (state, mut ssd) = opened.unwrap_or_else(|error| panic!("{error}"));
    let mut out = std::io::stdout().lock();
    for number in 1.. {
        let start = number * 7 % PLACES * 4;
        request(&mut ssd, IoKind::Write, start, content(start, number));
        if number.is_multiple_of(5) {
            request(&mut ssd, IoKind::Flush, 0, Vec::new());
            state.check().expect("the files can be written");
            // The reading test may have ended.
            if writeln!(out, "durable {number}").and_then(|()| out.flush()).is_err() {
                return;
            }
        }
    }
}

/// Starts this test as the process that writes, and kills it after `flushes` flushes. Returns the last number that it
/// printed.
fn kill(dir: &Path, flushes: usize) -> u64 {
    let program = std::env::current_exe().expect("the test program");
    let mut child = Command::new(program)
        .args(["--exact", "--nocapture", "state::tests::process::a_killed_process_leaves_what_it_flushed"])
        .env(DIRECTORY, dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("a process");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    let durable = |line: String| line.split("durable ").nth(1)?.parse().ok();
    let mut lines = lines.filter_map(durable);
    let mut last: u64 = lines.by_ref().nth(flushes).expect("it flushes");
    child.kill().expect("a process to kill");
    // Lines printed before the kill count, too.
    last = lines.last().unwrap_or(last);
    child.wait().expect("it ends");
    last
}

#[test]
fn a_killed_process_leaves_what_it_flushed() {
    #[allow(clippy::disallowed_methods)] // The process that is killed is this test in another role.
    if let Some(dir) = std::env::var_os(DIRECTORY) {
        return write_on(Path::new(&dir));
    }
    let home = tempfile::tempdir().expect("a directory");
    let mut before = vec![0; PLACES as usize];
    for flushes in [0, 40, 7, 150] {
        let durable = kill(home.path(), flushes);
        let opened = State::open_or_create(home.path(), &device(), 3, Durability::Process);
        let (state, mut ssd) = opened.unwrap_or_else(|error| panic!("{error}"));
        ssd.drain(&mut Vec::new());
        ssd.check();
        for place in 0..PLACES {
            let start = place * 4;
            let held = request(&mut ssd, IoKind::Read, start, content(0, 0));
            let word = |at: usize| u64::from_le_bytes(held[0].0[at..at + 8].try_into().expect("eight bytes"));
            let number = if held[0].0[16] == 0 { 0 } else { word(8) };
            assert!(number == 0 || held == content(start, number), "place {place} holds other data");
            // The last durable write to this place; the writes of each process count from one.
            let least = (1..=durable).rev().find(|number| number * 7 % PLACES == place);
            match least {
                Some(least) => assert!(number >= least, "place {place} holds write {number}, and {least} was durable"),
                None => assert!(number == before[place as usize] || number > durable, "place {place}: an older write"),
            }
            before[place as usize] = number;
        }
        state.check().expect("no failure");
    }
}
