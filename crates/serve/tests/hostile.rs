//! Clients that send nonsense, stop reading, leave in the middle or say nothing, beside one that checks every byte.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use base::engine::Rng;
use serve::server::Limits;

use crate::client::{Client, FLUSH, READ, TRIM, WRITE, connect, head, hello};
use crate::fixture::{Served, export, patient};
use crate::memory::{Memory, PATIENCE};

/// Connections of each hostile client at a time.
const OPEN: usize = 3;

/// Keeps a few connections open, and replaces the oldest with each new one.
fn crowd(
    socket: &Path,
    until: &AtomicBool,
    counted: &AtomicU64,
    mut each: impl FnMut(&mut std::os::unix::net::UnixStream),
) {
    let mut open = std::collections::VecDeque::new();
    while !until.load(Ordering::Relaxed) {
        let mut stream = connect(socket);
        // A hostile client gives up soon; the server may have closed the connection, which is its right.
        stream.set_read_timeout(Some(Duration::from_millis(20))).expect("a socket");
        stream.set_write_timeout(Some(Duration::from_millis(20))).expect("a socket");
        each(&mut stream);
        open.push_back(stream);
        if open.len() >= OPEN {
            open.pop_front();
        }
        counted.fetch_add(1, Ordering::Relaxed);
    }
}

/// Sound connections with some bytes changed, and plain noise.
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

/// Writes, reads, trims and flushes of one client, each read compared with what was written last.
fn verify(socket: &Path, seed: u64, go_on: &dyn Fn(u64) -> bool) -> u64 {
    const SLOTS: u64 = 64;
    const DEPTH: u64 = 8;
    let mut rng = Rng::stream(seed, "verify");
    let mut client = Client::new(socket, "good");
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

/// Runs the verifying client beside the hostile ones; returns its rounds, and the hostile connections of each kind.
fn besiege(seed: u64, go_on: &(dyn Fn(u64) -> bool + Sync)) -> (u64, [u64; 5]) {
    let [good, other] = [seed, seed + 1].map(|seed| Memory::new(1 << 20, seed));
    let exports = vec![export("", &other), export("other", &other), export("good", &good)];
    let limits = Limits {
        connections: 32,
        handshake: Duration::from_millis(200),
        stall: Duration::from_millis(200),
        ..patient()
    };
    let served = Served::new(exports, limits);
    let (socket, done) = (served.socket(), AtomicBool::new(false));
    let counted = [const { AtomicU64::new(0) }; 5];
    let rounds = thread::scope(|scope| {
        let [garbage, silent, deaf, leaving, slow] = &counted;
        let done = &done;
        scope.spawn(move || {
            let mut rng = Rng::stream(seed, "garbage");
            crowd(socket, done, garbage, |stream| drop(stream.write_all(&noise(&mut rng))));
        });
        // Says nothing, or stops within an option.
        scope.spawn(move || {
            let mut rng = Rng::stream(seed, "silent");
            crowd(socket, done, silent, |stream| {
                let all = hello("other");
                let _ = stream.write_all(&all[..rng.below(all.len() as u64) as usize]);
                let _ = stream.read(&mut [0; 64]);
            });
        });
        // Asks for much and reads nothing.
        scope.spawn(move || {
            crowd(socket, done, deaf, |stream| {
                let _ = stream.write_all(&hello("other"));
                for i in 0..64 {
                    let _ = stream.write_all(&head(READ, 0, i, 0, 1 << 20));
                }
            });
        });
        // Leaves in the middle of a write.
        scope.spawn(move || {
            let mut rng = Rng::stream(seed, "leaving");
            crowd(socket, done, leaving, |stream| {
                let bytes = [hello("other"), head(WRITE, 0, 1, 0, 1 << 20), vec![1; 4096]].concat();
                let _ = stream.write_all(&bytes[..bytes.len() - rng.below(bytes.len() as u64) as usize]);
            });
        });
        // Sends one byte at a time, and takes its time.
        scope.spawn(move || {
            crowd(socket, done, slow, |stream| {
                for byte in [hello("other"), head(READ, 0, 1, 0, 512)].concat() {
                    let _ = stream.write_all(&[byte]);
                    thread::yield_now();
                }
            });
        });
        let enough = |round: u64| go_on(round) || counted.iter().any(|count| count.load(Ordering::Relaxed) < 10);
        let rounds = thread::Builder::new().spawn_scoped(scope, move || verify(socket, seed, &enough));
        let rounds = rounds.expect("a thread").join();
        done.store(true, Ordering::Relaxed);
        rounds
    });
    match rounds {
        Ok(rounds) => (rounds, counted.map(AtomicU64::into_inner)),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

#[test]
fn hostile_clients_harm_no_request_of_another() {
    let start = Instant::now();
    let (rounds, hostile) = besiege(22, &|round| {
        assert!(start.elapsed() < PATIENCE * 2, "the verifying client is too slow: {round} rounds");
        round < 300
    });
    assert!(rounds >= 300 && hostile.iter().all(|count| *count >= 10), "{rounds} {hostile:?}");
}

#[test]
#[ignore = "make soak"]
fn hostile_clients_harm_no_request_of_another_in_five_minutes() {
    let (start, seed) = (Instant::now(), u64::from(std::process::id()));
    let (rounds, hostile) = besiege(seed, &|_| start.elapsed() < Duration::from_secs(300));
    println!("seed {seed}: {rounds} rounds beside {hostile:?} hostile connections");
    assert!(rounds > 1000, "{rounds}");
}
