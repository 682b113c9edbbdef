//! NVMe over TCP as state machines: bytes in, commands and bytes out. The crate knows no socket, no clock, no drive and no thread.
//!
//! The controller's side has three layers:
//!
//! * [`Connection`] is one TCP connection: PDUs, digests, data of writes and reads, outstanding commands.
//! * [`Subsystem`] has the controllers, one for each association of a host, and answers Connect, properties and admin commands from a
//!   [`Description`] and from [`Drives`].
//! * [`Session`] puts both together: it is a connection that is a queue of a subsystem. Its owner carries out the I/O commands and
//!   the few admin commands that change the drive ([`SessionRequest`]).
//!
//! The owner of a session passes it the bytes of its socket ([`Session::receive`]), carries out the [`SessionRequest`]s, ends them with
//! [`Session::complete`] and sends [`Session::output`]. It calls [`Session::poll`] after events of the subsystem and
//! [`Subsystem::expire`] at [`Subsystem::deadline`]. Output is not limited: an owner that calls `receive` only while little output
//! waits bounds it, because a call answers one PDU at most.
//!
//! [`Host`] is the other end, for tests and measurements.
//!
//! Facts are from the NVM Express specifications: base 2.0, NVM command set 1.0, Zoned Namespace command set 1.1, the technical
//! proposal TP4146 (Flexible Data Placement) and NVMe/TCP transport 1.0. Where they leave something open, the crate does what the
//! drivers of Linux expect (`drivers/nvme/host`), and says so.

mod connection;
mod controller;
mod description;
mod directive;
mod discovery;
mod entry;
mod host;
mod identify;
mod io;
mod layout;
mod log;
mod maintenance;
mod memory;
mod pdu;
mod samples;
mod session;
mod status;
mod subsystem;

pub use connection::{ADMIN_IN_CAPSULE, Config, Connection, ConnectionEvent, End, Queue, Response};
pub use description::{
    Access, Description, Drives, Health, Identity, Namespace, OptionalCommands, Placement, PlacementEvent,
    PlacementEventKind, PlacementStatistics, Port, PowerState, RandomWriteArea, Zones,
};
pub use entry::{CompletionEntry, SubmissionEntry, Transfer, opcode};
pub use host::{
    Completion, ConnectRequest, DiscoveryRecord, Host, HostCommand, HostConfig, HostError, HostEvent,
    IdentifiedController, IdentifiedNamespace, discovery_records, namespace_list, zone_descriptors,
};
pub use identify::DISCOVERY_NQN;
pub use io::{
    BlockRange, Directive, HandleStatus, IoCommand, IoRequest, ZoneAction, ZoneAttributes, ZoneDescriptor, ZoneFilter,
    ZoneReport, ZoneSelection, ZoneState, handle_status, zone_report,
};
pub use memory::MemoryDrives;
pub use pdu::{Digests, FatalError, Output};
pub use samples::{sample_config, sample_description, sample_subsystem, samples};
pub use session::{Session, SessionRequest};
pub use status::Status;
pub use subsystem::{DriveCommand, Subsystem};

#[cfg(test)]
mod tests;
