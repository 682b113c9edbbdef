//! Drives whose flash is in a directory: programs that are killed, ended and started again.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::net::UnixStream;

use base::engine::Rng;

use crate::common::{WorkFolder, buffered};
use crate::serve::{Server, client};

/// Bytes of a request, which writes one place.
const BYTES: usize = 4096;
/// The number of places, each of which is written many times.
const PLACES: u64 = 96;
const SECTOR: usize = 512;

/// The error codes of NBD.
const EIO: u32 = 5;
const ESHUTDOWN: u32 = 108;

/// The content of a place after write `number`: every sector names its place and the number.
fn content(place: u64, number: u64) -> Vec<u8> {
    let mut bytes = vec![0; BYTES];
    if number > 0 {
        for (i, sector) in (0_u64..).zip(bytes.chunks_mut(SECTOR)) {
            sector.fill(0x5A ^ number as u8);
            let words = [place, number, i].map(u64::to_le_bytes).concat();
            sector[..24].copy_from_slice(&words);
        }
    }
    bytes
}

#[derive(Clone, Debug)]
enum SentRequest {
    Write {
        place: u64,
        number: u64,
    },
    /// A flush, with the last acknowledged write of each place at the time it was sent.
    Flush(Vec<u64>),
    Read {
        place: u64,
    },
}

/// A client that sends requests ahead of the replies, and knows the possible contents of each sector.
struct Client {
    stream: UnixStream,
    open: BTreeMap<u64, SentRequest>,
    sent: u64,
}

/// The writes and promises of a drive over all its lives.
struct Promises {
    /// The place of each write.
    places: Vec<u64>,
    /// For each sector of each place, the oldest write that the sector may hold.
    least: Vec<[u64; BYTES / SECTOR]>,
    /// The last acknowledged write of each place in this life.
    acknowledged: Vec<u64>,
    durable: u64,
}

impl Promises {
    fn new() -> Self {
        let places = PLACES as usize;
        Self { places: vec![u64::MAX], least: vec![[0; 8]; places], acknowledged: vec![0; places], durable: 0 }
    }

    fn settle(&mut self, covers: &[u64]) {
        for (least, covered) in self.least.iter_mut().zip(covers) {
            least.iter_mut().for_each(|least| *least = (*least).max(*covered));
        }
        self.durable += 1;
    }

    fn check(&mut self, place: u64, data: &[u8]) {
        let least = &mut self.least[place as usize];
        for (i, (least, sector)) in least.iter_mut().zip(data.chunks(SECTOR)).enumerate() {
            let number = u64::from_le_bytes(sector[8..16].try_into().expect("eight bytes"));
            assert_eq!(sector, &content(place, number)[i * SECTOR..(i + 1) * SECTOR], "place {place}, sector {i}");
            assert!(number == 0 || self.places[number as usize] == place, "place {place} holds write {number}");
            assert!(number >= *least, "place {place}, sector {i} holds write {number}, and {least} was safe");
            *least = number;
        }
    }
}

impl Client {
    fn new(place: &WorkFolder) -> Self {
        Self { stream: client(place, "s", ""), open: BTreeMap::new(), sent: 0 }
    }

    fn send(&mut self, promises: &mut Promises, asked: SentRequest) {
        let (command, offset, data) = match &asked {
            SentRequest::Write { place, number } => (1_u16, place * BYTES as u64, content(*place, *number)),
            SentRequest::Flush(_) => (3, 0, Vec::new()),
            SentRequest::Read { place } => (0, place * BYTES as u64, Vec::new()),
        };
        if let SentRequest::Write { place, number } = &asked {
            assert_eq!(promises.places.len() as u64, *number);
            promises.places.push(*place);
        }
        let length = if command == 3 { 0 } else { BYTES as u32 };
        self.sent += 1;
        let magic = 0x2560_9513_u32.to_be_bytes();
        let head = [&magic[..], &[0, 0], &command.to_be_bytes(), &self.sent.to_be_bytes(), &offset.to_be_bytes()];
        let request = [&head.concat()[..], &length.to_be_bytes(), &data].concat();
        self.open.insert(self.sent, asked);
        // The server may have been killed.
        let _ = self.stream.write_all(&request);
    }

    /// Takes a reply: the error code, 0 for success; `None` if the server was killed.
    fn take(&mut self, promises: &mut Promises) -> Option<u32> {
        let mut head = [0; 16];
        self.stream.read_exact(&mut head).ok()?;
        assert_eq!(head[..4], [0x67, 0x44, 0x66, 0x98]);
        let error = u32::from_be_bytes(head[4..8].try_into().expect("four bytes"));
        let cookie = u64::from_be_bytes(head[8..].try_into().expect("eight bytes"));
        let asked = self.open.remove(&cookie).expect("a request under way");
        if error != 0 {
            return Some(error);
        }
        match asked {
            SentRequest::Write { place, number } => promises.acknowledged[place as usize] = number,
            SentRequest::Flush(covers) => promises.settle(&covers),
            SentRequest::Read { place } => {
                let mut data = vec![0; BYTES];
                self.stream.read_exact(&mut data).ok()?;
                promises.check(place, &data);
            }
        }
        Some(0)
    }

    /// Sends a write, or now and then a flush.
    fn any(&mut self, promises: &mut Promises, rng: &mut Rng) {
        if rng.below(12) == 0 {
            return self.send(promises, SentRequest::Flush(promises.acknowledged.clone()));
        }
        let place = rng.below(PLACES);
        // A place has one outstanding write only, because the drive may reorder two.
        let is_busy = |asked: &SentRequest| matches!(asked, SentRequest::Write { place: busy, .. } if *busy == place);
        if !self.open.values().any(is_busy) {
            let number = promises.places.len() as u64;
            self.send(promises, SentRequest::Write { place, number });
        }
    }

    /// Sends `requests` requests, with up to 16 outstanding, and waits for most of the replies.
    fn some(&mut self, promises: &mut Promises, rng: &mut Rng, requests: u64) {
        for _ in 0..requests {
            self.any(promises, rng);
            while self.open.len() as u64 > rng.below(16) {
                assert_eq!(self.take(promises), Some(0));
            }
        }
    }

    /// Waits for all replies.
    fn finish(&mut self, promises: &mut Promises) {
        while !self.open.is_empty() {
            assert_eq!(self.take(promises), Some(0));
        }
    }

    /// Takes the remaining replies of a server that was killed.
    fn bury(mut self, promises: &mut Promises) {
        while self.take(promises).is_some() {}
        promises.acknowledged.fill(0);
    }

    fn flush(&mut self, promises: &mut Promises) {
        self.send(promises, SentRequest::Flush(promises.acknowledged.clone()));
        self.finish(promises);
    }

    /// Reads all places of a drive that was just started.
    fn read_all(&mut self, promises: &mut Promises) {
        for place in 0..PLACES {
            self.send(promises, SentRequest::Read { place });
            self.finish(promises);
        }
    }
}

/// Serves the drive of `d.toml` from the directory `d`.
const KEPT: [&str; 7] = ["d.toml", "--socket", "s", "--state", "d", "--pace", "max"];

fn kept(place: &WorkFolder, more: &[&str]) -> Server {
    Server::start(place, &[&KEPT, more].concat())
}

/// A small drive of each family.
fn families() -> Vec<(&'static str, String)> {
    let small = |ftl: &str| {
        format!(
            r#"name = "small"
flash = {{ part = "dirik-2009", channels = 2, chips = 2, blocks = 40, pages = 16 }}
ftl = {{ over-provisioning = "40%", {ftl} }}
"#
        )
    };
    let buffer = "buffer = { size = \"128KiB\" }\n";
    let hydra = r#"name = "small"
[flash]
part = "K9GAG08U0M"
channels = 1
chips = 4
gang = 4
width = 32
blocks = 16
pages = 8
controllers = { background = 4 }
arbitration = { commands = "read-first", bus = "read-first" }
[buffer]
size = "1MiB"
policy = "superblock"
[ftl]
kind = "hydra"
capacity = "3MiB"
hydra = { chips = 2, spare-blocks = 2 }
"#;
    let chang = r#"name = "small"
flash = { part = "K9GAG08U0M", channels = 2, chips = 2, blocks = 40, pages = 8 }
slc = { part = "K9WAG08U1A", blocks = 20 }
[ftl]
kind = "chang"
over-provisioning = "30%"
"#;
    vec![
        ("page", small("map-unit = \"2KiB\"")),
        ("page, buffered", buffered("")),
        ("bast", small("kind = \"bast\", log = { blocks = 8 }") + buffer),
        ("fast", small("kind = \"fast\", log = { blocks = 8 }")),
        ("hydra", hydra.to_owned()),
        ("chang", chang.to_owned()),
        ("fmmu", small("map = { kind = \"fmmu\", cmt = \"8KiB\", ctp = \"16KiB\" }") + buffer),
    ]
}

#[test]
fn a_killed_program_loses_nothing_that_was_flushed() {
    for (seed, (family, device)) in (0..).zip(families()) {
        println!("{family}, seed {seed}");
        let place = WorkFolder::with(&[("d.toml", &device)]);
        let (mut promises, mut rng) = (Promises::new(), Rng::stream(seed, "kept.killed"));
        for _ in 0..5 {
            let server = kept(&place, &[]);
            let mut client = Client::new(&place);
            client.read_all(&mut promises);
            let requests = 40 + rng.below(160);
            client.some(&mut promises, &mut rng, requests);
            // The server is killed with outstanding requests.
            (0..rng.below(16)).for_each(|_| client.any(&mut promises, &mut rng));
            assert_eq!(server.end("KILL").0, None);
            client.bury(&mut promises);
        }
        assert!(promises.durable > 20, "{family}: {} flushes", promises.durable);
        // A signal shuts the drive down in order: acknowledged data is there, flushed or not.
        let server = kept(&place, &[]);
        let mut client = Client::new(&place);
        client.read_all(&mut promises);
        client.some(&mut promises, &mut rng, 100);
        client.finish(&mut promises);
        let (code, said) = server.end("TERM");
        assert_eq!(code, Some(0), "{family}: {said}");
        let acknowledged = promises.acknowledged.clone();
        promises.settle(&acknowledged);
        let _server = kept(&place, &[]);
        Client::new(&place).read_all(&mut promises);
    }
}

#[test]
#[should_panic(expected = "was safe")]
fn a_drive_that_ignores_flushes_is_found() {
    let device = buffered("").replace("size = \"512KiB\"", "size = \"512KiB\"\nflush = \"ignore\"");
    let place = WorkFolder::with(&[("d.toml", &device)]);
    let mut promises = Promises::new();
    let server = kept(&place, &[]);
    let mut client = Client::new(&place);
    client.some(&mut promises, &mut Rng::stream(2, "kept.ignores"), 60);
    client.finish(&mut promises);
    client.flush(&mut promises);
    assert_eq!(server.end("KILL").0, None);
    client.bury(&mut promises);
    let _server = kept(&place, &[]);
    Client::new(&place).read_all(&mut promises);
}

/// A drive in the directory `d` with flushed data, whose server has ended.
fn used(device: &str) -> (WorkFolder, Promises) {
    let place = WorkFolder::with(&[("d.toml", device)]);
    let mut promises = Promises::new();
    let server = kept(&place, &["--sync"]);
    let mut client = Client::new(&place);
    client.some(&mut promises, &mut Rng::stream(1, "kept.used"), 60);
    client.finish(&mut promises);
    client.flush(&mut promises);
    assert_eq!(server.end("TERM").0, Some(0));
    (place, promises)
}

/// The message of a command that must be refused.
#[track_caller]
fn refused(place: &WorkFolder, arguments: &[&str]) -> String {
    let output = place.flashloom(&[&["serve"], arguments].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty() && !place.path("s").exists(), "{said}");
    said
}

#[test]
fn one_program_at_a_time_serves_a_directory() {
    let (place, _) = used(&buffered(""));
    let server = kept(&place, &[]);
    let output = place.flashloom(&["serve", "d.toml", "--socket", "t", "--state", "d"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let process = server.id();
    assert!(said.contains(&format!("error: d: is in use by process {process}; end that one first")), "{said}");
    assert_eq!(server.end("KILL").0, None);
    assert_eq!(place.read("d/lock").trim(), process.to_string(), "the file is left, and means nothing");
    assert_eq!(kept(&place, &[]).end("INT").0, Some(0));
}

#[test]
fn another_device_is_refused_and_another_timing_is_not() {
    let (place, mut promises) = used(&buffered(""));
    let said = refused(&place, &[&KEPT[..], &["--set", "flash.blocks=30"]].concat());
    let wanted =
        "error: d: holds the state of another device, small: flash.blocks is 24 in the state and 30 in this device, ";
    assert!(said.contains(wanted), "{said}");
    assert!(said.contains("; use the device of the state, or choose an empty directory"), "{said}");
    let _server = kept(&place, &["--set", "host.queue-depth=4", "--set", "host.link=sata-300"]);
    Client::new(&place).read_all(&mut promises);
}

#[test]
fn only_a_new_drive_is_prepared() {
    let (place, mut promises) = used(&buffered(""));
    for prepared in [["--precondition", "fill"], ["--load-snapshot", "x"]] {
        let said = refused(&place, &[&KEPT[..], &prepared].concat());
        let wanted = "d: holds a drive already, so it is neither preconditioned nor loaded; leave those options out, or choose \
                      an empty directory";
        assert!(said.contains(wanted), "{said}");
    }
    // A snapshot of the served drive, loaded into another directory, has the drive's data.
    let snapshot = ["ctl", "ctl", "snapshot", "now.state"];
    let server = kept(&place, &["--control", "ctl"]);
    assert_eq!(place.printed(&snapshot), "the snapshot is written\n");
    assert_eq!(server.end("TERM").0, Some(0));
    let other = ["d.toml", "--socket", "s", "--state", "other/drive", "--pace", "max"];
    let loaded = Server::start(&place, &[&other[..], &["--load-snapshot", "now.state"]].concat());
    assert_eq!(loaded.end("TERM").0, Some(0));
    let again = Server::start(&place, &other);
    Client::new(&place).read_all(&mut promises);
    assert_eq!(again.end("TERM").0, Some(0));
    // A filled drive, whose content of zeros takes no space.
    let full = ["d.toml", "--socket", "s", "--state", "full", "--precondition", "fill", "--run", "true"];
    place.printed(&[&["serve"], &full[..]].concat());
    let content = fs::metadata(place.path("full/main.content")).expect("content");
    assert!(content.len() > 1 << 20 && content.blocks() == 0, "{} blocks", content.blocks());
    assert!(fs::metadata(place.path("full/main.slots")).expect("records").blocks() > 0);
    // A directory that was made for a drive which could not be made is removed.
    refused(&place, &["d.toml", "--socket", "s", "--state", "new", "--load-snapshot", "none"]);
    assert!(!place.path("new").exists());
}

/// Changes a byte of a file.
fn flip(place: &WorkFolder, file: &str, at: u64) {
    let file = fs::OpenOptions::new().read(true).write(true).open(place.path(file)).expect("there");
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).expect("a byte");
    file.write_all_at(&[byte[0] ^ 1], at).expect("written");
}

#[test]
fn damage_is_refused_or_a_failed_read_and_never_other_data() {
    let (place, mut promises) = used(&buffered(""));
    let slots = fs::read(place.path("d/main.slots")).expect("records");
    let record = slots.chunks(32).position(|record| record.iter().any(|byte| *byte != 0)).expect("a record") * 32;
    flip(&place, "d/main.slots", record as u64 + 9);
    let said = refused(&place, &KEPT);
    let wanted =
        format!("d/main.slots: is damaged: the record at byte {record} has changed since it was written; restore");
    assert!(said.contains(&wanted), "{said}");
    flip(&place, "d/main.slots", record as u64 + 9);
    flip(&place, "d/format.toml", 200);
    assert!(refused(&place, &KEPT).contains("d/format.toml: is damaged: has changed since it was written"));
    flip(&place, "d/format.toml", 200);

    let victim = promises.acknowledged.iter().position(|number| *number > 0).expect("a place that was written") as u64;
    let held = content(victim, promises.least[victim as usize][0]);
    let bytes = fs::read(place.path("d/main.content")).expect("content");
    let at = bytes.chunks(SECTOR).position(|sector| *sector == held[..SECTOR]).expect("its content") * SECTOR;
    flip(&place, "d/main.content", at as u64 + 300);
    let server = kept(&place, &[]);
    let mut client = Client::new(&place);
    for _ in 0..3 {
        client.send(&mut promises, SentRequest::Read { place: victim });
        assert_eq!(client.take(&mut promises), Some(EIO));
    }
    for other in (0..PLACES).filter(|other| *other != victim) {
        client.send(&mut promises, SentRequest::Read { place: other });
        client.finish(&mut promises);
    }
    let number = promises.places.len() as u64;
    client.send(&mut promises, SentRequest::Write { place: victim, number });
    client.flush(&mut promises);
    client.send(&mut promises, SentRequest::Read { place: victim });
    client.finish(&mut promises);
    let (code, said) = server.end("TERM");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(said.matches("note: d/main.content: is damaged: the content of slot ").count(), 1, "{said}");
}

#[test]
fn a_file_that_cannot_be_written_ends_the_program_and_no_answer_lies() {
    for how in [&[][..], &["--on-cut", "hold"]] {
        let (place, mut promises) = used(&buffered(""));
        let program = crate::common::program();
        let mut command = std::process::Command::new("sh");
        // Files may have 64 KiB: the slots of most blocks lie beyond.
        let limited = "trap '' XFSZ; ulimit -f 128; exec \"$0\" serve \"$@\"";
        command.args(["-c", limited]).arg(program.get_program()).args(KEPT).args(how);
        command.envs([crate::common::NO_STORE]).current_dir(place.path("."));
        let server = Server::of(command);
        let mut client = Client::new(&place);
        client.read_all(&mut promises);
        let mut rng = Rng::stream(7, "kept.limited");
        let mut refusals = 0;
        for _ in 0..2000 {
            client.any(&mut promises, &mut rng);
            if client.open.len() >= 8 || refusals > 0 {
                match client.take(&mut promises) {
                    Some(0) => assert_eq!(refusals, 0, "an answer after the failure"),
                    Some(error) => {
                        assert_eq!(error, ESHUTDOWN);
                        refusals += 1;
                    }
                    None => break,
                }
            }
        }
        client.bury(&mut promises);
        let (code, said) = server.wait();
        assert_eq!(code, Some(2), "{said}");
        let wanted = "cannot be written: File too large (os error 27); raise the limit of a file's size (`ulimit -f`)";
        assert!(said.contains("error: d/main.") && said.contains(wanted), "{said}");
        assert!(!place.path("s").exists());
        let server = kept(&place, &[]);
        Client::new(&place).read_all(&mut promises);
        assert_eq!(server.end("TERM").0, Some(0));
    }
}

#[test]
fn a_power_cut_leaves_the_files_as_the_flash() {
    let (place, mut promises) = used(&buffered(""));
    let mut rng = Rng::stream(3, "kept.cut");
    let server = kept(&place, &["--control", "ctl"]);
    for _ in 0..6 {
        let mut client = Client::new(&place);
        client.read_all(&mut promises);
        client.some(&mut promises, &mut rng, 120);
        (0..rng.below(16)).for_each(|_| client.any(&mut promises, &mut rng));
        place.printed(&["ctl", "ctl", "power-cut"]);
        client.bury(&mut promises);
        place.printed(&["ctl", "ctl", "power-on"]);
    }
    place.printed(&["ctl", "ctl", "power-cut"]);
    assert_eq!(server.end("KILL").0, None);
    let server = kept(&place, &["--control", "ctl"]);
    Client::new(&place).read_all(&mut promises);
    let status = place.json(&["ctl", "ctl", "status", "--json"]);
    assert!(status["last_recovery_s"].as_f64().expect("it recovered") > 0.0, "{status}");
    assert_eq!(status["power_cuts"], 0);
    assert_eq!(server.end("TERM").0, Some(0));
}

#[test]
fn several_drives_have_a_directory_each() {
    let place = WorkFolder::with(&[("d.toml", &buffered(""))]);
    let serve = ["--export", "a=d.toml", "--export", "b-2=d.toml", "--socket", "s", "--pace", "max", "--state", "all"];
    for (life, byte) in [(0, [0; 2]), (1, [7, 9])] {
        let server = Server::start(&place, &serve);
        for (export, byte) in ["a", "b-2"].into_iter().zip(byte) {
            let mut stream = client(&place, "s", export);
            crate::serve::request(&mut stream, 0, 0, 512, &[]);
            assert_eq!(crate::serve::reply(&mut stream, 512), [byte; 512], "life {life}, {export}");
            crate::serve::request(&mut stream, 1, 0, 512, &[if export == "a" { 7 } else { 9 }; 512]);
            crate::serve::reply(&mut stream, 0);
            crate::serve::request(&mut stream, 3, 0, 0, &[]);
            crate::serve::reply(&mut stream, 0);
        }
        assert_eq!(server.end("KILL").0, None);
    }
    fs::remove_file(place.path("s")).expect("the socket of the killed program");
    assert_eq!(testkit::names(&place.path("all")), ["a", "b-2"]);
    let said = refused(&place, &["--export", "a/b=d.toml", "--socket", "s", "--state", "all"]);
    assert!(
        said.contains("--export: `a/b` cannot be in the name of a file, as --state wants it; write letters"),
        "{said}"
    );
    let said = refused(&place, &["--export", "a=d.toml", "--socket", "s", "--state", "all/a"]);
    assert!(said.contains("all/a: holds one drive, and with --export"), "{said}");
    let said = refused(&place, &["d.toml", "--socket", "s", "--state", "all"]);
    assert!(said.contains("all: holds a and no state of a drive; choose an empty directory"), "{said}");
}

#[test]
fn data_in_files_take_no_memory() {
    let place = WorkFolder::with(&[]);
    let serve = ["compare-dirik", "--socket", "s", "--memory", "320MiB", "--run", "true"];
    // Without `--state` the content may outgrow the memory, which a note says, while the tables fit.
    let output = place.flashloom(&[&["serve"], &serve[..]].concat());
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("memory holds what clients write, up to 8.0") && said.contains("with --state DIR"), "{said}");
    let kept = [&serve[..], &["--state", "d"]].concat();
    place.printed(&[&["serve"], &kept[..]].concat());
    // A second start in the same directory works as well.
    place.printed(&[&["serve"], &kept[..]].concat());
    let few = [&["compare-dirik", "--socket", "s", "--memory", "100MiB", "--run", "true"][..], &["--state", "new"]];
    assert!(refused(&place, &few.concat()).contains("for checksums of the content"));
    assert!(!place.path("new").exists());
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    text
}

#[test]
fn metrics_and_health_of_the_running_program() {
    let place = WorkFolder::with(&[("d.toml", &buffered(""))]);
    let metrics = ["d.toml", "--socket", "s", "--pace", "max", "--metrics", "127.0.0.1:0"];
    let mut server = Server::start(&place, &metrics);
    let mut said = server.says();
    let line = said.find(|line| line.contains("metrics")).expect("it says where");
    let address = line.strip_prefix("its metrics are at http://").and_then(|rest| rest.strip_suffix("/metrics"));
    let address = address.unwrap_or_else(|| panic!("{line}"));
    let mut stream = client(&place, "s", "");
    crate::serve::request(&mut stream, 1, 0, 512, &[1; 512]);
    crate::serve::reply(&mut stream, 0);
    let page = get(address, "/metrics");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4"), "{page}");
    assert!(page.contains("flashloom_requests_total{kind=\"write\",result=\"done\"} 1\n"), "{page}");
    assert_eq!(get(address, "/healthz").lines().last(), Some("ok"));
    assert_eq!(server.end("TERM").0, Some(0));
    assert!(TcpStream::connect(address).is_err(), "it ends with the drive");
}
