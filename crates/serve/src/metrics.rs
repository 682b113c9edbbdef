//! `/metrics` for Prometheus and `/healthz`, over HTTP/1.0 on the loopback interface.
//!
//! A scraper sends one request without a body on each connection, and gets one answer. That is the whole of HTTP that is
//! spoken here, so no library is needed for it.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::engine::{MEDIA_TYPE, Status};

/// Bytes of the longest request.
const LONGEST: u64 = 8 << 10;
/// A client that sends nothing for so long, or does not read, is gone. Others wait meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why metrics cannot be served.
#[derive(Debug)]
pub enum MetricsError {
    /// Others than this machine would see them.
    Open(SocketAddr),
    /// The system refuses.
    Io(SocketAddr, io::Error),
}

impl fmt::Display for MetricsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(at) => write!(f, "{at}: metrics are served to this machine only; write e.g. 127.0.0.1:9100"),
            Self::Io(at, error) => write!(f, "{at}: {error}; choose another address or port"),
        }
    }
}

impl std::error::Error for MetricsError {}

/// A server of metrics.
pub struct MetricsServer {
    at: SocketAddr,
    listener: Option<TcpListener>,
    thread: Option<JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
}

impl MetricsServer {
    /// Takes the address; port 0 takes a free one.
    ///
    /// # Errors
    /// If it is not one of this machine alone, or the system refuses.
    pub fn bind(at: SocketAddr) -> Result<Self, MetricsError> {
        if !at.ip().is_loopback() {
            return Err(MetricsError::Open(at));
        }
        let failed = |error| MetricsError::Io(at, error);
        let listener = TcpListener::bind(at).map_err(failed)?;
        let at = listener.local_addr().map_err(failed)?;
        Ok(Self { at, listener: Some(listener), thread: None, is_over: Arc::default() })
    }

    /// The address.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.at
    }

    /// Answers on a thread; `status` gives none if the drive is not served any more.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn serve(mut self, status: impl Fn() -> Option<Status> + Send + 'static) -> io::Result<Self> {
        let (listener, is_over) = (self.listener.take(), Arc::clone(&self.is_over));
        let thread = std::thread::Builder::new().name("metrics".to_owned());
        let thread = thread.spawn(move || {
            for stream in listener.iter().flat_map(TcpListener::incoming) {
                if is_over.load(Ordering::Acquire) {
                    return;
                }
                // The client is gone, or says nothing.
                let _ = stream.and_then(|stream| answer(&stream, &status));
            }
        });
        self.thread = Some(thread?);
        Ok(self)
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take()
            && TcpStream::connect(self.at).is_ok()
        {
            let _ = thread.join();
        }
    }
}

fn answer(mut stream: &TcpStream, status: &dyn Fn() -> Option<Status>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut bytes = stream.take(LONGEST);
    let mut some = [0; 512];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match bytes.read(&mut some)? {
            0 => break,
            read => request.extend_from_slice(&some[..read]),
        }
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (status, media, body) = match (words.next(), words.next()) {
        (Some(b"GET"), Some(b"/metrics")) => match status() {
            Some(status) => ("200 OK", MEDIA_TYPE, status.prometheus()),
            None => ("503 Service Unavailable", "text/plain", "the drive is not served any more\n".to_owned()),
        },
        (Some(b"GET"), Some(b"/healthz")) => match status() {
            Some(_) => ("200 OK", "text/plain", "ok\n".to_owned()),
            None => ("503 Service Unavailable", "text/plain", "the drive is not served any more\n".to_owned()),
        },
        (Some(b"GET"), _) => ("404 Not Found", "text/plain", "there are /metrics and /healthz\n".to_owned()),
        _ => ("405 Method Not Allowed", "text/plain", "ask with GET\n".to_owned()),
    };
    let head = format!("HTTP/1.0 {status}\r\nContent-Type: {media}\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(server: &MetricsServer, request: &str) -> String {
        let mut stream = TcpStream::connect(server.address()).expect("somebody listens");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        text
    }

    #[test]
    fn one_answer_for_each_connection_and_none_beyond_this_machine() {
        let everybody: SocketAddr = "0.0.0.0:0".parse().expect("an address");
        let error = MetricsServer::bind(everybody).err().expect("it is refused").to_string();
        assert!(error.contains("write e.g. 127.0.0.1:9100"), "{error}");
        let here = "127.0.0.1:0".parse().expect("an address");
        let server = MetricsServer::bind(here).unwrap_or_else(|error| panic!("{error}"));
        let server = server.serve(|| None).expect("a thread");
        for (request, wanted) in [
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.0 503 "),
            ("GET /healthz HTTP/1.0\r\n\r\n", "HTTP/1.0 503 "),
            ("GET / HTTP/1.0\r\n\r\n", "HTTP/1.0 404 "),
            ("POST /metrics HTTP/1.0\r\n\r\n", "HTTP/1.0 405 "),
            ("\r\n\r\n", "HTTP/1.0 405 "),
        ] {
            assert!(asked(&server, request).starts_with(wanted), "{request}");
        }
        let at = server.address();
        drop(server);
        assert!(TcpStream::connect(at).is_err(), "it is closed");
    }
}
