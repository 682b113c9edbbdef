//! Clients that use TLS, clients that should and do not, and wrong certificates.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use base::engine::Rng;
use serve::server::{BindError, Limits, Listen, Server, Tls};
use tokio_rustls::rustls::ClientConfig;

use crate::certificates::{Certificates, TlsClient, ask_for_tls, secure};
use crate::client::{Client, DISC, FLUSH, READ, WRITE, connect, hello, until_closed};
use crate::fixture::{RunningServer, export, patient};
use crate::memory::{Memory, PATIENCE};

fn load(certificates: &Certificates, verifies_clients: bool) -> Tls {
    Tls::load(certificates.path(), verifies_clients).unwrap_or_else(|error| panic!("{error}"))
}

/// A client of the default export.
fn client(served: &RunningServer, config: &Arc<ClientConfig>) -> Client<TlsClient<UnixStream>> {
    let stream = secure(connect(served.socket()), config).expect("TLS");
    Client::choose(stream, "").expect("the export")
}

/// Waits until a connection has ended for a reason that begins with `why`.
#[track_caller]
fn await_end(served: &RunningServer, why: &str) {
    let start = Instant::now();
    while !served.ended().iter().any(|ended| ended.starts_with(why)) {
        assert!(start.elapsed() < PATIENCE, "`{why}`, {:?}", served.ended());
        thread::yield_now();
    }
}

#[test]
fn through_tls_everything_is_as_without() {
    let certificates = Certificates::new();
    for verifies_clients in [false, true] {
        let memory = Memory::new(64 << 20, 1);
        let served = RunningServer::secure(vec![export("", &memory)], patient(), load(&certificates, verifies_clients));
        assert!(served.uri.starts_with("nbds+unix:///?socket="), "{}", served.uri);
        let config = certificates.client(verifies_clients.then_some(&certificates));
        let mut one = client(&served, &config);
        let mut rng = Rng::stream(1, "content");
        let data: Vec<u8> = (0..32 << 17).flat_map(|_| rng.bits().to_le_bytes()).collect();
        one.call((WRITE, 0), (512, 32 << 20), &data);
        assert!(client(&served, &config).call((READ, 0), (512, 32 << 20), &[]) == data);
        one.call((FLUSH, 0), (0, 0), &[]);
        assert!(memory.durable()[512..][..32 << 20] == data);
        // Many at once, answered in any order.
        for i in 0..64 {
            one.send((READ, 0), i, (i * 4096, 4096), &[]);
        }
        for _ in 0..64 {
            let (cookie, error, read) = one.reply();
            assert_eq!(error, 0);
            assert!(read == memory.bytes()[cookie as usize * 4096..][..4096]);
        }
        // The server ends TLS in order, with a close notification.
        one.send((DISC, 0), 0, (0, 0), &[]);
        assert_eq!(one.raw().read(&mut [0; 16]).expect("no cut"), 0);
        await_end(&served, "the client is done");
    }
}

#[test]
fn without_tls_no_export_is_there() {
    let certificates = Certificates::new();
    let memory = Memory::new(1 << 20, 2);
    let served = RunningServer::secure(vec![export("", &memory)], patient(), load(&certificates, false));
    let mut plain = connect(served.socket());
    plain.write_all(&hello("")).expect("sent");
    let mut said = [0; 18 + 20 + 15];
    plain.read_exact(&mut said).expect("an answer");
    assert_eq!(said[18 + 8..][..8], [0, 0, 0, 7, 0x80, 0, 0, 5]);
    assert!(said.ends_with(b"start TLS first"));
    // The client may ask for TLS after the refusal.
    plain.write_all(&[&b"IHAVEOPT"[..], &[0, 0, 0, 1, 0, 0, 0, 0]].concat()).expect("sent");
    assert_eq!(until_closed(&mut plain), 0);
    await_end(&served, "the client asked for an export without TLS");
    // Plain bytes behind STARTTLS must never count as encrypted.
    let mut intruded = connect(served.socket());
    let start = [&b"IHAVEOPT"[..], &[0, 0, 0, 5, 0, 0, 0, 0]].concat();
    let all = [&[0, 0, 0, 3], &start[..], &hello("")[4..]].concat();
    intruded.write_all(&all).expect("sent");
    assert_eq!(until_closed(&mut intruded), 18 + 20);
    await_end(&served, "the client asked for TLS and went on in plain");
    assert_eq!(memory.counts(), (0, 0, 0));
}

#[test]
fn a_client_needs_the_certificate_that_the_server_asks_for() {
    let (certificates, stranger) = (Certificates::new(), Certificates::new());
    let memory = Memory::new(1 << 20, 3);
    let tls = load(&certificates, true);
    certificates.revoke_client();
    let since = load(&certificates, true);
    for (tls, shows, good) in [
        (&tls, Some(&certificates), true),
        (&tls, None, false),
        (&tls, Some(&stranger), false),
        (&since, Some(&certificates), false),
    ] {
        let served = RunningServer::secure(vec![export("", &memory)], patient(), tls.clone());
        let stream = secure(connect(served.socket()), &certificates.client(shows));
        // With TLS 1.3 the client's handshake is over before the server has seen its certificate.
        let chosen = stream.and_then(|stream| Client::choose(stream, ""));
        assert_eq!(chosen.is_ok(), good);
        if !good {
            await_end(&served, "the TLS handshake failed");
        }
    }
    // Neither does the client trust the server.
    let served = RunningServer::secure(vec![export("", &memory)], patient(), load(&stranger, false));
    assert!(secure(connect(served.socket()), &certificates.client(None)).is_err());
}

#[test]
fn a_handshake_that_stalls_ends_and_garbage_harms_nobody() {
    let certificates = Certificates::new();
    let memory = Memory::new(1 << 20, 4);
    let limits = Limits { handshake: Duration::from_millis(1500), connections: 12, ..patient() };
    let served = RunningServer::secure(vec![export("", &memory)], limits, load(&certificates, true));
    let config = certificates.client(Some(&certificates));
    // A client that has chosen its export may be idle for longer than the handshake.
    let mut idle = client(&served, &config);
    let mut silent = connect(served.socket());
    ask_for_tls(&mut silent).expect("an answer");
    let mut slow = connect(served.socket());
    ask_for_tls(&mut slow).expect("an answer");
    // The head of a TLS record without its rest.
    slow.write_all(&[22, 3, 1, 2, 0, 1]).expect("sent");
    assert_eq!((until_closed(&mut silent), until_closed(&mut slow)), (0, 0));
    await_end(&served, "the client chose no export in time");

    let (done, garbage) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut rng = Rng::stream(4, "garbage");
            while !done.load(Ordering::Relaxed) {
                let mut stream = connect(served.socket());
                if ask_for_tls(&mut stream).is_ok() {
                    // Some of the random bytes look like the beginning of TLS.
                    let mut noise: Vec<u8> = (0..rng.below(2000)).map(|_| rng.bits() as u8).collect();
                    if rng.chance(0.5) && noise.len() > 5 {
                        noise[..3].copy_from_slice(&[22, 3, 1]);
                    }
                    let _ = stream.write_all(&noise);
                    let _ = stream.shutdown(std::net::Shutdown::Write);
                    until_closed(&mut stream);
                    garbage.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let verify = || {
            let start = Instant::now();
            for round in 0_u64.. {
                if round >= 200 && garbage.load(Ordering::Relaxed) >= 20 {
                    break;
                }
                assert!(start.elapsed() < PATIENCE, "{round} rounds beside {garbage:?}");
                let (data, range) = ([round as u8; 4096], (round % 200 * 4096, 4096));
                idle.call((WRITE, 0), range, &data);
                assert_eq!(idle.call((READ, 0), range, &[]), data, "round {round}");
            }
        };
        let verified = std::panic::catch_unwind(std::panic::AssertUnwindSafe(verify));
        done.store(true, Ordering::Relaxed);
        verified.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    await_end(&served, "the TLS handshake failed");
}

#[test]
fn a_client_that_does_not_read_is_given_up_through_tls_too() {
    let certificates = Certificates::new();
    let memory = Memory::new(16 << 20, 5);
    let limits = Limits { stall: Duration::from_millis(300), ..patient() };
    let served = RunningServer::secure(vec![export("", &memory)], limits, load(&certificates, false));
    let mut deaf = client(&served, &certificates.client(None));
    for i in 0..8 {
        deaf.send((READ, 0), i, (0, 4 << 20), &[]);
    }
    await_end(&served, "the client does not read its replies");
}

#[test]
fn tcp_is_for_others_only_with_their_certificates() {
    let certificates = Certificates::new();
    let everywhere = Listen::Tcp("0.0.0.0:0".parse().expect("an address"));
    let refused = Server::bind_tls(&everywhere, patient(), load(&certificates, false)).err();
    assert!(matches!(refused, Some(BindError::NotLoopback(_))));
    let server = Server::bind_tls(&everywhere, patient(), load(&certificates, true)).expect("it listens");
    assert!(server.uri("a b").starts_with("nbds://0.0.0.0:"), "{}", server.uri("a b"));
}

#[test]
fn a_file_that_is_not_as_it_should_be_is_named() {
    let bad = |certificates: &Certificates, verifies: bool, begins: &str, says: &str| {
        let error = Tls::load(certificates.path(), verifies).expect_err("it is refused").to_string();
        let path = certificates.file(begins);
        assert!(error.starts_with(&path.display().to_string()), "{error}");
        assert!(error.contains(says), "{error}");
        assert!(["choose", "write", "e.g."].iter().any(|remedy| error.contains(remedy)), "{error}");
    };
    let other = Certificates::new();
    for (file, content, says) in [
        ("server-cert.pem", None, "cannot be read"),
        ("server-cert.pem", Some(""), "has no certificate in it"),
        ("server-cert.pem", Some("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"), "is damaged"),
        ("server-cert.pem", Some("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "does not take it"),
        ("server-key.pem", None, "cannot be read"),
        ("server-key.pem", Some("my key"), "has no private key in it"),
        ("server-key.pem", Some("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), "does not take it"),
        ("ca-cert.pem", None, "cannot be read"),
        ("ca-cert.pem", Some("\n"), "has no certificate in it"),
        ("ca-cert.pem", Some("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "does not take it"),
        ("ca-crl.pem", Some("nobody"), "has no list of revoked certificates in it"),
        ("ca-crl.pem", Some("-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n"), "does not take it"),
    ] {
        let certificates = Certificates::new();
        match content {
            Some(content) => certificates.write(file, content),
            None => std::fs::remove_file(certificates.file(file)).expect("removed"),
        }
        bad(&certificates, true, file, says);
        // Without verification of clients, their authority is not needed.
        assert_eq!(Tls::load(certificates.path(), false).is_ok(), file.starts_with("ca-"), "{file}");
    }
    let certificates = Certificates::new();
    std::fs::copy(other.file("server-key.pem"), certificates.file("server-key.pem")).expect("copied");
    bad(&certificates, false, "server-key.pem", "is not the key of the certificate in server-cert.pem");
}
