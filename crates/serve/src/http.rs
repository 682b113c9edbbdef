//! The HTTP server of the crate: it shows a served drive to scrapers and browsers of this machine.
//!
//! It listens on the loopback interface only, and answers only requests for a host of that name: a page from elsewhere
//! whose name is made to resolve to this machine (DNS rebinding) gets nothing. Each connection has one answer, which
//! is whole or a stream. One thread does all input and output; a [`Site`] may wait, and is asked on others.

mod body;
mod host;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::server::race;
use body::Body;

/// The most connections at a time. A further connection replaces the connection that has been silent for longest, or
/// waits if every connection has sent a request.
const CONNECTIONS: usize = 64;
/// The most answers that are prepared at a time.
const THREADS: usize = 4;
/// The time within which a request arrives with all its headers.
const HEAD: Duration = Duration::from_secs(5);
/// The time within which a whole answer is prepared and read by the client.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of the longest head of a request.
const LONGEST: usize = 8 << 10;
/// The time to wait if no connection can be accepted.
const RETRY: Duration = Duration::from_millis(100);

/// The header with the token of requests that change something. A browser sends this header for a page of another site only after a
/// preflight request, which the server never allows.
pub(crate) const TOKEN: &str = "x-flashloom-token";

/// The reason for which nothing can be served over HTTP.
#[derive(Debug)]
pub enum HttpError {
    /// The address can be reached from other machines. Fields: the address, and the name of the service.
    Open(SocketAddr, &'static str),
    /// The operating system reported an error.
    Io(SocketAddr, io::Error),
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(at, what) => write!(f, "{at}: {what} to this machine only; write e.g. 127.0.0.1:9100"),
            Self::Io(at, error) => write!(f, "{at}: {error}; choose another address or port"),
        }
    }
}

impl std::error::Error for HttpError {}

#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) method: Method,
    pub(crate) path: String,
    /// The value of the header [`TOKEN`]; `None` without this header.
    pub(crate) token: Option<String>,
}

pub(crate) enum Answer {
    /// A whole text, with its status and its media type.
    Text { status: StatusCode, media: &'static str, text: Bytes },
    /// The method is not allowed; only the named method is.
    Only(&'static str),
    /// Server-sent events, until the site drops its ends of the channels.
    Events(Events),
}

/// A stream of server-sent events.
pub(crate) struct Events {
    pub(crate) events: mpsc::Receiver<Bytes>,
    /// Ends the connection at once when the site drops the sender: a client that reads nothing more would keep the connection open.
    pub(crate) kept: oneshot::Receiver<Infallible>,
}

impl Answer {
    pub(crate) fn text(status: StatusCode, media: &'static str, text: impl Into<Bytes>) -> Self {
        Self::Text { status, media, text: text.into() }
    }

    pub(crate) fn plain(status: StatusCode, text: &'static str) -> Self {
        Self::text(status, "text/plain", text)
    }
}

/// The content that the server serves.
pub(crate) trait Site: Send + Sync + 'static {
    /// Answers a request. The call may wait: it runs on a thread of its own.
    fn answer(&self, question: &Question) -> Answer;
}

/// A server whose socket is open. It answers from [`Self::serve`] on, until it is dropped.
pub(crate) struct HttpServer {
    at: SocketAddr,
    listener: Option<TcpListener>,
    thread: Option<JoinHandle<()>>,
    stop: watch::Sender<bool>,
}

impl HttpServer {
    /// Opens the address; port 0 takes a free port. `what` names the service in the error.
    pub(crate) fn bind(at: SocketAddr, what: &'static str) -> Result<Self, HttpError> {
        if !at.ip().is_loopback() {
            return Err(HttpError::Open(at, what));
        }
        let failed = |error| HttpError::Io(at, error);
        let listener = TcpListener::bind(at).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let at = listener.local_addr().map_err(failed)?;
        Ok(Self { at, listener: Some(listener), thread: None, stop: watch::Sender::new(false) })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.at
    }

    /// Answers on a thread of this name, until the server is dropped.
    pub(crate) fn serve(mut self, name: &str, site: Arc<dyn Site>) -> io::Result<Self> {
        let (listener, stop) = (self.listener.take(), self.stop.subscribe());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(THREADS)
            .thread_name(name)
            .build()?;
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            runtime.block_on(async {
                let Some(listener) = listener.and_then(|one| tokio::net::TcpListener::from_std(one).ok()) else {
                    return;
                };
                let mut stop = stop;
                race(accept(&listener, &site), stop.wait_for(|stop| *stop)).await;
            });
            // Sites that wait for their drive are given one second.
            runtime.shutdown_timeout(Duration::from_secs(1));
        });
        self.thread = Some(thread?);
        Ok(self)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported by the thread.
            let _ = thread.join();
        }
    }
}

/// A connection whose request has not come yet, unless `has_asked` says so.
struct SilentConnection {
    task: AbortHandle,
    has_asked: Arc<AtomicBool>,
}

async fn accept(listener: &tokio::net::TcpListener, site: &Arc<dyn Site>) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    // Oldest first.
    let mut silent: VecDeque<SilentConnection> = VecDeque::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                tokio::time::sleep(RETRY).await;
                continue;
            }
        };
        silent.retain(|one| !one.has_asked.load(Ordering::Relaxed) && !one.task.is_finished());
        if slots.available_permits() == 0
            && let Some(longest) = silent.pop_front()
        {
            longest.task.abort();
        }
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let (site, has_asked) = (Arc::clone(site), Arc::new(AtomicBool::new(false)));
        let asked = Arc::clone(&has_asked);
        let task = tokio::spawn(async move {
            talk(stream, site, asked).await;
            drop(slot);
        });
        silent.push_back(SilentConnection { task: task.abort_handle(), has_asked });
    }
}

/// Answers the request of a connection.
async fn talk(stream: TcpStream, site: Arc<dyn Site>, has_asked: Arc<AtomicBool>) {
    // Events are short and must not wait for the next one.
    let _ = stream.set_nodelay(true);
    let kept = Mutex::new(None);
    let lock = &|| kept.lock().unwrap_or_else(PoisonError::into_inner);
    let service = service_fn(|request| {
        has_asked.store(true, Ordering::Relaxed);
        let site = Arc::clone(&site);
        async move {
            let answer = match question(&request) {
                Ok(question) => {
                    tokio::task::spawn_blocking(move || site.answer(&question)).await.unwrap_or_else(|_| {
                        // A panic of the site was reported by its thread.
                        Answer::plain(StatusCode::INTERNAL_SERVER_ERROR, "there is no answer\n")
                    })
                }
                Err(refused) => refused,
            };
            let (response, until) = respond(answer);
            *lock() = until;
            Ok::<_, Infallible>(response)
        }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD).keep_alive(false).half_close(true).max_buf_size(LONGEST);
    let mut connection = pin!(server.serve_connection(TokioIo::new(stream), service));
    // The client has gone, or sent no valid request.
    let is_over = timeout(PATIENCE, connection.as_mut()).await.is_ok();
    let until = lock().take();
    if let (false, Some(until)) = (is_over, until) {
        race(connection, until).await;
    }
}

/// The parsed request; a refusal if it is for another host than this machine.
fn question(request: &Request<Incoming>) -> Result<Question, Answer> {
    let named = request.uri().authority().map(|authority| authority.as_str().as_bytes());
    let mut hosts = request.headers().get_all(header::HOST).iter().map(HeaderValue::as_bytes).chain(named);
    if !hosts.all(host::is_this_machine) {
        let why = "this is served to this machine only: ask for 127.0.0.1 or localhost\n";
        return Err(Answer::plain(StatusCode::FORBIDDEN, why));
    }
    let token = request.headers().get(TOKEN).and_then(|token| token.to_str().ok());
    Ok(Question {
        method: request.method().clone(),
        path: request.uri().path().to_owned(),
        token: token.map(ToOwned::to_owned),
    })
}

type HangupSignal = Option<oneshot::Receiver<Infallible>>;

/// Headers that limit what browsers do with an answer: they store it nowhere, load nothing for it, and show it in no other page.
const RULES: [(&str, &str); 4] = [
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    (
        "content-security-policy",
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
];

fn respond(answer: Answer) -> (Response<Body>, HangupSignal) {
    let (status, media, body, allow, until) = match answer {
        Answer::Text { status, media, text } => (status, media, Body::whole(text), None, None),
        Answer::Only(method) => {
            let text = Bytes::from(format!("ask with {method}\n"));
            (StatusCode::METHOD_NOT_ALLOWED, "text/plain", Body::whole(text), Some(method), None)
        }
        Answer::Events(Events { events, kept }) => {
            (StatusCode::OK, "text/event-stream", Body::stream(events), None, Some(kept))
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    for (name, value) in RULES {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if let Some(method) = allow {
        headers.insert(header::ALLOW, HeaderValue::from_static(method));
    }
    (response, until)
}

#[cfg(test)]
pub(crate) mod tests;
