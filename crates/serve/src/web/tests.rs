//! The page of a drive that works.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::mpsc::channel;
use std::time::Duration;

use base::io::PlacementId;
use base::units::Lba;
use serde_json::Value;
use study::catalogue::Device;

use super::*;
use crate::engine::tests::small;
use crate::engine::tests::zones::zoned;
use crate::engine::{Fault, Pace};
use crate::http::tests::asked;
use crate::{Disk, Engine, EngineOptions, Job, JobFailure, Operation};

fn engine() -> (Engine, SocketAddr, String) {
    served(None)
}

fn served(verify: Option<crate::engine::ViolationCallback>) -> (Engine, SocketAddr, String) {
    of(EngineOptions { verify, ..EngineOptions::new(small("")) })
}

fn of(options: EngineOptions) -> (Engine, SocketAddr, String) {
    let web = WebServer::bind("127.0.0.1:0".parse().expect("an address")).unwrap_or_else(|error| panic!("{error}"));
    let url = web.url();
    let (at, token) = url.strip_prefix("http://").and_then(|url| url.split_once("/#token=")).expect("both");
    let (at, token) = (at.parse().expect("an address"), token.to_owned());
    let options = EngineOptions { pace: Pace::Max, web: Some(web), ..options };
    (Engine::start(options, |_| {}).unwrap_or_else(|error| panic!("{error}")), at, token)
}

fn ask(drive: &Engine, operation: Operation, start: u64) -> Result<Vec<u8>, JobFailure> {
    ask_for(drive, operation, start, 8)
}

fn ask_for(drive: &Engine, operation: Operation, start: u64, sectors: u64) -> Result<Vec<u8>, JobFailure> {
    let (to, result) = channel();
    let answer = Box::new(move |result| to.send(result).expect("somebody waits"));
    drive.submit(Job::new(operation, Lba::new(start), Sectors::new(sectors), answer));
    result.recv_timeout(Duration::from_secs(60)).expect("it is answered")
}

/// The server-sent events of a page.
struct EventStream {
    stream: BufReader<TcpStream>,
}

impl EventStream {
    fn new(at: SocketAddr) -> Self {
        let mut stream = TcpStream::connect(at).expect("somebody listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
        stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
        Self { stream: BufReader::new(stream) }
    }

    fn next(&mut self, name: &str) -> Value {
        let mut is_wanted = false;
        loop {
            let mut line = String::new();
            assert!(self.stream.read_line(&mut line).expect("an event") > 0, "it has ended");
            if let Some(other) = line.strip_prefix("event: ") {
                is_wanted = other.trim() == name;
            }
            if let Some(data) = line.strip_prefix("data: ").filter(|_| is_wanted) {
                return serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"));
            }
        }
    }

    /// The first frame that satisfies `wanted`.
    fn until(&mut self, mut wanted: impl FnMut(&Value) -> bool) -> Value {
        for _ in 0..200 {
            let frame = self.next("frame");
            if wanted(&frame) {
                return frame;
            }
        }
        panic!("no such frame comes");
    }
}

fn post(at: SocketAddr, path: &str, token: Option<&str>) -> String {
    let token = token.map(|token| format!("X-Flashloom-Token: {token}\r\n")).unwrap_or_default();
    asked(at, &format!("POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{token}Content-Length: 0\r\n\r\n"))
}

#[test]
fn the_events_say_what_the_drive_does() {
    let (drive, at, _) = engine();
    let mut watching = EventStream::new(at);
    assert_eq!(watching.next("hello")["device"], "small");
    watching.next("past");
    watching.next("frame");
    for n in 0..64 {
        let write = Operation::Write { data: vec![n as u8; 4096], fua: true };
        assert_eq!(ask(&drive, write, n * 8), Ok(Vec::new()));
        assert_eq!(ask(&drive, Operation::Read, n * 8), Ok(vec![n as u8; 4096]));
    }
    // The work may be spread over several frames.
    let (mut latencies, mut rates, mut worked) = (BTreeMap::new(), [0.0; 2], BTreeMap::new());
    let frame = watching.until(|frame| {
        let point = &frame["point"];
        for kind in ["read", "write"] {
            latencies.extend(point[kind]["p99"].as_f64().map(|us| (kind, us)));
        }
        for (rate, of) in rates.iter_mut().zip(["read_bytes_per_s", "write_bytes_per_s"]) {
            *rate += point[of].as_f64().expect("a number");
        }
        for (name, share) in CAUSES.iter().zip(point["die_time"].as_array().expect("shares")) {
            *worked.entry(*name).or_insert(0.0) += share.as_f64().expect("a share");
        }
        frame["total"]["reads"] == 64 && frame["total"]["writes"] == 64
    });
    assert_eq!(frame["total"]["write_bytes"], 64 * 4096);
    assert_eq!(latencies.keys().copied().collect::<Vec<_>>(), ["read", "write"]);
    assert!(latencies.values().all(|us| *us > 1.0), "{latencies:?}");
    assert!(rates.iter().all(|rate| *rate > 4096.0), "{rates:?}");
    assert!(worked["host reads"] > 0.0 && worked["host writes"] > 0.0 && worked["garbage collection"] == 0.0);
    let array = &frame["arrays"][0];
    let dies = array["channels"].as_u64().expect("a number") * array["dies"].as_u64().expect("a number");
    assert_eq!(array["busy"].as_array().map(|busy| busy.len() as u64), Some(dies));
    assert!(frame["total"]["write_amplification"].as_f64().is_some_and(|waf| waf >= 1.0), "{frame}");
    let wear = watching.next("wear");
    let blocks: u64 = wear["blocks"].as_array().expect("classes").iter().filter_map(Value::as_u64).sum();
    assert!(blocks > 0 && wear["least"].as_u64() <= wear["most"].as_u64(), "{wear}");
    // A later watcher gets the earlier points.
    let mut later = EventStream::new(at);
    assert!(!later.next("past").as_array().expect("points").is_empty());
    later.next("wear");
    drop(drive.stop());
}

#[test]
fn the_power_is_cut_with_the_token_and_not_without() {
    let (drive, at, token) = engine();
    let mut watching = EventStream::new(at);
    watching.until(|frame| frame["is_on"] == true);
    let wrong = "0".repeat(token.len());
    for (path, token) in
        [("/power/cut", None), ("/power/cut", Some(&*wrong)), ("/power/off", Some("")), ("/power/on", None)]
    {
        let answer = post(at, path, token);
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("refused"), "{answer}");
    }
    let elsewhere = format!("POST /power/cut HTTP/1.1\r\nHost: evil.example\r\nX-Flashloom-Token: {token}\r\n\r\n");
    assert!(asked(at, &elsewhere).starts_with("HTTP/1.1 403 "));
    let got = asked(at, "GET /power/cut HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(got.starts_with("HTTP/1.1 405 ") && got.contains("allow: POST\r\n"), "{got}");
    assert!(ask(&drive, Operation::Read, 0).is_ok(), "it has power");

    let cut = post(at, "/power/cut", Some(&token));
    assert!(cut.starts_with("HTTP/1.1 200 ") && cut.contains("the power is cut: 0 requests"), "{cut}");
    assert_eq!(ask(&drive, Operation::Read, 0), Err(JobFailure::NoPower));
    let told = watching.until(|frame| frame["is_on"] == false);
    assert_eq!((&told["power_cuts"], &told["incidents"][0]["kind"]), (&1.into(), &"power".into()));
    let again = post(at, "/power/cut", Some(&token));
    assert!(again.starts_with("HTTP/1.1 409 ") && again.contains("send power-on first"), "{again}");
    assert!(post(at, "/power/on", Some(&token)).contains("the power is on; the scan"));
    assert!(ask(&drive, Operation::Read, 0).is_ok());
    assert!(post(at, "/power/off", Some(&token)).contains("the power is off"));
    drop(drive.stop());
    assert!(TcpStream::connect(at).is_err(), "it ends with the drive");
}

#[test]
fn failures_are_incidents() {
    let (drive, at, _) = engine();
    assert_eq!(ask(&drive, Operation::Write { data: vec![7; 4096], fua: true }, 0), Ok(Vec::new()));
    let mut watching = EventStream::new(at);
    watching.next("frame");
    let fault = Fault { operation: flash::nand::FaultKind::Read, after: 0, count: 1, drive: None };
    assert!(drive.command(Command::Fault(fault)).is_ok());
    assert_eq!(ask(&drive, Operation::Read, 0), Err(JobFailure::Drive(ssd::Status::Uncorrectable)));
    let mut texts = Vec::new();
    while !texts.contains(&"1 request failed".to_owned()) {
        let told = watching.until(|frame| frame["incidents"].as_array().is_some_and(|all| !all.is_empty()));
        let all = told["incidents"].as_array().expect("incidents");
        texts.extend(all.iter().map(|one| one["text"].as_str().expect("a text").to_owned()));
    }
    assert_eq!(texts[0], "told: 1 read will fail");
    let health = &watching.next("frame")["health"];
    let expected = serde_json::json!({
        "read_only": false, "uncorrectable_requests": 1, "damaged_reads": null, "verified": null,
    });
    assert_eq!(*health, expected);
    drop(drive.stop());
}

#[test]
fn the_page_says_what_was_verified() {
    let (drive, at, _) = served(Some(Box::new(|_| {})));
    let mut watching = EventStream::new(at);
    assert_eq!(watching.next("frame")["health"]["verified"], serde_json::json!({ "sectors": 0, "violations": 0 }));
    assert_eq!(ask(&drive, Operation::Write { data: vec![7; 4096], fua: true }, 0), Ok(Vec::new()));
    assert_eq!(ask(&drive, Operation::Read, 0), Ok(vec![7; 4096]));
    let frame = watching.until(|frame| frame["total"]["reads"] == 1);
    assert_eq!(frame["health"]["verified"], serde_json::json!({ "sectors": 8, "violations": 0 }));
    drop(drive.stop());
}

#[test]
fn the_page_and_the_metrics_are_at_one_address() {
    let (drive, at, token) = engine();
    let get = |path: &str| asked(at, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    let page = get("/");
    assert!(page.starts_with("HTTP/1.1 200 ") && page.contains("text/html"), "{}", &page[..300]);
    assert!(!page.contains(&token), "the token is told to nobody");
    assert!(get("/metrics").contains("flashloom_powered 1\n"));
    assert!(get("/healthz").ends_with("\r\n\r\nok\n"));
    assert!(get("/other").starts_with("HTTP/1.1 404 "));
    assert!(asked(at, "POST / HTTP/1.1\r\nHost: localhost\r\n\r\n").contains("allow: GET\r\n"));
    drop(drive.stop());
}

#[test]
fn a_drive_with_zones_shows_their_states_and_write_pointers() {
    let (drive, at, _) = of(EngineOptions { zones: true, ..EngineOptions::new(zoned("")) });
    let mut watching = EventStream::new(at);
    // Half of a zone of 128 KiB, whose size and capacity are equal.
    assert_eq!(ask_for(&drive, Operation::Write { data: vec![1; 64 << 10], fua: false }, 0, 128), Ok(Vec::new()));
    let zones = (0..20).map(|_| watching.next("zones")).find(|zones| zones["written"][0] == 50).expect("it is shown");
    let states = zones["states"].as_str().expect("letters");
    assert!(states.starts_with("oee") && states.len() == zones["written"].as_array().map_or(0, Vec::len), "{zones}");
    assert_eq!(zones["limits"], serde_json::json!([6, 4]));
    drive.stop().expect("it was served");
}

#[test]
fn a_drive_with_data_placement_shows_its_handles() {
    let device = Device::open_with("demo", ["ftl.superblock-dies=4", "ftl.fdp.handles=3"]);
    let (drive, at, _) = of(EngineOptions::new(device.unwrap_or_else(|faults| panic!("{faults}"))));
    let mut watching = EventStream::new(at);
    let (to, result) = channel();
    let write = Operation::Write { data: vec![1; 1 << 20], fua: true };
    let job = Job::new(write, Lba::new(0), Sectors::new(2048), move |result| to.send(result).expect("somebody waits"));
    drive.submit(Job { placement: PlacementId::new(2), ..job });
    assert_eq!(result.recv_timeout(Duration::from_secs(60)).expect("it is answered"), Ok(Vec::new()));
    let frame = watching.until(|frame| frame["handles"][2][1].as_f64().is_some_and(|share| share > 0.0));
    assert_eq!((&frame["handles"][2][0], &frame["handles"][0][1]), (&Value::from("handle 2"), &Value::from(0.0)));
    drive.stop().expect("it was served");
}
