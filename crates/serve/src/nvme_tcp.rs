//! Drives as an NVMe subsystem over TCP: one controller for each association of a host, one namespace for each drive.
//!
//! One thread does all input and output. A connection is one task; the crate [`nvme`] has the protocol as state machines, and an
//! engine each drive. Queue `n` of a controller is a drive's submission queue `n - 1`, and round again behind the last, so that
//! the drive arbitrates between the queues of its hosts.
//!
//! # What a host cannot do to the others
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

pub use connection::Disconnected;
pub use description::{DescriptionError, Presentation, description};

use crate::engine::Engine;
use crate::server::{BindError, race};
use io::Target;
use shared::Shared;

/// The limits of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NvmeLimits {
    /// Controllers at a time; further hosts are told that the subsystem is busy.
    pub controllers: u16,
    /// I/O queues of a controller.
    pub io_queues: u16,
    /// Entries of a queue, which are commands of a connection at a time.
    pub queue_entries: u16,
    /// Connections at a time. Further hosts wait until one ends.
    pub connections: u32,
    /// Data of a connection's commands with the drive, at least that of the largest one.
    pub bytes: Bytes,
    /// The time until a host has connected a queue.
    pub handshake: Duration,
    /// The time in which a host takes no byte of a response, or sends no byte of a PDU that it has begun.
    pub stall: Duration,
    /// The time that a server which is stopped gives the commands under way.
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

/// Says which drives have power, from any thread. Connections end when one of them loses it; hosts that come before all have power are
/// sent away.
#[derive(Clone, Debug)]
pub struct PowerSignal(watch::Sender<Vec<bool>>);

impl PowerSignal {
    /// A signal of so many drives, which have power.
    #[must_use]
    pub fn new(drives: usize) -> Self {
        Self(watch::Sender::new(vec![true; drives]))
    }

    /// The power of a drive has gone or come. Drives are numbered from 0.
    pub fn set(&self, drive: usize, on: bool) {
        self.0.send_modify(|drives| drives[drive] = on);
    }

    fn is_on(&self) -> bool {
        self.0.borrow().iter().all(|on| *on)
    }

    /// Waits until the power has gone once more: it may be back by then.
    async fn wait_for_cut(&self) {
        let mut signal = self.0.subscribe();
        // An error means that nobody is left who could cut it, and this end is there.
        let _ = signal.changed().await;
    }
}

/// Hears of connections.
#[derive(Clone)]
pub struct NvmeObserver {
    /// Called for each connection when it begins.
    pub on_connect: Arc<dyn Fn() + Send + Sync>,
    /// Hears why each connection ends.
    pub on_end: Arc<dyn Fn(&Disconnected) + Send + Sync>,
}

impl Default for NvmeObserver {
    fn default() -> Self {
        Self { on_connect: Arc::new(|| ()), on_end: Arc::new(|_| ()) }
    }
}

/// The drives to serve, and how hosts see them.
pub struct NvmeExport {
    /// The drives, in the order of their namespaces, and the devices that they are.
    pub drives: Vec<(Engine, Device)>,
    /// The description that hosts see, made by [`description()`] from the same devices.
    pub description: Description,
    /// Ends connections when the power goes; without it they outlive a cut, and commands wait for the power.
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
    /// The server accepts nobody and reads nothing any more, answers what is under way, and closes all connections.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl NvmeServer {
    /// Opens the socket; port 0 takes a free one.
    ///
    /// # Errors
    /// If the socket cannot be opened, or others than this machine's users could reach it.
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
        // With the port that the system chose.
        let address = listener.local_addr().map_err(refused)?;
        Ok(Self { limits, listener, address, observer: NvmeObserver::default(), stop: watch::Sender::new(false) })
    }

    /// The observer hears of connections.
    #[must_use]
    pub fn observed_by(self, observer: NvmeObserver) -> Self {
        Self { observer, ..self }
    }

    /// Where hosts connect.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The limits.
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
                // The listener is gone when this ends.
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

/// The part that all connections share; `None` if a drive is not served any more.
async fn share(limits: NvmeLimits, export: NvmeExport, stop: watch::Receiver<bool>) -> Option<Shared> {
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
        targets.push(Target {
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
    Some(Shared::new(limits, (targets, writes_through), subsystem, power, stop))
}

/// How long to wait if no connection can be accepted, e.g. because the process has no file descriptor left.
const RETRY: Duration = Duration::from_millis(100);

async fn accept(listener: &TcpListener, slots: &Arc<Semaphore>, shared: &Arc<Shared>, observer: &NvmeObserver) {
    loop {
        let Ok(slot) = Arc::clone(slots).acquire_owned().await else { return };
        match listener.accept().await {
            Err(_) => tokio::time::sleep(RETRY).await,
            // A drive without power answers nobody.
            Ok(_) if !shared.is_on() => {}
            Ok((stream, _)) => {
                // A small response does not wait for the next one; where that cannot be had, it is late.
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
