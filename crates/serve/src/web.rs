//! A live page of a served drive, for a browser on this machine.
//!
//! ```text
//! GET  /             the page: one file that loads nothing from elsewhere
//! GET  /events       its numbers, as server-sent events
//! GET  /metrics      for Prometheus
//! GET  /healthz      for monitors of the process
//! POST /power/cut    cuts the power, likewise /power/off and /power/on: only with the token
//! ```
//!
//! Every user of the machine can watch. The token is in the fragment of the page's address, which browsers do not send; the page
//! sends it in a header, which a page of another origin cannot.

mod feed;
mod frame;
mod page;
mod sampler;
mod token;
mod zones;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use base::units::Sectors;
use hyper::{Method, StatusCode};

use crate::control;
use crate::engine::{Command, CommandRefusal, Incidents, Observation, Reply, Status};
use crate::http::{Answer, HttpServer, Question, Site};
use crate::metrics;
use feed::{Feed, Hello};
use frame::CAUSES;
use sampler::Sampler;
use token::Token;

pub use crate::http::HttpError;

pub(crate) struct WatchedDrive {
    pub(crate) device: String,
    /// Sectors that a client can address.
    pub(crate) capacity: Sectors,
    /// Carries out a command.
    pub(crate) carry_out: Box<dyn Fn(Command) -> Result<Reply, CommandRefusal> + Send + Sync>,
    /// Observes the drive, with its wear if true; none if it is not served any more.
    pub(crate) observe: Box<dyn Fn(bool) -> Option<Observation> + Send + Sync>,
    pub(crate) incidents: Incidents,
}

/// A server of the live page.
pub struct WebServer {
    http: HttpServer,
    token: Token,
    _sampler: Option<Sampler>,
}

impl WebServer {
    /// Opens the address; port 0 takes a free port.
    ///
    /// # Errors
    /// If the address can be reached from other machines, the operating system reports an error, or there are no random numbers for
    /// a token.
    pub fn bind(at: SocketAddr) -> Result<Self, HttpError> {
        let http = HttpServer::bind(at, "the page is served")?;
        let token = Token::random().map_err(|error| HttpError::Io(at, error))?;
        Ok(Self { http, token, _sampler: None })
    }

    /// The address of the page, with the token that lets it cut the power.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/#token={}", self.http.address(), self.token)
    }

    /// Serves the page of a drive.
    pub(crate) fn serve(self, drive: WatchedDrive) -> io::Result<Self> {
        let Self { http, token, .. } = self;
        let (drive, feed) = (Arc::new(drive), Arc::new(Feed::default()));
        let live = Live { drive: Arc::clone(&drive), feed: Arc::clone(&feed), token: token.clone() };
        let http = http.serve("web", Arc::new(live))?;
        Ok(Self { http, token, _sampler: Some(Sampler::start(drive, feed)?) })
    }
}

struct Live {
    drive: Arc<WatchedDrive>,
    feed: Arc<Feed>,
    token: Token,
}

impl Live {
    fn status(&self) -> Option<Status> {
        match (self.drive.carry_out)(Command::Status) {
            Ok(Reply::Status(status)) => Some(*status),
            _ => None,
        }
    }

    fn hello(&self) -> Hello<'_> {
        Hello {
            device: &self.drive.device,
            capacity_bytes: self.drive.capacity.bytes().get(),
            version: env!("CARGO_PKG_VERSION"),
            causes: CAUSES,
            incidents: self.drive.incidents.after(0),
        }
    }

    fn power(&self, question: &Question, command: Command) -> Answer {
        if question.method != Method::POST {
            return Answer::Only("POST");
        }
        if !question.token.as_deref().is_some_and(|token| self.token.is(token)) {
            return json(
                StatusCode::FORBIDDEN,
                &control::Answer::Refused {
                    message: "this needs the token: open the address that `flashloom serve` has printed".to_owned(),
                },
            );
        }
        let reply = (self.drive.carry_out)(command);
        let status = match &reply {
            Ok(_) => StatusCode::OK,
            Err(CommandRefusal::Stopped) => StatusCode::SERVICE_UNAVAILABLE,
            Err(_) => StatusCode::CONFLICT,
        };
        json(status, &reply.into())
    }
}

fn json(status: StatusCode, answer: &control::Answer) -> Answer {
    let text = serde_json::to_string(answer).expect("texts and numbers");
    Answer::text(status, "application/json", text)
}

impl Site for Live {
    fn answer(&self, question: &Question) -> Answer {
        if let Some(answer) = metrics::answer(question, || self.status()) {
            return answer;
        }
        let get = question.method == Method::GET;
        match question.path.as_str() {
            "/power/cut" => self.power(question, Command::PowerCut),
            "/power/off" => self.power(question, Command::PowerOff),
            "/power/on" => self.power(question, Command::PowerOn),
            "/" if get => Answer::text(StatusCode::OK, "text/html; charset=utf-8", page::html()),
            "/events" if get => self.feed.subscribe(&self.hello()).map_or_else(metrics::stopped, Answer::Events),
            "/" | "/events" | "/metrics" | "/healthz" => Answer::Only("GET"),
            _ => Answer::plain(StatusCode::NOT_FOUND, "the page is /; there are /metrics and /healthz, too\n"),
        }
    }
}

#[cfg(test)]
mod tests;
