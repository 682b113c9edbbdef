//! Hosts that break rules or stall hurt themselves only.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use nvme::{HostCommand, HostConfig, Status};
use serve::nvme_tcp::{NvmeLimits, NvmeServer};
use serve::server::BindError;

use super::host::{HostConnection, ServerSettings, SubsystemServer, digests, patient};

fn brief(limits: NvmeLimits) -> SubsystemServer {
    SubsystemServer::new(ServerSettings { limits, ..ServerSettings::default() })
}

#[test]
fn a_host_that_connects_no_queue_is_sent_away() {
    let served = brief(NvmeLimits { handshake: Duration::from_millis(50), ..patient() });
    let mut silent = TcpStream::connect(served.address).expect("somebody listens");
    assert_eq!(silent.read(&mut [0; 1]).expect("the end"), 0);
    // So is a host that initializes the connection and sends nothing more.
    let mut polite = HostConnection::open(served.address, HostConfig::default());
    assert!(polite.is_closed());
    served.await_end("the host connected no queue in time");
}

#[test]
fn half_a_pdu_and_data_that_do_not_come_end_a_connection_and_no_other() {
    let served = brief(NvmeLimits { stall: Duration::from_millis(100), ..patient() });
    let (mut admin, controller) = HostConnection::admin(&served);
    let mut half = HostConnection::io(&served, controller, 1);
    half.stream.write_all(&[4, 0, 72]).expect("sent");
    assert!(half.is_closed());
    served.await_end("the host began a PDU and did not send the rest");
    // A write whose data were requested, and are never sent.
    let mut greedy = HostConnection::io(&served, controller, 2);
    let _ = greedy.host.submit(HostCommand::write(1, 0, 256, vec![1; 128 << 10]));
    greedy.send();
    let mut buffer = [0; 4096];
    while greedy.stream.read(&mut buffer).is_ok_and(|read| read > 0) {}
    served.await_ends("did not send the rest", 2);
    // Between commands a host may be silent.
    std::thread::sleep(Duration::from_millis(150));
    admin.done(HostCommand::keep_alive());
}

#[test]
fn a_wrong_digest_ends_the_connection_or_fails_the_command() {
    let served = SubsystemServer::small();
    let (_admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io_with(&served, controller, 1, digests());
    // A wrong digest of data, at the end of the bytes: the command fails, and nothing is written.
    io.host.submit_as(900, HostCommand::write(1, 0, 1, vec![7; 512]));
    let mut said = io.host.output().take().concat();
    *said.last_mut().expect("a digest") ^= 1;
    io.stream.write_all(&said).expect("sent");
    assert_eq!(io.wait(900).status.bare(), Status::TRANSIENT_TRANSPORT_ERROR);
    assert_eq!(io.done(HostCommand::read(1, 0, 1, 512)).data, vec![0; 512]);
    // A wrong digest of a header ends the connection.
    io.host.submit(HostCommand::flush(None));
    let mut said = io.host.output().take().concat();
    *said.last_mut().expect("a digest") ^= 1;
    io.stream.write_all(&said).expect("sent");
    assert!(io.is_closed());
    assert!(io.error.is_some(), "the host was told why");
    served.await_end("digest");
}

#[test]
fn whoever_does_not_read_is_sent_away_and_others_are_served() {
    let served = brief(NvmeLimits { stall: Duration::from_millis(200), ..patient() });
    let (_admin, controller) = HostConnection::admin(&served);
    let mut deaf = HostConnection::io(&served, controller, 1);
    let mut good = HostConnection::io(&served, controller, 2);
    // More bytes than the buffers of any socket hold.
    for _ in 0..31 {
        deaf.host.submit(HostCommand::read(1, 0, 2048, 1 << 20));
    }
    deaf.send();
    for n in 0..20 {
        good.done(HostCommand::write(1, n, 1, vec![n as u8; 512]));
        assert_eq!(good.done(HostCommand::read(1, n, 1, 512)).data, vec![n as u8; 512]);
    }
    served.await_end("the host does not read its responses");
    good.done(HostCommand::flush(None));
}

#[test]
fn further_connections_wait_for_a_place() {
    let served = brief(NvmeLimits { connections: 2, ..patient() });
    let (_admin, controller) = HostConnection::admin(&served);
    let io = HostConnection::io(&served, controller, 1);
    let mut third = TcpStream::connect(served.address).expect("the system takes it");
    third.set_read_timeout(Some(Duration::from_millis(100))).expect("a socket");
    // The initialization request has no answer.
    let hello = nvme::Host::new(HostConfig::default()).output().take().concat();
    third.write_all(&hello).expect("sent");
    assert!(third.read(&mut [0; 8]).is_err());
    drop(io);
    third.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
    assert_eq!(third.read(&mut [0; 128]).expect("an answer"), 128);
}

#[test]
fn only_this_machine_is_served() {
    for address in ["0.0.0.0:4420", "192.0.2.1:4420", "[::]:4420"] {
        let refused = NvmeServer::bind(address.parse().expect("an address"), patient()).err().expect("refused");
        let text = refused.to_string();
        assert!(matches!(refused, BindError::NotLoopbackNvme(_)) && text.contains("choose one"), "{text}");
    }
}

#[test]
fn bytes_of_another_protocol_end_the_connection() {
    let served = SubsystemServer::small();
    let mut other = TcpStream::connect(served.address).expect("somebody listens");
    other.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
    let mut said = Vec::new();
    other.read_to_end(&mut said).expect("the end");
    assert_eq!(said.first(), Some(&3), "a termination request");
    served.await_end("the host broke NVMe/TCP");
}
