//! The limits of one client, which protect the other clients.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use base::units::Bytes;
use serve::server::Limits;

use crate::client::{Client, READ, WRITE, connect, head, until_closed};
use crate::fixture::{RunningServer, patient};
use crate::memory::{Memory, PATIENCE};

/// Waits until a connection has ended for this reason.
#[track_caller]
fn await_end(served: &RunningServer, why: &str) {
    let start = Instant::now();
    while !served.ended().iter().any(|ended| ended == why) {
        assert!(start.elapsed() < PATIENCE, "`{why}`, {:?}", served.ended());
        std::thread::yield_now();
    }
}

#[test]
fn a_connection_has_room_for_so_many_requests() {
    let memory = Memory::new(1 << 20, 1);
    let served = RunningServer::one(&memory, Limits { requests: 4, ..patient() });
    let mut client = Client::new(served.socket(), "");
    memory.hold();
    for i in 0..20 {
        client.send((READ, 0), i, (0, 512), &[]);
    }
    memory.await_jobs(4);
    memory.release();
    for _ in 0..20 {
        assert_eq!(client.reply().1, 0);
    }
    assert_eq!(memory.most().0, 4);
}

#[test]
fn a_connection_has_room_for_so_many_bytes() {
    let memory = Memory::new(64 << 20, 2);
    let served = RunningServer::one(&memory, Limits { bytes: Bytes::new(32 << 20), ..patient() });
    let mut client = Client::new(served.socket(), "");
    memory.hold();
    for i in 0..8 {
        client.send((READ, 0), i, (0, 12 << 20), &[]);
    }
    memory.await_jobs(2);
    // Another connection has room of its own.
    let mut other = Client::new(served.socket(), "");
    other.send((READ, 0), 1, (0, 32 << 20), &[]);
    memory.await_jobs(3);
    memory.release();
    assert_eq!(other.reply().2.len(), 32 << 20);
    for _ in 0..8 {
        assert_eq!(client.reply().2.len(), 12 << 20);
    }
    assert_eq!(memory.most(), (3, (12 + 12 + 32) << 20));
}

#[test]
fn refused_requests_take_room_too() {
    let memory = Memory::new(1 << 20, 3);
    let served = RunningServer::one(&memory, Limits { requests: 8, stall: Duration::from_millis(100), ..patient() });
    let mut client = Client::new(served.socket(), "");
    // The client reads no replies, so the server stops reading requests and then closes the connection.
    let nonsense = head(99, 0, 1, 0, 0).repeat(100);
    client.raw().set_write_timeout(Some(Duration::from_secs(5))).expect("a socket");
    while client.raw().write_all(&nonsense).is_ok() {}
    await_end(&served, "the client does not read its replies");
}

#[test]
fn further_clients_wait_until_a_connection_ends() {
    let memory = Memory::new(1 << 20, 4);
    let served = RunningServer::one(&memory, Limits { connections: 2, ..patient() });
    let [first, mut second] = [(); 2].map(|()| Client::new(served.socket(), ""));
    let mut third = connect(served.socket());
    third.set_read_timeout(Some(Duration::from_millis(50))).expect("a socket");
    let mut greeting = [0; 18];
    assert!(third.read(&mut greeting).is_err(), "it is not served yet");
    third.set_read_timeout(Some(PATIENCE)).expect("a socket");
    drop(first);
    third.read_exact(&mut greeting).expect("now it is");
    assert_eq!(second.call((READ, 0), (0, 512), &[]), [0; 512]);
}

#[test]
fn a_handshake_takes_no_longer_than_its_limit() {
    let memory = Memory::new(1 << 20, 5);
    let served = RunningServer::one(&memory, Limits { handshake: Duration::from_millis(100), ..patient() });
    // A client that has chosen its export may be idle for longer than the handshake.
    let mut idle = Client::new(served.socket(), "");
    let mut silent = connect(served.socket());
    let mut slow = connect(served.socket());
    slow.write_all(&[0, 0, 0, 3, b'I', b'H']).expect("sent");
    // Both got the greeting only.
    assert_eq!((until_closed(&mut silent), until_closed(&mut slow)), (18, 18));
    // Endless options do not extend the time limit.
    let mut busy = connect(served.socket());
    busy.write_all(&[0, 0, 0, 3]).expect("sent");
    let option = [&b"IHAVEOPT"[..], &[0, 0, 0, 3, 0, 0, 0, 0]].concat();
    let mut read = [0; 4096];
    while busy.write_all(&option).is_ok() && busy.read(&mut read).is_ok_and(|read| read > 0) {}
    await_end(&served, "the client chose no export in time");
    assert_eq!(idle.call((READ, 0), (0, 512), &[]), [0; 512]);
}

#[test]
fn a_client_that_does_not_read_is_given_up_and_harms_nobody() {
    let memory = Memory::new(16 << 20, 6);
    let served = RunningServer::one(&memory, Limits { stall: Duration::from_millis(300), ..patient() });
    let mut other = Client::new(served.socket(), "");
    let mut deaf = Client::new(served.socket(), "");
    for i in 0..8 {
        deaf.send((READ, 0), i, (0, 4 << 20), &[]);
    }
    // The other client goes on meanwhile.
    let mut rounds = 0_u32;
    while !served.ended().iter().any(|why| why == "the client does not read its replies") {
        let data = [rounds as u8; 4096];
        other.call((WRITE, 0), (8 << 20, 4096), &data);
        assert_eq!(other.call((READ, 0), (8 << 20, 4096), &[]), data);
        rounds += 1;
        assert!(rounds < 10_000_000, "{:?}", served.ended());
    }
    assert!(rounds > 1, "{rounds}");
}

#[test]
fn a_client_that_stalls_inside_a_request_gives_its_place_to_others() {
    let memory = Memory::new(1 << 20, 8);
    let limits = Limits { connections: 2, stall: Duration::from_millis(100), ..patient() };
    let served = RunningServer::one(&memory, limits);
    let write = [head(WRITE, 0, 7, 0, 4096), vec![5; 100]].concat();
    // Within the payload of a write, of a write that is refused, and within the head.
    let refused = [head(WRITE, 0, 7, 1 << 40, 4096), vec![5; 100]].concat();
    for begun in [&write[..], &refused, &write[..10]] {
        let stalled = [(); 2].map(|()| {
            let mut client = Client::new(served.socket(), "");
            client.raw().write_all(begun).expect("sent");
            client
        });
        // Both connections are in use until the two clients are given up.
        let mut other = Client::new(served.socket(), "");
        assert_eq!(other.call((READ, 0), (0, 512), &[]), [0; 512]);
        drop(stalled);
    }
    await_end(&served, "the client began a request and did not send the rest");
    // A client that is silent between two requests keeps its connection.
    let mut idle = Client::new(served.socket(), "");
    let mut stalled = Client::new(served.socket(), "");
    stalled.raw().write_all(&write).expect("sent");
    until_closed(stalled.raw());
    assert_eq!(idle.call((READ, 0), (0, 512), &[]), [0; 512], "nothing of the write has reached the drive");
}

#[test]
fn a_client_that_sends_a_payload_byte_by_byte_is_served() {
    let memory = Memory::new(1 << 20, 7);
    let served = RunningServer::one(&memory, patient());
    let mut slow = Client::new(served.socket(), "");
    let mut other = Client::new(served.socket(), "");
    let request = [head(WRITE, 0, 7, 512, 512), vec![5; 512]].concat();
    for (i, byte) in request.iter().enumerate() {
        slow.raw().write_all(&[*byte]).expect("sent");
        if i % 64 == 0 {
            other.call((READ, 0), (0, 512), &[]);
        }
    }
    assert_eq!(slow.reply().1, 0);
    assert_eq!(other.call((READ, 0), (512, 512), &[]), [5; 512]);
}
