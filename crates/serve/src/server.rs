//! Serves drives to NBD clients over a Unix socket or TCP.
//!
//! One thread does all input and output. A connection is one task that reads requests and passes them to the
//! [`Disk`], and at the same time writes replies in the order in which the drive answers.
//!
//! # Limits of a client's effect on others
//!
//! A connection has room for [`Limits::requests`] requests and [`Limits::bytes`] bytes of data, from a request's first byte to
//! the last byte of its reply; if one of them is used up, the server reads no further. Connections share no room, so none
//! waits because another one does not read its replies. The bound for all is the product with [`Limits::connections`].
//! Limits of time end a handshake that takes too long, that of TLS included, and a connection whose client takes no byte of a reply, or
//! sends no byte of a request that it has begun. A write whose payload does not arrive as a whole never reaches the drive.

mod connection;
mod halves;
pub(crate) mod intake;
mod listen;
pub(crate) mod pieces;
mod tls;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::units::Bytes;
use tokio::sync::{Semaphore, watch};

pub use connection::ConnectionEnd;
pub use listen::{BindError, Listen};
pub use tls::{PemKind, Tls, TlsError};

use crate::Disk;
use crate::nbd::{ExportInfo, LARGEST};
use connection::{SharedState, stopped};
use listen::Listener;
pub(crate) use pieces::race;

/// A drive under the name by which clients ask for it.
#[derive(Clone)]
pub struct Export {
    /// The name of the export; the empty name is the default export.
    pub name: String,
    /// A text for people who list the exports.
    pub description: String,
    /// The drive, which may have several exports.
    pub disk: Arc<dyn Disk>,
    /// Ends the connections to the drive. Exports of one drive may share it.
    pub hangup: Hangup,
}

/// Ends all connections to a drive, from any thread: they read nothing more, and close after the answers to their outstanding
/// requests. New connections are accepted.
#[derive(Clone, Debug, Default)]
pub struct Hangup(watch::Sender<u64>);

impl Hangup {
    /// Ends all connections to the drive that are open now.
    pub fn hang_up(&self) {
        self.0.send_modify(|times| *times += 1);
    }

    /// Waits for the next call of `hang_up`.
    async fn wait(&self) {
        // The sender is part of `self`, so the channel cannot close.
        let _ = self.0.subscribe().changed().await;
    }
}

/// The limits on the clients of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most connections at a time. Further clients wait until a connection ends.
    pub connections: u32,
    /// The most requests of a connection that the server has read and whose replies the client has not taken yet.
    pub requests: u32,
    /// The most data of these requests; at least [`LARGEST`], the data of the largest request.
    pub bytes: Bytes,
    /// The time within which a client must choose an export.
    pub handshake: Duration,
    /// The longest time in which a client may take no byte of a reply (through TLS: less than 64 KiB), or send no byte of a request
    /// that it has begun.
    pub stall: Duration,
    /// The time that outstanding requests have to end after the server is stopped.
    pub shutdown: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 16,
            requests: 256,
            bytes: Bytes::new(LARGEST as u64),
            handshake: Duration::from_secs(10),
            stall: Duration::from_secs(30),
            shutdown: Duration::from_secs(10),
        }
    }
}

/// Called when a connection ends, with the reason.
pub type Observer = Arc<dyn Fn(&ConnectionEnd) + Send + Sync>;

/// A server whose socket is open. Clients may connect, and are served from [`Server::run`] on.
pub struct Server {
    limits: Limits,
    tls: Option<Tls>,
    listener: Listener,
    observer: Observer,
    on_connect: Arc<dyn Fn() + Send + Sync>,
    stop: watch::Sender<bool>,
}

/// Stops a server, from any thread.
#[derive(Clone, Debug)]
pub struct Stopper(watch::Sender<bool>);

impl Stopper {
    /// Stops the server: it accepts no connection and reads nothing any more, answers outstanding requests, closes all connections
    /// and removes its socket.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("uri", &self.uri("")).field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Server {
    /// Opens the socket.
    ///
    /// # Errors
    /// If the socket cannot be opened, or others than this machine's users could reach it.
    ///
    /// # Panics
    /// If the limits leave no room for the largest request.
    pub fn bind(listen: &Listen, limits: Limits) -> Result<Self, BindError> {
        Self::bind_with(listen, limits, None)
    }

    /// Opens the socket of a server whose exports are refused without TLS.
    ///
    /// # Errors
    /// If the socket cannot be opened, or clients of other machines could reach it and need no certificate.
    ///
    /// # Panics
    /// If the limits leave no room for the largest request.
    pub fn bind_tls(listen: &Listen, limits: Limits, tls: Tls) -> Result<Self, BindError> {
        Self::bind_with(listen, limits, Some(tls))
    }

    fn bind_with(listen: &Listen, limits: Limits, tls: Option<Tls>) -> Result<Self, BindError> {
        assert!(limits.bytes.get() >= u64::from(LARGEST), "a connection has room for the largest request");
        assert!(limits.bytes.get() <= u64::from(u32::MAX), "a connection's room is below 4 GiB");
        assert!(limits.connections > 0 && limits.requests > 0, "limits are at least one");
        let (listener, on_connect) = (Listener::bind(listen, tls.as_ref())?, Arc::new(|| ()));
        Ok(Self { limits, tls, listener, observer: Arc::new(|_| ()), on_connect, stop: watch::Sender::new(false) })
    }

    /// Sets the observer of the ends of connections.
    #[must_use]
    pub fn observed_by(self, observer: Observer) -> Self {
        Self { observer, ..self }
    }

    /// Sets a function that is called when a connection begins.
    #[must_use]
    pub fn on_connect(self, on_connect: Arc<dyn Fn() + Send + Sync>) -> Self {
        Self { on_connect, ..self }
    }

    /// The NBD URI of the export of this name.
    #[must_use]
    pub fn uri(&self, export: &str) -> String {
        self.listener.uri(export)
    }

    /// The path of the Unix socket; none for TCP.
    #[must_use]
    pub fn socket(&self) -> Option<&Path> {
        self.listener.path()
    }

    /// A handle that stops the server.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Serves these exports until the server is stopped.
    ///
    /// # Errors
    /// If the operating system refuses the means for input and output.
    ///
    /// # Panics
    /// If two exports have one name.
    pub fn run(self, exports: Vec<Export>) -> io::Result<()> {
        for (i, export) in exports.iter().enumerate() {
            assert!(exports[..i].iter().all(|other| other.name != export.name), "exports have different names");
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let Self { limits, tls, listener, observer, on_connect, stop } = self;
        let info = |export: &Export| ExportInfo {
            name: export.name.clone(),
            description: export.description.clone(),
            capacity: export.disk.capacity(),
            unit: export.disk.unit(),
        };
        let infos: Arc<[ExportInfo]> = exports.iter().map(info).collect();
        let shared = Arc::new(SharedState { exports, infos, limits, tls, stop: stop.subscribe() });
        runtime.block_on(async {
            let slots = Arc::new(Semaphore::new(limits.connections as usize));
            {
                let listener = listener.listen()?;
                // The listener and its socket are gone at the end of this block.
                let accepting = accept(&listener, &slots, &shared, &observer, &*on_connect);
                race(accepting, stopped(&shared.stop)).await;
            }
            // Every connection holds one slot; those that do not end in time are dropped with the runtime.
            let all = slots.acquire_many(limits.connections);
            let _ = tokio::time::timeout(limits.shutdown, all).await;
            Ok(())
        })
    }
}

/// The time to wait if no connection can be accepted, e.g. because the process has no file descriptor left.
const RETRY: Duration = Duration::from_millis(100);

async fn accept(
    listener: &listen::ListeningSocket,
    slots: &Arc<Semaphore>,
    shared: &Arc<SharedState>,
    observer: &Observer,
    on_connect: &(dyn Fn() + Send + Sync),
) {
    loop {
        let Ok(slot) = Arc::clone(slots).acquire_owned().await else { return };
        match listener.accept().await {
            Err(_) => tokio::time::sleep(RETRY).await,
            Ok(stream) => {
                on_connect();
                let (shared, observer) = (Arc::clone(shared), Arc::clone(observer));
                tokio::spawn(async move {
                    let ended = stream.serve(&shared).await;
                    observer(&ended);
                    drop(slot);
                });
            }
        }
    }
}
