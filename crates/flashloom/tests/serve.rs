//! Drives as block devices: the command, the ways it ends, and real clients.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{WorkFolder, buffered};

/// A timeout that only a hanging test reaches.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn place() -> WorkFolder {
    WorkFolder::with(&[("d.toml", &buffered(""))])
}

/// A server that accepts clients.
pub(crate) struct Server {
    pub(crate) child: Child,
    uri: String,
}

impl Server {
    pub(crate) fn start(place: &WorkFolder, arguments: &[&str]) -> Self {
        Self::of(place.command(&[&["serve"], arguments].concat()))
    }

    /// Starts a command that serves, and waits until it accepts clients.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut uri = String::new();
        BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut uri).expect("text");
        assert!(uri.starts_with("nbd"), "`{uri}`");
        Self { child, uri: uri.trim().to_owned() }
    }

    /// The lines of the server's standard error, as they come.
    pub(crate) fn says(&mut self) -> impl Iterator<Item = String> + use<> {
        BufReader::new(self.child.stderr.take().expect("piped")).lines().map_while(Result::ok)
    }

    /// The number of the server's process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal and waits; returns the exit code and the rest of the standard error.
    pub(crate) fn end(self, signal: &str) -> (Option<i32>, String) {
        let sent = Command::new("kill").args([format!("-{signal}"), self.child.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
        self.wait()
    }

    /// Waits for a server that ends by itself.
    pub(crate) fn wait(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut said).expect("text");
        }
        (self.child.wait().expect("it ends").code(), said)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Kills the server, so that a failed test leaves no process.
        let _ = self.child.kill();
    }
}

/// A client that has chosen an export and reads simple replies.
pub(crate) fn client(place: &WorkFolder, socket: &str, export: &str) -> UnixStream {
    let mut stream = UnixStream::connect(place.path(socket)).expect("a server");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let option = [&b"IHAVEOPT"[..], &1_u32.to_be_bytes(), &(export.len() as u32).to_be_bytes(), export.as_bytes()];
    stream.write_all(&[&3_u32.to_be_bytes()[..], &option.concat()].concat()).expect("sent");
    stream.read_exact(&mut [0; 18 + 10]).expect("a greeting, the size and the flags");
    stream
}

pub(crate) fn request(stream: &mut UnixStream, command: u16, offset: u64, length: u32, data: &[u8]) {
    let head = [&0x2560_9513_u32.to_be_bytes()[..], &[0, 0], &command.to_be_bytes(), &[7; 8]].concat();
    let range = [&offset.to_be_bytes()[..], &length.to_be_bytes()].concat();
    stream.write_all(&[&head, &range, data].concat()).expect("sent");
}

/// The data of a successful reply.
pub(crate) fn reply(stream: &mut UnixStream, length: usize) -> Vec<u8> {
    let mut head = [0; 16];
    stream.read_exact(&mut head).expect("a reply");
    assert_eq!(head, [[0x67, 0x44, 0x66, 0x98], [0; 4], [7; 4], [7; 4]].concat()[..]);
    let mut data = vec![0; length];
    stream.read_exact(&mut data).expect("data");
    data
}

#[test]
fn a_drive_is_served_until_a_signal_and_answers_what_is_under_way() {
    for signal in ["INT", "TERM"] {
        let place = place();
        let server = Server::start(&place, &["d.toml", "--socket", "s"]);
        assert_eq!(server.uri, "nbd+unix:///?socket=s");
        let mode = |name: &str| std::fs::metadata(place.path(name)).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode("s"), 0o600);
        // One client asks by the drive's name, the other by the default name.
        let mut client = [client(&place, "s", "small"), client(&place, "s", "")];
        request(&mut client[0], 1, 8192, 4096, &[0xab; 4096]);
        reply(&mut client[0], 0);
        request(&mut client[0], 3, 0, 0, &[]);
        reply(&mut client[0], 0);
        request(&mut client[1], 0, 8192, 4096, &[]);
        assert_eq!(reply(&mut client[1], 4096), [0xab; 4096]);
        let (code, said) = server.end(signal);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("small, simulated by Flashloom: 3 answers were late by "), "{said}");
        assert!(!place.path("s").exists());
        assert_eq!(client[0].read(&mut [0; 1]).expect("closed"), 0);
    }
}

#[test]
fn a_private_socket_is_in_a_folder_of_its_own_that_goes_with_the_server() {
    let place = place();
    let folder = place.path("runtime");
    std::fs::create_dir(&folder).expect("created");
    let script = "stat -c %a \"$unixsocket\" \"$(dirname \"$unixsocket\")\" && echo \"$uri\"";
    let mut command = place.command(&["serve", "d.toml", "--run", script]);
    let output = command.env("XDG_RUNTIME_DIR", &folder).output().expect("it starts");
    let said = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<_> = said.lines().collect();
    let [uri, socket, directory, again] = lines[..] else { panic!("{said}") };
    assert_eq!((socket, directory, again), ("600", "700", uri));
    assert!(uri.starts_with("nbd+unix:///?socket=/") && uri.ends_with("/nbd.sock"), "{uri}");
    assert_eq!(std::fs::read_dir(&folder).expect("there").count(), 0);
}

#[test]
fn several_drives_are_served_and_a_failed_command_is_a_failure() {
    let place = place();
    let serve = ["serve", "--export", "a=d.toml", "--export", "b/2=demo", "--socket", "s"];
    let output = place.flashloom(&[&serve[..], &["--run", "exit 3"]].concat());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&output.stdout), "nbd+unix:///a?socket=s\nnbd+unix:///b%2F2?socket=s\n");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--run: `exit 3` failed: exit status: 3; run it by itself"), "{said}");
    assert!(!place.path("s").exists());
}

#[test]
fn a_signal_ends_the_command_of_run_too() {
    let place = place();
    let server = Server::start(&place, &["d.toml", "--socket", "s", "--run", "exec sleep 1000"]);
    let (code, said) = server.end("TERM");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("note: `exec sleep 1000` was ended: signal: 15"), "{said}");
}

#[test]
fn a_place_that_cannot_be_taken_is_refused_before_a_drive_is_made() {
    let place = place();
    place.write("file", "dear diary");
    let server = Server::start(&place, &["d.toml", "--socket", "s"]);
    for (arguments, wanted) in [
        (&["--socket", "file"][..], "file: exists and is not a socket; choose another path"),
        (&["--socket", "s"], "s: another server listens there; choose another path"),
        (&["--socket", "no/s"], "no/s: cannot listen there: "),
        (&["--listen", "0.0.0.0:10809"], "0.0.0.0:10809: is not a loopback address, and unless TLS"),
    ] {
        // A precondition that would take hours.
        let all = [&["serve", "demo", "--precondition", "random:x1000"], arguments].concat();
        let output = place.flashloom(&all);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(wanted), "{said}");
    }
    assert_eq!(place.read("file"), "dear diary");
    drop(server);
}

/// True if all of these programs are installed.
pub(crate) fn installed(programs: &[&str]) -> bool {
    let there = |name: &&&str| Command::new(name).arg("--version").output().is_ok();
    let missing: Vec<_> = programs.iter().filter(|name| !there(name)).collect();
    for name in &missing {
        println!("note: no {name}, and so served drives are not tested with it");
    }
    missing.is_empty()
}

/// Commands of clients on the drive at `$uri` with the file `in`: copies in both directions, and random writes and
/// discards.
const CLIENTS: &str = "nbdcopy --flush in \"$uri\" && nbdcopy \"$uri\" - | head -c 4194304 | cmp - in && \
    fio --name=t --ioengine=nbd --uri=\"$uri\" --size=4M --rw=randwrite --bs=4k --iodepth=16 --fsync=64 \
    --verify=crc32c --verify_fatal=1 --minimal > fio.log && \
    fio --name=t --ioengine=nbd --uri=\"$uri\" --size=4M --rw=randtrim --bs=8k --minimal > fio.log";

fn place_of_clients() -> WorkFolder {
    let image: Vec<u8> = (0..4_u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let place = place();
    place.write("in", &image);
    place
}

/// Drives of each paper keep the data of clients.
#[test]
fn every_paper_s_drive_keeps_what_clients_write() {
    if !installed(&["nbdcopy", "fio"]) {
        return;
    }
    for device in
        ["compare-dirik", "compare-sung", "compare-chang", "compare-hydra", "compare-fmmu", "mix-buffered-fast"]
    {
        let place = place_of_clients();
        let output = place.flashloom(&["serve", device, "--pace", "max", "--run", CLIENTS]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{device}: {said}");
    }
}

/// The families, and the maps on flash, as keys of a small drive's table `ftl` and further tables.
const FAMILIES: [(&str, &str); 9] = [
    ("page", ""),
    ("dftl", "map = { kind = \"dftl\", cmt = \"16KiB\" }"),
    ("cdftl", "map = { kind = \"cdftl\", cmt = \"4KiB\", ctp = \"32KiB\" }"),
    ("fmmu", "map = { kind = \"fmmu\" }\n[buffer]\nsize = \"512KiB\""),
    ("block", "kind = \"block\""),
    ("bast", "kind = \"bast\"\nlog = { blocks = 16 }"),
    ("fast", "kind = \"fast\"\nlog = { blocks = 16 }"),
    (
        "hydra",
        "kind = \"hydra\"\nhydra = { chips = 2 }\n[buffer]\nsize = \"1MiB\"\npolicy = \"superblock\"\nhigh = \"70%\"",
    ),
    (
        "chang",
        "kind = \"chang\"\nchang = { mapping-cache = 64 }\n[slc]\npart = \"K9WAG08U1A\"\nblocks = 32\npages = 32",
    ),
];

/// Each family keeps the data of clients, and its recording, run again, has the same events and latencies.
#[test]
fn every_family_keeps_what_clients_write_and_a_run_of_the_recording_is_the_served_run() {
    if !installed(&["nbdcopy", "fio"]) {
        return;
    }
    let flash = "part = \"K9GAG08U0M\"\nchannels = 2\nchips = 2\nblocks = 64\npages = 32\n";
    for (name, ftl) in FAMILIES {
        let place = place_of_clients();
        let device = format!("name = \"{name}\"\n[flash]\n{flash}[ftl]\ncapacity = \"24MiB\"\n{ftl}\n");
        place.write("small.toml", device);
        let program = crate::common::program().get_program().display().to_string();
        let status = format!("'{program}' ctl ctl status --json > status.json");
        let script = format!("{CLIENTS} && {status}");
        let serve = ["serve", "small.toml", "--pace", "max", "--record", "run.parquet", "--control", "ctl", "--run"];
        let output = place.flashloom(&[&serve[..], &[&script]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
        let served: serde_json::Value = serde_json::from_str(&place.read("status.json")).expect("JSON");
        let run = place.json(&["run", "small.toml", "run.parquet", "--json"]);
        assert_eq!(run["event_hash"], served["event_hash"], "{name}");
        assert!(run["requests"].as_u64().expect("a number") > 2000, "{name}: {}", run["requests"]);
        for of in served["requests"].as_array().expect("kinds") {
            let again = &run["kinds"][of["kind"].as_str().expect("a kind")]["latency_us"]["max"];
            let max = &of["latency"]["max_us"];
            assert!(again == max || of["done"] == 0, "{name}: {of}, and run again {again}");
        }
    }
}

/// fio plays a log of its own on a drive, whose recording must be that log.
#[test]
fn fio_replays_its_log_and_the_recording_is_that_log() {
    use std::fmt::Write as _;

    if !installed(&["fio"]) {
        return;
    }
    let place = place();
    let mut log = "fio version 2 iolog\nt add\nt open\n".to_owned();
    for n in 0..500_u64 {
        let kind = ["read", "write", "write"][(n * n % 4 + n) as usize % 3];
        let (offset, length) = (n * 2_654_435_761 % 1021 * 4096, (n % 7 + 1) * 4096);
        writeln!(log, "t {kind} {offset} {length}").expect("a text");
    }
    place.write("log", log + "t close\n");
    let fio = "fio --name=t --ioengine=nbd --uri=\"$uri\" --read_iolog=log --iodepth=1 --minimal > fio.log";
    let output = place.flashloom(&["serve", "demo", "--pace", "max", "--record", "run.parquet", "--run", fio]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let [replayed, recorded] = ["log", "run.parquet"].map(|trace| place.json(&["trace", "info", trace, "--json"]));
    assert_eq!(recorded["requests"], 500);
    // The log has no times.
    for key in ["reads", "writes", "footprint", "update_ratio", "end_byte"] {
        assert!(!replayed[key].is_null() && recorded[key] == replayed[key], "{key}: {recorded}, {replayed}");
    }
}
