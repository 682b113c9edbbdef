//! Connect (NVMe base 2.0, section 6.3).

use std::time::Duration;

use super::Subsystem;
use crate::connection::{Queue, Response};
use crate::controller::changes::Changes;
use crate::controller::errors::ErrorLog;
use crate::controller::events::Events;
use crate::controller::features::Features;
use crate::controller::properties::Properties;
use crate::controller::{Controller, ControllerKind, HostIdentity, KeepAlive};
use crate::directive::Streams;
use crate::entry::SubmissionEntry;
use crate::identify::DISCOVERY_NQN;
use crate::layout::{Field, layout};
use crate::status::Status;

layout! {
    /// The data of Connect (NVMe base 2.0, section 6.3).
    struct ConnectData [1024] {
        0 host_id: [u8; 16],
        16 controller: u16,
        256 subsystem_nqn: [u8; 256],
        512 host_nqn: [u8; 256],
    }
}

/// A controller identifier that asks for any new controller.
const ANY_CONTROLLER: u16 = 0xffff;
/// The highest identifier of a controller (NVMe base 2.0, section 3.1.1).
const LAST_CONTROLLER: u16 = 0xffef;
/// Entries of an admin queue that Linux makes; they are allowed even if I/O queues are shorter.
const ADMIN_ENTRIES: u16 = 32;
/// CATTR, bit 2: the host does not want flow control of the submission queue.
const NO_FLOW_CONTROL: u32 = 1 << 2;

/// A wrong parameter: its offset in the submission queue entry or in the data (NVMe base 2.0, section 6.3).
#[derive(Clone, Copy)]
enum Parameter {
    Entry(u16),
    Data(u16),
}

impl Parameter {
    const QUEUE: Self = Self::Entry(42);
    const QUEUE_SIZE: Self = Self::Entry(44);
    const CONTROLLER: Self = Self::Data(16);
    const SUBSYSTEM: Self = Self::Data(256);
    const HOST: Self = Self::Data(512);

    fn refusal(self) -> Response {
        let result = match self {
            Self::Entry(offset) => u64::from(offset),
            Self::Data(offset) => u64::from(offset) | 1 << 16,
        };
        Response { result, ..Response::status(Status::CONNECT_INVALID_PARAMETERS.do_not_retry()) }
    }
}

/// The place of a connection in a subsystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Membership {
    pub(crate) controller: u16,
    pub(crate) serial: u64,
    /// The number of the controller's resets at the Connect of the queue.
    pub(crate) resets: u64,
    pub(crate) queue: u16,
}

struct ConnectFields {
    queue: Queue,
    keep_alive: u32,
    controller: u16,
    subsystem_nqn: String,
    host: HostIdentity,
}

/// A qualified name: text that ends with a zero, of at most 223 bytes (NVMe base 2.0, section 4.5).
fn name(field: &[u8; 256]) -> Option<String> {
    let length = field.iter().position(|byte| *byte == 0).filter(|length| (1..=223).contains(length))?;
    std::str::from_utf8(&field[..length]).ok().map(ToOwned::to_owned)
}

impl Subsystem {
    /// Answers Connect. A success has the place of the connection.
    pub(crate) fn connect(
        &mut self,
        entry: &SubmissionEntry,
        data: &[u8],
        now: Duration,
    ) -> Result<(Membership, Queue, Response), Response> {
        let request = self.parse(entry, data)?;
        let id = if request.queue.id == 0 { self.connect_admin(&request, now) } else { self.connect_io(&request) }?;
        let controller = &self.controllers[&id];
        let membership = Membership {
            controller: id,
            serial: controller.serial,
            resets: controller.resets,
            queue: request.queue.id,
        };
        Ok((membership, request.queue, Response::result(id.into())))
    }

    fn parse(&self, entry: &SubmissionEntry, data: &[u8]) -> Result<ConnectFields, Response> {
        let (cdw10, cdw11) = (entry.cdw(10), entry.cdw(11));
        // The format of the record is 0.
        if cdw10 & 0xffff != 0 {
            return Err(Response::status(Status::CONNECT_INCOMPATIBLE_FORMAT.do_not_retry()));
        }
        let Some(data) = data.first_chunk::<{ ConnectData::SIZE }>() else {
            return Err(Response::status(Status::SGL_LENGTH_INVALID.do_not_retry()));
        };
        let ConnectData { host_id, controller, subsystem_nqn, host_nqn } = ConnectData::load(data);
        let (id, last) = ((cdw10 >> 16) as u16, cdw11 as u16);
        let most = if id == 0 { self.config.queue_entries.max(ADMIN_ENTRIES) } else { self.config.queue_entries };
        if last == 0 || last >= most {
            return Err(Parameter::QUEUE_SIZE.refusal());
        }
        let flow_control = cdw11 >> 16 & NO_FLOW_CONTROL == 0;
        Ok(ConnectFields {
            queue: Queue { id, entries: u32::from(last) + 1, flow_control },
            keep_alive: entry.cdw(12),
            controller,
            subsystem_nqn: name(&subsystem_nqn).ok_or_else(|| Parameter::SUBSYSTEM.refusal())?,
            host: HostIdentity { nqn: name(&host_nqn).ok_or_else(|| Parameter::HOST.refusal())?, id: host_id },
        })
    }

    /// Makes a controller for an admin queue, and returns its identifier.
    fn connect_admin(&mut self, request: &ConnectFields, now: Duration) -> Result<u16, Response> {
        let kind = match request.subsystem_nqn.as_str() {
            DISCOVERY_NQN => ControllerKind::Discovery,
            nqn if nqn == self.description.identity.nqn => ControllerKind::Io,
            _ => return Err(Parameter::SUBSYSTEM.refusal()),
        };
        if request.controller != ANY_CONTROLLER {
            return Err(Parameter::CONTROLLER.refusal());
        }
        if kind == ControllerKind::Io && !self.description.allows(&request.host.nqn) {
            return Err(Response::status(Status::CONNECT_INVALID_HOST.do_not_retry()));
        }
        let Some(id) = self.free_id() else {
            return Err(Response::status(Status::CONNECT_CONTROLLER_BUSY));
        };
        self.next_serial += 1;
        let mut controller = Controller {
            id,
            serial: self.next_serial,
            kind,
            host: request.host.clone(),
            properties: Properties::new(self.config.queue_entries, kind == ControllerKind::Io),
            features: Features::new(&self.description),
            events: Events::default(),
            errors: ErrorLog::default(),
            queues: Default::default(),
            resets: 0,
            keep_alive: KeepAlive { timeout: Duration::ZERO, since: now },
            changes: Changes::default(),
            streams: Streams::default(),
            end: None,
        };
        controller.set_keep_alive(request.keep_alive);
        self.controllers.insert(id, controller);
        Ok(id)
    }

    /// An identifier that no controller has; none if there are too many controllers.
    fn free_id(&mut self) -> Option<u16> {
        if self.controllers.len() >= usize::from(self.description.access.controllers) {
            return None;
        }
        for _ in 0..=self.controllers.len() {
            let id = self.next_id;
            self.next_id = if id >= LAST_CONTROLLER { 1 } else { id + 1 };
            if !self.controllers.contains_key(&id) {
                return Some(id);
            }
        }
        None
    }

    /// Adds an I/O queue to a controller.
    fn connect_io(&mut self, request: &ConnectFields) -> Result<u16, Response> {
        let controller = self.controllers.get_mut(&request.controller).filter(|controller| controller.end.is_none());
        let controller = controller.ok_or_else(|| Parameter::CONTROLLER.refusal())?;
        if controller.kind == ControllerKind::Discovery || request.subsystem_nqn != self.description.identity.nqn {
            return Err(Parameter::SUBSYSTEM.refusal());
        }
        if controller.host != request.host {
            return Err(Parameter::HOST.refusal());
        }
        if !controller.properties.is_ready() {
            return Err(Response::status(Status::COMMAND_SEQUENCE_ERROR.do_not_retry()));
        }
        if request.queue.id > controller.features.io_queues() || !controller.queues.insert(request.queue.id) {
            return Err(Parameter::QUEUE.refusal());
        }
        Ok(request.controller)
    }
}
