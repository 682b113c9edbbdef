//! A controller: the state of one association of a host with a subsystem. Its properties, features, asynchronous events,
//! error log and keep alive timer.

pub(crate) mod changes;
pub(crate) mod errors;
pub(crate) mod events;
pub(crate) mod features;
pub(crate) mod properties;

use std::collections::BTreeSet;
use std::time::Duration;

use crate::connection::End;
use crate::directive::Streams;
use changes::Changes;
use errors::ErrorLog;
use events::Events;
use features::Features;
use properties::Properties;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControllerKind {
    Io,
    Discovery,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostIdentity {
    pub(crate) nqn: String,
    pub(crate) id: [u8; 16],
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct KeepAlive {
    /// Zero means no timeout.
    pub(crate) timeout: Duration,
    /// The time at which the timer last began.
    pub(crate) since: Duration,
}

#[derive(Debug)]
pub(crate) struct Controller {
    pub(crate) id: u16,
    /// Unique over the life of the subsystem, unlike the identifier.
    pub(crate) serial: u64,
    pub(crate) kind: ControllerKind,
    pub(crate) host: HostIdentity,
    pub(crate) properties: Properties,
    pub(crate) features: Features,
    pub(crate) events: Events,
    pub(crate) errors: ErrorLog,
    /// The I/O queues that are connected.
    pub(crate) queues: BTreeSet<u16>,
    /// Counts resets: queues of an earlier reset are closed.
    pub(crate) resets: u64,
    pub(crate) keep_alive: KeepAlive,
    /// Namespaces and zones that changed since the host last read the lists of changes.
    pub(crate) changes: Changes,
    pub(crate) streams: Streams,
    /// The reason for which the controller's connections end; none while it lives.
    pub(crate) end: Option<End>,
}

/// The granularity of keep alive timeouts (KAS), in steps of 100 ms.
pub(crate) const KEEP_ALIVE_STEP: u16 = 1;

impl Controller {
    /// Sets the keep alive timeout, rounded up to its granularity.
    pub(crate) fn set_keep_alive(&mut self, milliseconds: u32) {
        let step = u64::from(KEEP_ALIVE_STEP) * 100;
        self.keep_alive.timeout = Duration::from_millis(u64::from(milliseconds).next_multiple_of(step));
    }

    /// The time at which the controller ends if the host sends no command; none without a keep alive timeout.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let KeepAlive { timeout, since } = self.keep_alive;
        (!timeout.is_zero() && self.end.is_none()).then(|| since.saturating_add(timeout))
    }

    /// Controller Level Reset: ends the I/O queues and forgets the values that the host has set.
    pub(crate) fn reset(&mut self, default_features: Features) {
        self.resets += 1;
        self.queues.clear();
        self.features = default_features;
        self.events = Events::default();
        self.changes = Changes::default();
        self.streams = Streams::default();
    }
}
