//! Clients that send nonsense, stop reading, leave in the middle or say nothing, beside one that checks every byte.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{self, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use base::engine::Rng;
use serve::engine::{Command, Pace, Reply, ViolationCallback};
use serve::server::{Export, Hangup, Limits, Tls};
use serve::{Disk, Engine, EngineOptions};
use study::catalogue::Device;
use tokio_rustls::rustls::ClientConfig;

use crate::certificates::{Certificates, secure};
use crate::client::{Client, FLUSH, READ, TRIM, WRITE, connect, head, hello};
use crate::fixture::{RunningServer, export, patient};
use crate::memory::{Memory, PATIENCE};
use crate::programs::installed;

/// Connections of each hostile client at a time.
const OPEN: usize = 3;

/// A connection, through TLS or not.
trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

/// The path of clients to the server: plain or through TLS.
#[derive(Clone)]
struct Way<'a> {
    socket: &'a Path,
    tls: Option<Arc<ClientConfig>>,
}

impl Way<'_> {
    /// A connection with short timeouts.
    fn impatient(&self) -> UnixStream {
        let stream = connect(self.socket);
        hurry(&stream);
        stream
    }

    /// A connection on which a client can choose its export, with short timeouts afterwards.
    fn open(&self) -> io::Result<Box<dyn Stream>> {
        let Some(config) = &self.tls else { return Ok(Box::new(self.impatient())) };
        let stream = secure(connect(self.socket), config)?;
        hurry(&stream.sock);
        Ok(Box::new(stream))
    }

    /// The bytes of a client that chooses an export.
    fn hello(&self, export: &str) -> Vec<u8> {
        let all = hello(export);
        // Through TLS, the client's flags were sent before TLS began.
        if self.tls.is_some() { all[4..].to_vec() } else { all }
    }

    fn client(&self, export: &str) -> io::Result<Client<Box<dyn Stream>>> {
        let mut stream = connect(self.socket);
        if let Some(config) = &self.tls {
            return Client::choose(Box::new(secure(stream, config)?), export);
        }
        stream.read_exact(&mut [0; 18])?;
        stream.write_all(&3_u32.to_be_bytes())?;
        Client::choose(Box::new(stream), export)
    }
}

/// Sets short timeouts. Errors are ignored, because the server may have closed the connection.
fn hurry(stream: &UnixStream) {
    stream.set_read_timeout(Some(Duration::from_millis(20))).expect("a socket");
    stream.set_write_timeout(Some(Duration::from_millis(20))).expect("a socket");
}

/// Keeps a few connections open, and replaces the oldest with each new one.
fn crowd(way: &Way<'_>, until: &AtomicBool, counted: &AtomicU64, mut each: impl FnMut(&mut dyn Stream)) {
    let mut open = VecDeque::new();
    while !until.load(Ordering::Relaxed) {
        // A connection beyond the limit waits, and its handshake may come too late.
        let Ok(mut stream) = way.open() else { continue };
        each(&mut stream);
        open.push_back(stream);
        if open.len() >= OPEN {
            open.pop_front();
        }
        counted.fetch_add(1, Ordering::Relaxed);
    }
}

/// Valid connections with some bytes changed, or random bytes.
fn noise(rng: &mut Rng) -> Vec<u8> {
    let samples = serve::nbd::samples();
    let mut bytes = samples[rng.below(samples.len() as u64) as usize].clone();
    if rng.chance(0.2) {
        bytes = (0..rng.below(4096)).map(|_| rng.bits() as u8).collect();
    }
    for _ in 0..rng.below(5) {
        if !bytes.is_empty() {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.bits() as u8;
        }
    }
    bytes
}

/// Writes, reads, trims and flushes of one client, each read compared with the last written data.
fn verify(way: &Way<'_>, seed: u64, go_on: &dyn Fn(u64) -> bool) -> u64 {
    const SLOTS: u64 = 64;
    const DEPTH: u64 = 8;
    let mut rng = Rng::stream(seed, "verify");
    let start = Instant::now();
    let mut client = loop {
        // The time limit of a handshake is short, and holds for this client, too.
        match way.client("good") {
            Ok(client) => break client,
            Err(error) => assert!(start.elapsed() < PATIENCE, "{error}"),
        }
    };
    let mut expected: Vec<Option<u8>> = vec![Some(0); SLOTS as usize];
    let mut round = 0;
    while go_on(round) {
        // Different slots, so that no two requests of a round overlap.
        let first = rng.below(SLOTS);
        for i in 0..DEPTH {
            let slot = (first + i * 8 + i) % SLOTS;
            let range = (slot * 8192, 512 << rng.below(5));
            match rng.below(8) {
                0 => client.send((FLUSH, 0), 1 << 32, (0, 0), &[]),
                1 => {
                    client.send((TRIM, 0), 1 << 32, (slot * 8192, 8192), &[]);
                    expected[slot as usize] = None;
                }
                2..5 => {
                    let byte = rng.bits() as u8;
                    client.send((WRITE, 0), 1 << 32, (slot * 8192, 8192), &[byte; 8192]);
                    expected[slot as usize] = Some(byte);
                }
                _ => client.send((READ, 0), slot, range, &[]),
            }
        }
        for _ in 0..DEPTH {
            let (slot, error, data) = client.reply();
            assert_eq!(error, 0, "seed {seed} round {round}");
            if slot < SLOTS
                && let Some(byte) = expected[slot as usize]
            {
                assert!(data.iter().all(|found| *found == byte), "seed {seed} round {round} slot {slot}");
            }
        }
        round += 1;
    }
    round
}

/// Runs the verifying client beside the hostile clients. Returns the rounds of the verifying client, and the
/// connections of each kind of hostile client.
fn besiege(way: &Way<'_>, seed: u64, go_on: &(dyn Fn(u64) -> bool + Sync)) -> (u64, [u64; 5]) {
    let done = AtomicBool::new(false);
    let counted = [const { AtomicU64::new(0) }; 5];
    let rounds = thread::scope(|scope| {
        let [garbage, silent, deaf, leaving, slow] = &counted;
        let done = &done;
        scope.spawn(move || {
            let mut rng = Rng::stream(seed, "garbage");
            crowd(way, done, garbage, |stream| {
                let _ = stream.write_all(&noise(&mut rng));
                // Also plain bytes where the server expects the beginning of TLS.
                let _ = way.impatient().write_all(&noise(&mut rng));
            });
        });
        // A client that sends nothing, or stops within an option.
        scope.spawn(move || {
            let mut rng = Rng::stream(seed, "silent");
            crowd(way, done, silent, |stream| {
                let all = way.hello("other");
                let _ = stream.write_all(&all[..rng.below(all.len() as u64) as usize]);
                let _ = stream.read(&mut [0; 64]);
            });
        });
        // A client that asks for much data and reads nothing.
        scope.spawn(move || {
            crowd(way, done, deaf, |stream| {
                let _ = stream.write_all(&way.hello("other"));
                for i in 0..64 {
                    let _ = stream.write_all(&head(READ, 0, i, 0, 1 << 20));
                }
            });
        });
        // A client that leaves in the middle of a write.
        scope.spawn(move || {
            let mut rng = Rng::stream(seed, "leaving");
            crowd(way, done, leaving, |stream| {
                let bytes = [way.hello("other"), head(WRITE, 0, 1, 0, 1 << 20), vec![1; 4096]].concat();
                let _ = stream.write_all(&bytes[..bytes.len() - rng.below(bytes.len() as u64) as usize]);
            });
        });
        // A client that sends one byte at a time, slowly.
        scope.spawn(move || {
            crowd(way, done, slow, |stream| {
                for byte in [way.hello("other"), head(READ, 0, 1, 0, 512)].concat() {
                    let _ = stream.write_all(&[byte]);
                    thread::yield_now();
                }
            });
        });
        let enough = |round: u64| go_on(round) || counted.iter().any(|count| count.load(Ordering::Relaxed) < 10);
        let rounds = thread::Builder::new().spawn_scoped(scope, move || verify(way, seed, &enough));
        let rounds = rounds.expect("a thread").join();
        done.store(true, Ordering::Relaxed);
        rounds
    });
    match rounds {
        Ok(rounds) => (rounds, counted.map(AtomicU64::into_inner)),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Limits that a hostile client reaches within the test.
fn limits() -> Limits {
    Limits { connections: 32, handshake: Duration::from_millis(500), stall: Duration::from_millis(200), ..patient() }
}

/// A server of the drive `good`, and of another drive for hostile clients.
fn serve(good: Arc<dyn Disk>, tls: Option<Tls>) -> RunningServer {
    let other = Memory::new(1 << 20, 1);
    let description = "a drive of a test".to_owned();
    let good = Export { name: "good".to_owned(), description, disk: good, hangup: Hangup::default() };
    let exports = vec![good, export("", &other), export("other", &other)];
    match tls {
        None => RunningServer::new(exports, limits()),
        Some(tls) => RunningServer::secure(exports, limits(), tls),
    }
}

fn load(certificates: &Certificates) -> Tls {
    Tls::load(certificates.path(), true).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn hostile_clients_harm_no_request_of_another() {
    let certificates = Certificates::new();
    for is_secure in [false, true] {
        let served = serve(Memory::new(1 << 20, 22), is_secure.then(|| load(&certificates)));
        let tls = is_secure.then(|| certificates.client(Some(&certificates)));
        let way = Way { socket: served.socket(), tls };
        let start = Instant::now();
        let (rounds, hostile) = besiege(&way, 22, &|round| {
            assert!(start.elapsed() < PATIENCE * 2, "the verifying client is too slow: {round} rounds");
            round < 200
        });
        assert!(rounds >= 200 && hostile.iter().all(|count| *count >= 10), "{rounds} {hostile:?}");
    }
}

/// The time of the long tests.
const LONG: Duration = Duration::from_secs(300);

/// A process that is killed when it is dropped.
struct Child(process::Child);

impl Child {
    fn of(program: &str, arguments: &[&str]) -> Self {
        let mut command = process::Command::new(program);
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().expect("it starts"))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// QEMU as a client through TLS, which serves the drive on at `socket`: fio's URI cannot name certificates for libnbd.
fn through_tls(served: &RunningServer, certificates: &Certificates, socket: &Path) -> Child {
    let credentials = format!("tls-creds-x509,id=t,endpoint=client,dir={}", certificates.path().display());
    let place = format!("file.server.type=unix,file.server.path={}", served.socket().display());
    let export =
        format!("driver=raw,file.driver=nbd,{place},file.export=good,file.tls-creds=t,file.tls-hostname=localhost");
    let at = socket.display().to_string();
    let child = Child::of("qemu-nbd", &["--object", &credentials, "--image-opts", "-t", "-e", "4", "-k", &at, &export]);
    let start = Instant::now();
    while UnixStream::connect(socket).is_err() {
        assert!(start.elapsed() < PATIENCE, "qemu-nbd does not listen");
        thread::yield_now();
    }
    child
}

/// A fio that verifies its data, behind the sectors of the other verifying client; none if fio is not installed.
fn fio(uri: &str) -> Option<Child> {
    if !installed(&["fio"]) {
        return None;
    }
    let runtime = format!("--runtime={}", LONG.as_secs());
    let job = ["--name=t", "--ioengine=nbd", "--offset=1M", "--size=4M", "--iodepth=16", "--time_based", "--minimal"];
    // fio reads back after every 256 writes, and not at its end, for which there is no time.
    let write = ["--rw=randwrite", "--bs=4k", "--fsync=64"];
    let verify = ["--verify=crc32c", "--verify_fatal=1", "--verify_backlog=256", "--verify_state_save=0"];
    Some(Child::of("fio", &[&job[..], &write, &verify, &[&runtime, &format!("--uri={uri}")]].concat()))
}

/// Five minutes of hostile clients beside two that verify every byte, on a drive that verifies itself.
fn besiege_for_long(certificates: Option<&Certificates>) {
    let seed = u64::from(process::id());
    let device = Device::open("demo").expect("it is built in");
    let on_violation: ViolationCallback = Box::new(|violation| println!("violation: {violation}"));
    let options = EngineOptions { pace: Pace::Max, verify: Some(on_violation), ..EngineOptions::new(device) };
    let engine = Engine::start(options, |_| {}).unwrap_or_else(|error| panic!("{error}"));
    let served = serve(Arc::new(engine.clone()), certificates.map(load));
    let tls = certificates.map(|certificates| certificates.client(Some(certificates)));
    let way = Way { socket: served.socket(), tls };
    let plain = certificates.map(|of| of.file("plain"));
    let there = certificates.zip(plain.as_deref()).filter(|_| installed(&["qemu-nbd"]));
    let qemu = there.map(|(of, plain)| through_tls(&served, of, plain));
    let mut fio = match (&qemu, &plain) {
        (Some(_), Some(plain)) => fio(&format!("nbd+unix:///?socket={}", plain.display())),
        (None, Some(_)) => None,
        _ => fio(&served.uri),
    };
    let start = Instant::now();
    // The other clients fill the accept queue of the socket, and libnbd then gives up.
    while fio.is_some() {
        let Ok(Reply::Status(status)) = engine.command(Command::Status) else { panic!("a status") };
        if status.requests[1].done > 0 {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "fio writes nothing");
        thread::yield_now();
    }
    let (rounds, hostile) = besiege(&way, seed, &|_| start.elapsed() < LONG);
    println!("seed {seed}: {rounds} rounds beside {hostile:?} hostile connections");
    if let Some(Child(fio)) = &mut fio {
        let (mut said, mut errors) = (String::new(), String::new());
        fio.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
        fio.stderr.take().expect("piped").read_to_string(&mut errors).expect("text");
        assert!(fio.wait().expect("it ends").success(), "fio: {said}{errors}");
        // The fields of version 3: the error, and the requests that were read and verified, and written.
        let fields: Vec<&str> = said.trim().split(';').collect();
        println!("fio: error {}, {} KiB read and verified, {} KiB written", fields[4], fields[5], fields[46]);
        assert_eq!(fields[4], "0");
    }
    drop((fio, qemu, served));
    let verified = engine.stop().expect("it was served").status.verify.expect("it is verified");
    println!("the drive: {verified:?}");
    assert!(verified.violations == 0 && verified.unreadable == 0, "{verified:?}");
    assert!(rounds > 1000, "{rounds}");
}

#[test]
#[ignore = "make soak"]
fn hostile_clients_harm_no_request_of_another_in_five_minutes() {
    besiege_for_long(None);
}

#[test]
#[ignore = "make soak"]
fn hostile_clients_harm_no_request_of_another_in_five_minutes_through_tls() {
    besiege_for_long(Some(&Certificates::new()));
}
