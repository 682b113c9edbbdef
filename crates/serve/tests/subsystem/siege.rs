//! Hosts that send random bytes, stop in the middle, leave, or reset their controller, beside one that checks every
//! byte.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use base::engine::Rng;
use nvme::{Host, HostCommand, HostConfig, HostEvent, Status, samples};
use serve::nvme_tcp::NvmeLimits;

use super::host::{HostConnection, SMALL, ServerSettings, SubsystemServer, connect, digests, patient};

/// Connections of each kind of hostile hosts at a time.
const OPEN: usize = 3;
/// The blocks that the verifying host writes and reads, and the first of them: no other host uses the drive.
const BLOCKS: u64 = 512;

/// A connection with short timeouts.
fn impatient(address: SocketAddr) -> Option<TcpStream> {
    let stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_millis(20))).ok()?;
    stream.set_write_timeout(Some(Duration::from_millis(20))).ok()?;
    Some(stream)
}

/// Valid connections with some bytes changed or the end missing, and random bytes.
fn noise(rng: &mut Rng) -> Vec<u8> {
    let all = samples();
    let mut bytes = all[rng.below(all.len() as u64) as usize].clone();
    if rng.chance(0.2) {
        bytes = (0..rng.below(4096)).map(|_| rng.bits() as u8).collect();
    }
    if rng.chance(0.3) {
        bytes.truncate(rng.below(bytes.len() as u64 + 1) as usize);
    }
    for _ in 0..rng.below(5) {
        if !bytes.is_empty() {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.bits() as u8;
        }
    }
    bytes
}

/// Sends bytes, and reads for a short time.
fn say(stream: &mut TcpStream, bytes: &[u8]) {
    // Errors are ignored, because the server may have closed the connection.
    let _ = stream.write_all(bytes);
    let _ = stream.read(&mut [0; 4096]);
}

/// Initializes a connection, and connects a queue of a new controller, whatever the answers are.
fn greet(stream: &mut TcpStream, nqn: &str, rng: &mut Rng) -> Host {
    let mut host = Host::new(if rng.chance(0.5) { digests() } else { HostConfig::default() });
    let mut input = vec![0; 8192];
    say_output(stream, &mut host);
    if let Ok(read) = stream.read(&mut input) {
        let (_, event) = host.receive(&input[..read]);
        if matches!(event, Some(HostEvent::Ready)) {
            host.submit(HostCommand::connect(&connect(nqn, 0, u16::MAX)));
            say_output(stream, &mut host);
            let _ = stream.read(&mut input);
        }
    }
    host
}

fn say_output(stream: &mut TcpStream, host: &mut Host) {
    let _ = stream.write_all(&host.output().take().concat());
}

/// One attack of this kind; the connection stays open afterwards.
fn attack(kind: usize, stream: &mut TcpStream, nqn: &str, rng: &mut Rng) {
    match kind {
        // Random bytes.
        0 => say(stream, &noise(rng)),
        // A PDU that never ends.
        1 => say(stream, &[4, 0, 72, 0][..rng.below(4) as usize + 1]),
        // A controller whose host leaves without a shutdown, with outstanding commands.
        2 => drop(greet(stream, nqn, rng)),
        // Random bytes behind a valid beginning, and wrong digests.
        _ => {
            let _host = greet(stream, nqn, rng);
            say(stream, &noise(rng));
        }
    }
}

const KINDS: usize = 4;

/// Runs a host that verifies every byte beside hostile hosts. Returns its rounds, and the connections of each kind of
/// hostile host.
fn besiege(served: &SubsystemServer, seed: u64, goes_on: &dyn Fn(u64) -> bool) -> (u64, [u64; KINDS]) {
    let until = AtomicBool::new(false);
    let counted: [AtomicU64; KINDS] = Default::default();
    let mut rounds = 0;
    thread::scope(|scope| {
        for (kind, counted) in counted.iter().enumerate() {
            let (until, address, nqn) = (&until, served.address, served.nqn.as_str());
            scope.spawn(move || {
                let mut rng = Rng::stream(seed, &format!("siege.{kind}"));
                let mut open = VecDeque::new();
                while !until.load(Ordering::Relaxed) {
                    let Some(mut stream) = impatient(address) else { continue };
                    attack(kind, &mut stream, nqn, &mut rng);
                    open.push_back(stream);
                    if open.len() >= OPEN {
                        open.pop_front();
                    }
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let verifying = || {
            let (_admin, controller) = HostConnection::admin(served);
            let mut io = HostConnection::io_with(served, controller, 1, digests());
            let mut rng = Rng::stream(seed, "siege.verify");
            let mut written = vec![0_u8; BLOCKS as usize];
            while goes_on(rounds) {
                let (start, byte) = (rng.below(BLOCKS - 32), rng.bits() as u8);
                let blocks = 1 + rng.below(32);
                let data = vec![byte; blocks as usize * 512];
                io.done(HostCommand::write(1, start, blocks as u32, data));
                written[start as usize..][..blocks as usize].fill(byte);
                let from = rng.below(BLOCKS - 32);
                let read = io.done(HostCommand::read(1, from, 32, 32 * 512)).data;
                for (at, block) in read.chunks(512).enumerate() {
                    let wanted = written[from as usize + at];
                    assert!(block.iter().all(|byte| *byte == wanted), "seed {seed}: block {}", from + at as u64);
                }
                if rounds.is_multiple_of(16) {
                    assert_eq!(io.run(HostCommand::flush(Some(1))).status, Status::SUCCESS);
                }
                rounds += 1;
            }
        };
        // The hostile hosts end with the verifying one, also if that panics.
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(verifying));
        until.store(true, Ordering::Relaxed);
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    (rounds, counted.map(AtomicU64::into_inner))
}

/// A server whose time limits the verifying host never reaches, however slow the machine is.
fn besieged() -> SubsystemServer {
    let limits = NvmeLimits { controllers: 64, ..patient() };
    SubsystemServer::new(ServerSettings { device: SMALL, limits, ..ServerSettings::default() })
}

#[test]
fn hostile_hosts_harm_no_command_of_another() {
    let served = besieged();
    let (rounds, hostile) = besiege(&served, 22, &|rounds| rounds < 300);
    assert!(rounds >= 300 && hostile.iter().all(|count| *count > 0), "{rounds} {hostile:?}");
}

#[test]
#[ignore = "make soak"]
fn hostile_hosts_harm_no_command_of_another_in_five_minutes() {
    const LONG: Duration = Duration::from_secs(300);
    let (served, seed, start) = (besieged(), u64::from(process::id()), Instant::now());
    let (rounds, hostile) = besiege(&served, seed, &|_| start.elapsed() < LONG);
    println!("seed {seed}: {rounds} rounds beside {hostile:?} hostile connections");
    assert!(rounds > 1000 && hostile.iter().all(|count| *count > 100), "{rounds} {hostile:?}");
}
