//! Drives as an NVMe subsystem over TCP: one controller for each association of a host, one namespace for each drive.
//!
//! One thread does all input and output. A connection is one task; the crate [`nvme`] has the protocol as state machines, and each
//! drive is an engine. Queue `n` of a controller is a drive's submission queue `n - 1`; behind the last submission queue the count
//! begins anew. So the drive arbitrates between the queues of its hosts.
//!
//! # Limits of a host's effect on others
//!
//! A connection has room for the commands of its queue, for [`NvmeLimits::bytes`] bytes of data from and to the drive, and for what
//! [`nvme::Config::memory`] says of data on their way to the controller; if one of them is used up, the server reads no further.
//! Connections share no room. Limits of time end a connection that connects no queue, whose host takes no byte of a response, or
//! sends no byte of a PDU that it has begun. Hosts that are not listed are refused at Connect.

mod connection;
mod description;
mod failure;
mod io;
mod reply;
mod shared;
mod values;

use std::net::{self, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use base::units::Bytes;
use nvme::{Config, Description, Subsystem};
use study::catalogue::Device;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot, watch};

pub use connection::DisconnectReason;
pub use description::{DescriptionError, Presentation, description};

use crate::engine::Engine;
use crate::server::{BindError, race};
use io::NamespaceTarget;
use shared::SharedState;

/// The limits on the hosts of a subsystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NvmeLimits {
    /// The most controllers at a time; further hosts get the status that the subsystem is busy.
    pub controllers: u16,
    /// The most I/O queues of a controller.
    pub io_queues: u16,
    /// The most entries of a queue, which are commands of a connection at a time.
    pub queue_entries: u16,
    /// The most connections at a time. Further hosts wait until a connection ends.
    pub connections: u32,
    /// Room for the data of a connection's commands on the drive; at least the data of the largest command.
    pub bytes: Bytes,
    /// The time within which a host must connect a queue.
    pub handshake: Duration,
    /// The longest time in which a host may take no byte of a response, or send no byte of a PDU that it has begun.
    pub stall: Duration,
    /// The time that outstanding commands have to end after the server is stopped.
    pub shutdown: Duration,
}

impl Default for NvmeLimits {
    fn default() -> Self {
        Self {
            controllers: 16,
            io_queues: 64,
            queue_entries: Config::DEFAULT.queue_entries,
            connections: 128,
            bytes: Bytes::new(LARGEST),
            handshake: Duration::from_secs(10),
            stall: Duration::from_secs(30),
            shutdown: Duration::from_secs(10),
        }
    }
}

/// The largest command: a Copy of as many and as long ranges as a command may have, 16 of 1 MiB.
const LARGEST: u64 = 16 * Config::DEFAULT.transfer() as u64;

impl NvmeLimits {
    /// The limits that the protocol tells to hosts.
    fn config(&self) -> Config {
        Config { queue_entries: self.queue_entries, ..Config::DEFAULT }
    }
}

/// Tells the server, from any thread, which drives have power. Connections end when any drive loses its power; new connections are
/// closed until all drives have power.
#[derive(Clone, Debug)]
pub struct PowerSignal(watch::Sender<Vec<bool>>);

impl PowerSignal {
    /// A signal for `drives` drives, all of which have power.
    #[must_use]
    pub fn new(drives: usize) -> Self {
        Self(watch::Sender::new(vec![true; drives]))
    }

    /// Reports that the power of a drive has gone or come. Drives are numbered from 0.
    pub fn set(&self, drive: usize, on: bool) {
        self.0.send_modify(|drives| drives[drive] = on);
    }

    fn is_on(&self) -> bool {
        self.0.borrow().iter().all(|on| *on)
    }

    /// Waits for the next power loss. The power may be back when this call returns.
    async fn wait_for_cut(&self) {
        let mut signal = self.0.subscribe();
        // The sender is part of `self`, so the channel cannot close.
        let _ = signal.changed().await;
    }
}

/// Callbacks for the begin and the end of connections.
#[derive(Clone)]
pub struct NvmeObserver {
    /// Called when a connection begins.
    pub on_connect: Arc<dyn Fn() + Send + Sync>,
    /// Called when a connection ends, with the reason.
    pub on_end: Arc<dyn Fn(&DisconnectReason) + Send + Sync>,
}

impl Default for NvmeObserver {
    fn default() -> Self {
        Self { on_connect: Arc::new(|| ()), on_end: Arc::new(|_| ()) }
    }
}

/// The drives to serve, and their description for hosts.
pub struct NvmeExport {
    /// The drives with their devices, in the order of their namespaces.
    pub drives: Vec<(Engine, Device)>,
    /// The description that hosts see, made by [`description()`] from the same devices.
    pub description: Description,
    /// Ends connections when the power goes. Without it connections outlive a cut, and commands wait for the power.
    pub power: Option<PowerSignal>,
}

/// A server whose socket is open. Hosts may connect, and are served from [`NvmeServer::run`] on.
pub struct NvmeServer {
    limits: NvmeLimits,
    listener: net::TcpListener,
    address: SocketAddr,
    observer: NvmeObserver,
    stop: watch::Sender<bool>,
}

/// Stops a server, from any thread.
#[derive(Clone, Debug)]
pub struct NvmeStopper(watch::Sender<bool>);

impl NvmeStopper {
    /// Stops the server: it accepts no connection and reads nothing any more, answers outstanding commands, and closes all
    /// connections.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl NvmeServer {
    /// Opens the socket; port 0 takes a free one.
    ///
    /// # Errors If the socket cannot be opened, or users of other machines could reach the socket.
    ///
    /// # Panics
    /// If the limits leave no room for the largest command.
    pub fn bind(address: SocketAddr, limits: NvmeLimits) -> Result<Self, BindError> {
        assert!(limits.bytes.get() >= LARGEST, "a connection has room for the largest command");
        assert!(limits.bytes.get() <= u64::from(u32::MAX), "a connection's room is below 4 GiB");
        assert!(limits.connections > 0 && limits.controllers > 0 && limits.io_queues > 0, "limits are at least one");
        if !address.ip().is_loopback() {
            return Err(BindError::NotLoopbackNvme(address));
        }
        let refused = |error| BindError::Refused { at: address.to_string(), error };
        let listener = net::TcpListener::bind(address).map_err(refused)?;
        // The address with the port that the system chose.
        let address = listener.local_addr().map_err(refused)?;
        Ok(Self { limits, listener, address, observer: NvmeObserver::default(), stop: watch::Sender::new(false) })
    }

    /// Sets the observer of connections.
    #[must_use]
    pub fn observed_by(self, observer: NvmeObserver) -> Self {
        Self { observer, ..self }
    }

    /// The address at which the server listens, with the port that the system chose.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The limits that the server was opened with.
    #[must_use]
    pub const fn limits(&self) -> &NvmeLimits {
        &self.limits
    }

    /// A handle that stops the server.
    #[must_use]
    pub fn stopper(&self) -> NvmeStopper {
        NvmeStopper(self.stop.clone())
    }

    /// Serves the drives until the server is stopped.
    ///
    /// # Errors
    /// If the operating system refuses the means for input and output.
    pub fn run(self, export: NvmeExport) -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let Self { limits, listener, observer, stop, .. } = self;
        runtime.block_on(async {
            let Some(shared) = share(limits, export, stop.subscribe()).await else { return Ok(()) };
            let shared = Arc::new(shared);
            let slots = Arc::new(Semaphore::new(limits.connections as usize));
            listener.set_nonblocking(true)?;
            {
                let listener = TcpListener::from_std(listener)?;
                // The listener is closed at the end of this block.
                let accepting = race(accept(&listener, &slots, &shared, &observer), shared.keep_time());
                race(accepting, shared.stopped()).await;
            }
            // Every connection holds one slot; those that do not end in time are dropped with the runtime.
            let all = slots.acquire_many(limits.connections);
            let _ = tokio::time::timeout(limits.shutdown, all).await;
            Ok(())
        })
    }
}

/// The state that all connections share; `None` if a drive is not served any more.
async fn share(limits: NvmeLimits, export: NvmeExport, stop: watch::Receiver<bool>) -> Option<SharedState> {
    let NvmeExport { drives, mut description, power } = export;
    let (mut targets, writes_through) = (Vec::new(), Arc::new(AtomicBool::new(false)));
    for (place, (namespace, (engine, device))) in description.namespaces.iter_mut().zip(drives).enumerate() {
        let (to, seen) = oneshot::channel();
        engine.observe_then(false, move |seen| _ = to.send(seen.counters.fdp.map_or(0, |fdp| fdp.unit)));
        let reclaim_unit = seen.await.ok()?;
        let (shift, unit) = (namespace.block_shift - 9, u64::from(device.resolved.geometry.sectors));
        if let Some(placement) = &mut namespace.placement {
            placement.reclaim_unit = reclaim_unit * unit * 512;
        }
        targets.push(NamespaceTarget {
            engine,
            id: namespace.id,
            place,
            blocks: namespace.blocks,
            shift,
            unit: unit >> shift,
            zones: namespace.zones,
            reclaim_unit: (reclaim_unit * unit) >> shift,
            is_volatile: device.resolved.buffer.is_some(),
            writes_through: Arc::clone(&writes_through),
            resolved: Arc::new(device.resolved),
        });
    }
    let subsystem = Subsystem::new(description, limits.config());
    Some(SharedState::new(limits, (targets, writes_through), subsystem, power, stop))
}

/// The time to wait if no connection can be accepted, e.g. because the process has no file descriptor left.
const RETRY: Duration = Duration::from_millis(100);

async fn accept(listener: &TcpListener, slots: &Arc<Semaphore>, shared: &Arc<SharedState>, observer: &NvmeObserver) {
    loop {
        let Ok(slot) = Arc::clone(slots).acquire_owned().await else { return };
        match listener.accept().await {
            Err(_) => tokio::time::sleep(RETRY).await,
            // While a drive has no power, the connection is closed.
            Ok(_) if !shared.is_on() => {}
            Ok((stream, _)) => {
                // A small response must not wait for the next one. If the option cannot be set, small responses are only late.
                let _ = stream.set_nodelay(true);
                (observer.on_connect)();
                let (shared, on_end) = (Arc::clone(shared), Arc::clone(&observer.on_end));
                tokio::spawn(async move {
                    let ended = connection::serve(stream, shared).await;
                    on_end(&ended);
                    drop(slot);
                });
            }
        }
    }
}
