//! `/metrics` for Prometheus and `/healthz`, over HTTP on the loopback interface.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::{Method, StatusCode};

use crate::engine::{MEDIA_TYPE, Status};
use crate::http::{Answer, HttpServer, Question, Site};

pub use crate::http::HttpError;

/// A server of `/metrics` and `/healthz`, whose socket is open.
pub struct MetricsServer(HttpServer);

impl MetricsServer {
    /// Opens the address; port 0 takes a free port.
    ///
    /// # Errors
    /// If the address can be reached from other machines, or the operating system reports an error.
    pub fn bind(at: SocketAddr) -> Result<Self, HttpError> {
        HttpServer::bind(at, "metrics are served").map(Self)
    }

    /// The address at which the server listens, with the port that the system chose.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Answers on a thread; `status` gives none if the drive is not served any more.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn serve(self, status: impl Fn() -> Option<Status> + Send + 'static) -> io::Result<Self> {
        self.0.serve("metrics", Arc::new(Metrics(Mutex::new(status)))).map(Self)
    }
}

struct Metrics<F>(Mutex<F>);

impl<F: Fn() -> Option<Status> + Send + 'static> Site for Metrics<F> {
    fn answer(&self, question: &Question) -> Answer {
        let status = || self.0.lock().unwrap_or_else(PoisonError::into_inner)();
        let elsewhere = || match question.method {
            Method::GET => Answer::plain(StatusCode::NOT_FOUND, "there are /metrics and /healthz\n"),
            _ => Answer::Only("GET"),
        };
        answer(question, status).unwrap_or_else(elsewhere)
    }
}

/// The answer to a request for `/metrics` or `/healthz`; none for other paths.
pub(crate) fn answer(question: &Question, status: impl Fn() -> Option<Status>) -> Option<Answer> {
    let text = match question.path.as_str() {
        _ if question.method != Method::GET => return None,
        "/metrics" => status().map(|status| Answer::text(StatusCode::OK, MEDIA_TYPE, status.prometheus())),
        "/healthz" => status().map(|_| Answer::plain(StatusCode::OK, "ok\n")),
        _ => return None,
    };
    Some(text.unwrap_or_else(stopped))
}

/// The answer once the drive has ended.
pub(crate) fn stopped() -> Answer {
    Answer::plain(StatusCode::SERVICE_UNAVAILABLE, "the drive is not served any more\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::tests::asked;

    #[test]
    fn one_answer_for_each_connection_and_none_beyond_this_machine() {
        let everybody: SocketAddr = "0.0.0.0:0".parse().expect("an address");
        let error = MetricsServer::bind(everybody).err().expect("it is refused").to_string();
        assert!(error.contains("write e.g. 127.0.0.1:9100"), "{error}");
        let here = "127.0.0.1:0".parse().expect("an address");
        let server = MetricsServer::bind(here).unwrap_or_else(|error| panic!("{error}"));
        let server = server.serve(|| None).expect("a thread");
        for (request, wanted) in [
            ("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 503 "),
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 403 "),
            ("GET /healthz HTTP/1.0\r\n\r\n", "HTTP/1.0 503 "),
            ("GET / HTTP/1.0\r\n\r\n", "HTTP/1.0 404 "),
            ("POST /metrics HTTP/1.0\r\n\r\n", "HTTP/1.0 405 "),
            ("hello\r\n\r\n", "HTTP/1.1 400 "),
        ] {
            let answer = asked(server.address(), request);
            assert!(answer.starts_with(wanted), "{request}: {answer}");
        }
    }
}
