//! The server with a client of a few lines.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::channel;

use super::*;

/// Sends a request and returns the whole response.
pub(crate) fn asked(at: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(at).expect("somebody listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer, and the end");
    text
}

struct Echo;

impl Site for Echo {
    fn answer(&self, question: &Question) -> Answer {
        assert!(question.path != "/panic", "a bug");
        let text = format!("{} {} {:?}\n", question.method, question.path, question.token);
        Answer::text(StatusCode::OK, "text/plain", text)
    }
}

fn local() -> SocketAddr {
    "127.0.0.1:0".parse().expect("an address")
}

fn server(site: impl Site) -> HttpServer {
    let server = HttpServer::bind(local(), "texts are served").unwrap_or_else(|error| panic!("{error}"));
    server.serve("texts", Arc::new(site)).expect("a thread")
}

#[test]
fn only_this_machine_is_served() {
    for at in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        let error = HttpServer::bind(at.parse().expect("an address"), "texts are served").err().expect("refused");
        assert!(error.to_string().contains("texts are served to this machine only; write e.g. 127."), "{error}");
    }
    let server = server(Echo);
    let twice = HttpServer::bind(server.address(), "texts are served").err().expect("it is taken").to_string();
    assert!(twice.contains("choose another address or port"), "{twice}");
    for (head, wanted) in [
        ("Host: localhost", "HTTP/1.1 200 "),
        ("Host: 127.0.0.1:1", "HTTP/1.1 200 "),
        ("Host: example.com", "HTTP/1.1 403 "),
        ("Host: localhost\r\nHost: example.com", "HTTP/1.1 403 "),
        ("Host: rebound.example:9100", "HTTP/1.1 403 "),
        // Browsers name a host.
        ("Accept: */*", "HTTP/1.1 200 "),
    ] {
        let answer = asked(server.address(), &format!("GET /a?b HTTP/1.1\r\n{head}\r\n\r\n"));
        assert!(answer.starts_with(wanted), "{head}: {answer}");
        assert_eq!(answer.contains("GET /a None\n"), wanted.contains("200"), "{answer}");
    }
    let proxied = asked(server.address(), "GET http://example.com/ HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(proxied.starts_with("HTTP/1.1 403 "), "{proxied}");
}

#[test]
fn an_answer_is_whole_and_the_connection_ends() {
    let server = server(Echo);
    let answer = asked(server.address(), "POST /x HTTP/1.1\r\nHost: localhost\r\nX-Flashloom-Token: abc\r\n\r\n");
    for wanted in [
        "content-length: 20\r\n",
        "cache-control: no-store\r\n",
        "frame-ancestors 'none'",
        "\r\n\r\nPOST /x Some(\"abc\")\n",
    ] {
        assert!(answer.contains(wanted), "{wanted}: {answer}");
    }
    // A client of HTTP 1.0, one that closes its sending half after the request, and an invalid request.
    assert!(asked(server.address(), "GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 200 "));
    let mut stream = TcpStream::connect(server.address()).expect("somebody listens");
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("sent");
    stream.shutdown(Shutdown::Write).expect("a socket");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    assert!(text.ends_with("GET / None\n"), "{text}");
    assert!(asked(server.address(), "hello\r\n\r\n").starts_with("HTTP/1.1 400 "));
    let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(2 * LONGEST));
    let mut stream = TcpStream::connect(server.address()).expect("somebody listens");
    // The server may hang up before it has read everything.
    let _ = stream.write_all(long.as_bytes());
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    assert!(!text.contains(" 200 "), "{text}");
    // A panic of the site fails one request only.
    assert!(asked(server.address(), "GET /panic HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 500 "));
    assert!(asked(server.address(), "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200 "));
}

/// A site that passes the sending ends of each stream of events to the test.
struct Streams(Mutex<std::sync::mpsc::Sender<(mpsc::Sender<Bytes>, oneshot::Sender<Infallible>)>>);

impl Site for Streams {
    fn answer(&self, _: &Question) -> Answer {
        let ((to, events), (keep, kept)) = (mpsc::channel(4), oneshot::channel());
        self.0.lock().expect("one lock").send((to, keep)).expect("the test waits");
        Answer::Events(Events { events, kept })
    }
}

#[test]
fn a_stream_goes_on_until_it_is_ended() {
    let (to, streams) = channel();
    let server = server(Streams(Mutex::new(to)));
    let mut stream = TcpStream::connect(server.address()).expect("somebody listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("sent");
    let (to, keep) = streams.recv_timeout(Duration::from_secs(60)).expect("a stream");
    let mut seen = String::new();
    for n in 0..3 {
        to.try_send(Bytes::from(format!("data: {n}\n\n"))).expect("it is read");
        while !seen.contains(&format!("data: {n}\n\n")) {
            let mut some = [0; 256];
            let read = stream.read(&mut some).expect("a piece");
            assert!(read > 0, "{seen}");
            seen.push_str(std::str::from_utf8(&some[..read]).expect("text"));
        }
    }
    assert!(seen.contains("content-type: text/event-stream\r\n"), "{seen}");
    drop((to, keep));
    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("the end");
    // Dropping the server ends its streams.
    let mut stream = TcpStream::connect(server.address()).expect("somebody listens");
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("sent");
    let _stream = streams.recv_timeout(Duration::from_secs(60)).expect("a stream");
    let at = server.address();
    drop(server);
    // The connection is closed, in order or not.
    let _ = stream.read_to_string(&mut rest);
    assert!(TcpStream::connect(at).is_err(), "it is closed");
}

#[test]
fn slow_clients_make_nobody_wait() {
    let server = server(Echo);
    let connect = || {
        let mut stream = TcpStream::connect(server.address()).expect("somebody listens");
        stream.write_all(b"GET / HT").expect("sent");
        stream
    };
    // Three times as many connections as there is room for; none of them ends its request.
    let slow: Vec<TcpStream> = (0..3 * CONNECTIONS).map(|_| connect()).collect();
    let mut stream = TcpStream::connect(server.address()).expect("somebody listens");
    // Half of the time limit of a request head, so that no other connection can time out before.
    stream.set_read_timeout(Some(HEAD / 2)).expect("a socket");
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
    drop(slow);
}
