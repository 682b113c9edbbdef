//! Drives as subsystems of NVMe over TCP: the command, its lines and its refusals.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::common::{WorkFolder, buffered};

const ZONED: &str = r"name = 'zoned'
flash = { part = 'dirik-2009', channels = 2, chips = 2, blocks = 40, pages = 16 }
ftl = { kind = 'zns', map-unit = '2KiB', zns = { max-open = 4, max-active = 6 } }
";

fn place() -> WorkFolder {
    WorkFolder::with(&[("d.toml", &buffered("")), ("z.toml", ZONED)])
}

/// A server with the lines that it prints at its start.
struct Server {
    child: Child,
    lines: Vec<String>,
}

impl Server {
    fn start(place: &WorkFolder, arguments: &[&str], lines: usize) -> Self {
        let mut command = place.command(&[&["serve"], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut said = BufReader::new(child.stdout.take().expect("piped")).lines();
        let lines = (0..lines).map(|_| said.next().expect("a line").expect("text")).collect();
        Self { child, lines }
    }

    /// The address of the subsystem, from the line that the server prints.
    fn address(&self) -> String {
        let line = self.lines.last().expect("a line");
        let words: Vec<&str> = line.split(' ').collect();
        let ["nvme", "connect", "-t", "tcp", "-a", address, "-s", port, "-n", nqn] = words[..] else {
            panic!("{line}")
        };
        assert!(nqn.starts_with("nqn.2014-08.org.nvmexpress:uuid:") && nqn.len() == 68, "{nqn}");
        format!("{address}:{port}")
    }

    fn end(mut self) -> (Option<i32>, String) {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
        let mut said = String::new();
        self.child.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
        (self.child.wait().expect("it ends").code(), said)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Kills the server, so that a failed test leaves no process.
        let _ = self.child.kill();
    }
}

/// Sends an initialization request; true if the controller answers.
fn greets(address: &str) -> bool {
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    let mut hello = [0; 128];
    (hello[2], hello[4]) = (128, 128);
    stream.write_all(&hello).expect("sent");
    let mut answer = [0; 128];
    stream.read_exact(&mut answer).expect("an answer");
    answer[0] == 1
}

#[test]
fn a_drive_is_served_to_hosts_alone_or_beside_clients_of_nbd() {
    let place = place();
    let server = Server::start(&place, &["z.toml", "--nvme", "127.0.0.1:0"], 1);
    assert!(greets(&server.address()));
    let (code, said) = server.end();
    assert_eq!(code, Some(0), "{said}");
    let server = Server::start(&place, &["d.toml", "--nvme", "127.0.0.1:0", "--socket", "s", "--verbose"], 2);
    assert_eq!(server.lines[0], "nbd+unix:///?socket=s");
    assert!(greets(&server.address()));
    drop(crate::serve::client(&place, "s", ""));
    let (code, said) = server.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("a connection of a host of NVMe has ended: "), "{said}");
}

#[test]
fn a_command_knows_the_subsystem() {
    let place = place();
    let script = "echo \"$traddr $trsvcid $nqn ${uri-none}\"";
    let said = place.printed(&["serve", "z.toml", "--nvme", "127.0.0.1:0", "--run", script]);
    let lines: Vec<&str> = said.lines().collect();
    let [line, variables] = lines[..] else { panic!("{said}") };
    let words: Vec<&str> = line.split(' ').collect();
    assert_eq!(variables, format!("{} {} {} none", words[5], words[7], words[9]));
}

#[test]
fn what_cannot_be_served_says_why() {
    let place = place();
    for (arguments, words) in [
        (&["z.toml"][..], "NBD has no commands for zones; serve the drive with --nvme"),
        (&["z.toml", "--nvme", "127.0.0.1:0", "--socket", "s"], "NBD has no commands for zones"),
        (&["d.toml", "--nvme", "0.0.0.0:4420"], "NVMe/TCP is served without TLS; choose one such as 127.0.0.1:4420"),
        (&["d.toml", "--nvme", "127.0.0.1:0", "--tls-certificates", "."], "NVMe over TCP is served without TLS"),
        (&["d.toml", "--nvme", "here"], "is not an address and a port"),
        (&["d.toml", "--nvme", "127.0.0.1:0", "--nvme-host", "me"], "is not the qualified name of a host"),
    ] {
        let output = place.flashloom(&[&["serve"], arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), said.contains(words)), (Some(2), true), "{arguments:?}: {said}");
    }
}

#[test]
fn several_drives_are_namespaces_with_a_control_socket_each() {
    let place = place();
    let server = Server::start(
        &place,
        &["--export", "a=z.toml", "--export", "b=d.toml", "--nvme", "127.0.0.1:0", "--control", "c", "--json"],
        1,
    );
    let places: serde_json::Value = serde_json::from_str(&server.lines[0]).expect("a line of JSON");
    let subsystem = &places["subsystem"];
    assert_eq!((&places["exports"], &places["socket"]), (&serde_json::json!([]), &serde_json::Value::Null));
    let [zoned, plain] = [0, 1].map(|place| &subsystem["namespaces"][place]);
    assert_eq!((&zoned["id"], &zoned["device"], &zoned["block_bytes"]), (&1.into(), &"zoned".into(), &2048.into()));
    assert_eq!((&plain["id"], &plain["device"], &plain["zones"]), (&2.into(), &"small".into(), &0.into()));
    let address = format!("{}:{}", subsystem["address"].as_str().expect("a text"), subsystem["port"]);
    assert!(greets(&address));
    for (path, device) in [("c.a", "zoned"), ("c.b", "small")] {
        assert_eq!(place.json(&["ctl", path, "status", "--json"])["device"], device);
    }
    // If one drive has no power, the subsystem answers no host.
    place.printed(&["ctl", "c.b", "power-cut"]);
    let mut early = TcpStream::connect(&address).expect("the system takes it");
    assert_eq!(early.read(&mut [0; 1]).unwrap_or(0), 0);
    place.printed(&["ctl", "c.b", "power-on"]);
    assert!(greets(&address));
    let (code, said) = server.end();
    assert_eq!(code, Some(0), "{said}");
}

/// The names and numbers that a text has between these marks.
fn listed(text: &str, begins: &str, ends: &str) -> Vec<String> {
    let inside =
        text.split_once(begins).unwrap_or_else(|| panic!("no `{begins}`")).1.split_once(ends).expect("an end").0;
    let is_name = |word: &&str| word.chars().next().is_some_and(char::is_uppercase);
    let names = inside.split('"').skip(1).step_by(2).filter(is_name).map(str::to_owned);
    let numbers = inside.split("0x").skip(1).map(|word| format!("{}h", word[..2].to_uppercase()));
    if inside.contains('"') { names.collect() } else { numbers.collect() }
}

#[test]
fn the_page_lists_what_the_test_of_mandatory_commands_sends() {
    let read = |path: &str| {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        std::fs::read_to_string(format!("{root}/{path}")).expect("a file of the repository")
    };
    let (page, test) = (read("docs/src/nvme.md"), read("crates/nvme/src/tests/mandatory.rs"));
    let row = |kind: &str, of: &str| {
        let begins = format!("| {kind} | {of} |");
        let row = page.lines().find(|line| line.starts_with(&begins)).unwrap_or_else(|| panic!("no row `{begins}`"));
        let last = row.trim_end_matches('|').rsplit('|').next().expect("three columns").trim();
        last.split(", ").map(str::to_owned).collect::<Vec<_>>()
    };
    let (function, end) = (|name: &str| format!("fn {name}() ->"), "\n}");
    let mut connected = vec!["Connect".to_owned()];
    connected.extend(listed(&test, &function("fabrics"), end));
    assert_eq!(row("Fabrics commands", "every controller"), connected);
    // A request for events has no answer of its own, so the test sends none.
    let mut admin = listed(&test, &function("admin_commands"), end);
    admin.insert(5, "Asynchronous Event Request".to_owned());
    assert_eq!(row("admin commands", "every controller"), admin);
    assert_eq!(row("I/O commands", "every namespace"), listed(&test, &function("nvm_commands"), end));
    assert_eq!(row("I/O commands", "namespaces with zones"), listed(&test, &function("zone_commands"), end));
    assert_eq!(row("I/O commands", "drives with data placement"), listed(&test, &function("placement_commands"), end));
    for (kind, of, list) in [
        ("log pages", "every controller", "const LOG_PAGES:"),
        ("log pages", "drives with data placement", "const PLACEMENT_LOG_PAGES:"),
        ("features", "every controller", "const FEATURES:"),
        ("features", "drives with data placement", "const PLACEMENT_FEATURES:"),
    ] {
        assert_eq!(row(kind, of), listed(&test, list, ";\n"), "{kind} of {of}");
    }
}
