//! Requests over sockets: order, durability, several exports, ends.

use std::time::Instant;

use base::engine::Rng;
use serve::server::{Limits, Listen, Server};

use crate::client::{Client, DISC, FLUSH, FUA, READ, TRIM, WRITE, connect};
use crate::fixture::{RunningServer, export, patient};
use crate::memory::{Memory, PATIENCE};

/// The bytes of a write.
fn pattern(seed: u64, length: usize) -> Vec<u8> {
    let mut rng = Rng::stream(seed, "pattern");
    (0..length.div_ceil(8)).flat_map(|_| rng.bits().to_le_bytes()).take(length).collect()
}

#[test]
fn several_connections_read_what_they_wrote_in_any_order_of_replies() {
    const PART: u64 = 256 << 10;
    let memory = Memory::new(3 * PART as usize, 1);
    let served = RunningServer::one(&memory, patient());
    let mut overtaken = 0;
    let mut clients: Vec<_> = (0..3).map(|_| Client::new(served.socket(), "")).collect();
    for round in 0..20_u64 {
        // Eight writes of each client to places of their own, then all of them read back.
        for (command, flags) in [(WRITE, 0), (READ, 0)] {
            let place = |client: u64, i: u64| client * PART + i * 8192;
            let content = |client: u64, i: u64| pattern(round << 16 | client << 8 | i, 512 * (i as usize + 1));
            for (client, connection) in clients.iter_mut().enumerate() {
                for i in 0..8 {
                    let data = content(client as u64, i);
                    let range = (place(client as u64, i), data.len() as u32);
                    connection.send((command, flags), i, range, if command == WRITE { &data } else { &[] });
                }
            }
            for (client, connection) in clients.iter_mut().enumerate() {
                for i in 0..8 {
                    let (cookie, error, data) = connection.reply();
                    assert_eq!(error, 0);
                    overtaken += u64::from(cookie != i);
                    if command == READ {
                        assert_eq!(data, content(client as u64, cookie), "round {round}");
                    }
                }
            }
        }
    }
    assert!(overtaken > 50, "only {overtaken} replies came out of order");
}

#[test]
fn a_flush_covers_what_other_connections_were_told() {
    let memory = Memory::new(1 << 20, 2);
    let served = RunningServer::one(&memory, patient());
    let [mut writer, mut other] = [(); 2].map(|()| Client::new(served.socket(), ""));
    for i in 0..10 {
        let data = pattern(i, 4096);
        writer.call((WRITE, 0), (i * 4096, 4096), &data);
        let range = i as usize * 4096..(i as usize + 1) * 4096;
        assert_ne!(memory.durable()[range.clone()], data);
        other.call((FLUSH, 0), (0, 0), &[]);
        assert_eq!(memory.durable()[range], data);
    }
    // Forced unit access needs no flush on writes; on a trim it adds one.
    let (_, _, flushes) = memory.counts();
    let data = pattern(99, 4096);
    writer.call((WRITE, FUA), (0, 4096), &data);
    assert_eq!(memory.durable()[..4096], data);
    assert_eq!(memory.counts().2, flushes);
    writer.call((TRIM, FUA), (0, 4096), &[]);
    assert_eq!(memory.durable()[..4096], [0xdd; 4096]);
    assert_eq!(memory.counts().2, flushes + 1);
}

#[test]
fn exports_are_drives_of_their_own_and_a_drive_may_have_two_names() {
    let [first, second] = [3, 4].map(|seed| Memory::new(1 << 20, seed));
    let served =
        RunningServer::new(vec![export("", &first), export("first", &first), export("b/2", &second)], patient());
    let mut client = Client::new(served.socket(), "first");
    client.call((WRITE, 0), (0, 512), &[1; 512]);
    assert_eq!(Client::new(served.socket(), "").call((READ, 0), (0, 512), &[]), [1; 512]);
    assert_eq!(Client::new(served.socket(), "b/2").call((READ, 0), (0, 512), &[]), [0; 512]);
}

#[test]
fn large_requests_cross_in_many_pieces() {
    let memory = Memory::new(64 << 20, 5);
    let served = RunningServer::one(&memory, patient());
    let mut client = Client::new(served.socket(), "");
    let data = pattern(5, 32 << 20);
    client.call((WRITE, 0), (512, 32 << 20), &data);
    assert_eq!(client.call((READ, 0), (512, 32 << 20), &[]), data);
    assert_eq!(memory.bytes()[512..512 + (32 << 20)], data);
}

#[test]
fn what_is_under_way_is_answered_when_the_client_leaves_or_the_server_stops() {
    for stopped in [false, true] {
        let memory = Memory::new(1 << 20, 6);
        let mut served = RunningServer::one(&memory, patient());
        let mut client = Client::new(served.socket(), "");
        memory.hold();
        for i in 0..5 {
            client.send((WRITE, 0), i, (i * 512, 512), &[i as u8 + 1; 512]);
        }
        memory.await_jobs(5);
        if stopped {
            served.stop();
        } else {
            client.send((DISC, 0), 0, (0, 0), &[]);
        }
        memory.release();
        for _ in 0..5 {
            assert_eq!(client.reply().1, 0);
        }
        assert_eq!(client.until_closed(), 0);
        served.stop();
        served.join();
        assert!(!served.socket().exists());
        let why = if stopped { "the server was stopped" } else { "the client is done" };
        assert_eq!(served.ended(), [why]);
        assert_eq!(memory.bytes()[4 * 512], 5);
    }
}

#[test]
fn a_stopped_server_does_not_wait_for_a_drive_for_ever() {
    let memory = Memory::new(1 << 20, 7);
    let limits = Limits { shutdown: std::time::Duration::from_millis(50), ..patient() };
    let mut served = RunningServer::one(&memory, limits);
    let mut client = Client::new(served.socket(), "");
    // Also a connection that has chosen no export.
    let mut silent = connect(served.socket());
    memory.hold();
    client.send((WRITE, 0), 1, (0, 512), &[1; 512]);
    memory.await_jobs(1);
    served.stop();
    let before = Instant::now();
    served.join();
    assert!(before.elapsed() < PATIENCE);
    assert_eq!(client.until_closed(), 0);
    crate::client::until_closed(&mut silent);
}

#[test]
fn a_lost_request_ends_its_connection_and_no_other() {
    let memory = Memory::new(1 << 20, 8);
    let served = RunningServer::one(&memory, patient());
    let [mut lost, mut other] = [(); 2].map(|()| Client::new(served.socket(), ""));
    memory.hold();
    lost.send((WRITE, 0), 1, (0, 512), &[1; 512]);
    memory.await_jobs(1);
    memory.lose();
    assert_eq!(lost.until_closed(), 0);
    memory.release();
    assert_eq!(other.call((READ, 0), (0, 512), &[]), [0; 512]);
    assert_eq!(served.ended(), ["the drive lost a request"]);
}

#[test]
fn a_drive_hangs_up_after_its_last_answers_and_new_clients_may_come() {
    let [cut, other] = [11, 12].map(|seed| Memory::new(1 << 20, seed));
    let exports = [export("cut", &cut), export("other", &other)];
    let hangup = exports[0].hangup.clone();
    let served = RunningServer::new(exports.to_vec(), patient());
    let [mut first, mut idle] = [(); 2].map(|()| Client::new(served.socket(), "cut"));
    let mut unharmed = Client::new(served.socket(), "other");
    cut.hold();
    first.send((WRITE, 0), 1, (0, 512), &[1; 512]);
    cut.await_jobs(1);
    hangup.hang_up();
    assert_eq!(crate::client::until_closed(idle.raw()), 0);
    cut.release();
    assert_eq!(first.reply().1, 0);
    assert_eq!(first.until_closed(), 0);
    assert_eq!(Client::new(served.socket(), "cut").call((READ, 0), (0, 512), &[]), [1; 512]);
    assert_eq!(unharmed.call((READ, 0), (0, 512), &[]), [0; 512]);
}

#[test]
fn a_write_that_does_not_arrive_whole_never_reaches_the_drive() {
    use std::io::Write;
    let memory = Memory::new(1 << 20, 9);
    let mut served = RunningServer::one(&memory, patient());
    let mut client = Client::new(served.socket(), "");
    let mut broken = Client::new(served.socket(), "");
    broken.raw().write_all(&crate::client::head(WRITE, 0, 1, 0, 4096)).expect("sent");
    broken.raw().write_all(&[1; 4095]).expect("sent");
    drop(broken);
    assert_eq!(client.call((READ, 0), (0, 4096), &[]), [0; 4096]);
    drop(client);
    served.stop();
    served.join();
    assert_eq!(memory.counts(), (1, 0, 0));
}

#[test]
fn tcp_serves_as_a_unix_socket_does() {
    use std::io::{Read, Write};
    let memory = Memory::new(1 << 20, 10);
    let listen = Listen::Tcp("127.0.0.1:0".parse().expect("an address"));
    let server = Server::bind(&listen, patient()).expect("it listens");
    let (uri, stopper) = (server.uri(""), server.stopper());
    let exports = vec![export("", &memory)];
    let thread = std::thread::Builder::new().spawn(move || server.run(exports)).expect("a thread");
    let address = uri.strip_prefix("nbd://").and_then(|uri| uri.strip_suffix('/')).expect("a URI");
    let mut stream = std::net::TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let mut said = [0; 18 + 20 + 12 + 20 + 14 + 20 + 16];
    stream.write_all(&crate::client::hello("")).expect("sent");
    stream.write_all(&crate::client::head(FLUSH, 0, 7, 0, 0)).expect("sent");
    stream.read_exact(&mut said).expect("all replies");
    assert_eq!(said[said.len() - 16..][..8], [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0]);
    stopper.stop();
    thread.join().expect("it ends").expect("well");
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody listens any more");
}
