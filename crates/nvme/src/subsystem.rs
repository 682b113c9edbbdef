//! The subsystem: its controllers, and the state that they share. It answers Connect, properties and admin commands.

mod admin;
mod connect;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::connection::{Config, End, Response};
use crate::controller::events::AsyncEvent;
use crate::controller::properties::Change;
use crate::controller::{Controller, ControllerKind};
use crate::description::{Description, Drives};
use crate::entry::{SubmissionEntry, opcode::fabrics};
use crate::identify::Context;
use crate::io::{Directive, IoCommand, IoRequest, Scope, decode};
use crate::log::health::{critical_warning, warning};
use crate::maintenance::Maintenance;
use crate::status::Status;

pub(crate) use connect::Membership;

/// An operation of the drive that an admin command asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriveCommand {
    /// Format NVM: deallocates all blocks of these namespaces. Zones are empty afterwards.
    Format(Vec<u32>),
    /// Sanitize: erases all data ever written. The owner completes the command when the operation has begun, and calls
    /// [`Subsystem::finish_sanitize`] when it has ended.
    Sanitize,
    /// Enables (true) or disables the volatile write cache.
    WriteCache(bool),
    /// Enters the power state with this number.
    PowerState(u8),
}

/// The outcome of an admin or Fabrics command.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The command has ended.
    Response(Response),
    /// An Asynchronous Event Request waits for an event.
    Held,
    /// The drive has to carry out an operation before the command ends.
    Drive(DriveCommand),
    /// The command has ended, and the host waits until the drive is ready to lose its power.
    Shutdown,
}

/// The NVM subsystem behind one or several TCP ports, and its discovery service.
///
/// The owner passes the subsystem to the [`Session`](crate::Session)s of its connections. The owner chooses the moment from which
/// times count; times do not go back.
#[derive(Debug)]
pub struct Subsystem {
    description: Description,
    config: Config,
    controllers: BTreeMap<u16, Controller>,
    /// The identifier that is tried next. Identifiers are reused late, so that a host that reconnects does not meet its former
    /// controller.
    next_id: u16,
    next_serial: u64,
    maintenance: Maintenance,
    /// The generation counter of the discovery log page: one more after each change of the page.
    generation: u64,
}

impl Subsystem {
    /// A subsystem without controllers.
    ///
    /// # Panics
    /// If the description contradicts itself.
    #[must_use]
    pub fn new(description: Description, config: Config) -> Self {
        config.check();
        assert!((1..=32).contains(&description.power_states.len()), "a drive has 1 to 32 power states");
        for namespace in &description.namespaces {
            let id = namespace.id;
            assert!(id < 1 << 16, "an endurance group has the identifier of its namespace");
            assert!(id != 0 && (9..=16).contains(&namespace.block_shift) && namespace.blocks > 0, "namespace {id}");
            if let Some(zones) = namespace.zones {
                let whole = zones.size > 0 && namespace.blocks.is_multiple_of(zones.size);
                assert!(whole && (1..=zones.size).contains(&zones.capacity), "the zones of namespace {id}");
            }
        }
        Self {
            description,
            config,
            controllers: BTreeMap::new(),
            next_id: 1,
            next_serial: 0,
            maintenance: Maintenance::default(),
            generation: 1,
        }
    }

    /// The description that the subsystem reports to hosts.
    #[must_use]
    pub const fn description(&self) -> &Description {
        &self.description
    }

    /// The limits that the subsystem's connections offer to hosts.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The controllers, by identifier, with the names of their hosts.
    pub fn controllers(&self) -> impl Iterator<Item = (u16, &str)> {
        self.controllers.values().map(|controller| (controller.id, controller.host.nqn.as_str()))
    }

    /// Changes the namespaces, for example after a drive was added, and tells the hosts.
    pub fn set_namespaces(&mut self, namespaces: Vec<crate::description::Namespace>) {
        let before = std::mem::replace(&mut self.description.namespaces, namespaces);
        let now = &self.description.namespaces;
        let differs = |id: u32| {
            let find = |all: &[crate::description::Namespace]| all.iter().find(|one| one.id == id).cloned();
            find(&before) != find(now)
        };
        let changed: Vec<u32> = before.iter().chain(now).map(|one| one.id).filter(|id| differs(*id)).collect();
        if !changed.is_empty() {
            for controller in self.io_controllers() {
                controller.changes.note_namespaces(&changed);
                controller.events.raise(AsyncEvent::NamespaceChanged, controller.features.async_events());
            }
        }
    }

    /// Replaces the ports on which hosts reach the subsystem, and tells the hosts of discovery controllers.
    pub fn set_ports(&mut self, ports: Vec<crate::description::Port>) {
        self.description.access.ports = ports;
        self.generation += 1;
        for controller in
            self.controllers.values_mut().filter(|controller| controller.kind == ControllerKind::Discovery)
        {
            controller.events.raise(AsyncEvent::DiscoveryChanged, controller.features.async_events());
        }
    }

    /// Reports to the hosts that a zone changed its state without a command, for example because its reliability is gone.
    pub fn note_zone_changed(&mut self, namespace: u32, start: u64) {
        for controller in self.io_controllers() {
            controller.changes.note_zone(namespace, start);
            controller.events.raise(AsyncEvent::ZoneChanged(namespace), controller.features.async_events());
        }
    }

    /// Raises events for critical warnings in the drives' health. The owner calls this periodically.
    pub fn check_health(&mut self, drives: &dyn Drives) {
        let health = drives.health();
        for controller in self.io_controllers() {
            let warnings = critical_warning(&health, controller);
            let kinds = [
                (warning::SPARE, AsyncEvent::Spare),
                (warning::TEMPERATURE, AsyncEvent::Temperature),
                (warning::DEGRADED | warning::READ_ONLY, AsyncEvent::Reliability),
            ];
            for (bits, event) in kinds {
                if warnings & bits != 0 {
                    controller.events.raise(event, controller.features.async_events());
                }
            }
        }
    }

    /// Ends the sanitize operation, and reports its end to the hosts.
    pub fn finish_sanitize(&mut self, succeeded: bool) {
        self.maintenance.finish_sanitize(succeeded);
        for controller in self.io_controllers() {
            controller.events.raise(AsyncEvent::SanitizeCompleted, controller.features.async_events());
        }
    }

    /// Completes the shutdown that the host of this controller asked for: the drive is ready to lose its power.
    pub fn finish_shutdown(&mut self, controller: u16) {
        if let Some(controller) = self.controllers.get_mut(&controller) {
            controller.properties.finish_shutdown();
        }
    }

    /// Ends the controllers whose hosts are silent for longer than their keep alive timeout, and the sessions of these controllers.
    pub fn expire(&mut self, now: Duration) {
        for controller in self.controllers.values_mut() {
            if controller.deadline().is_some_and(|deadline| deadline <= now) {
                controller.end = Some(End::KeepAliveExpired);
            }
        }
    }

    /// The time at which [`Subsystem::expire`] next has a controller to end, if no host sends a command before.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.controllers.values().filter_map(Controller::deadline).min()
    }

    fn io_controllers(&mut self) -> impl Iterator<Item = &mut Controller> {
        self.controllers.values_mut().filter(|controller| controller.kind == ControllerKind::Io)
    }

    /// The controller of a connection, or the reason for which the connection ends.
    pub(crate) fn member(&mut self, membership: &Membership) -> Result<&mut Controller, End> {
        let controller = self.controllers.get_mut(&membership.controller);
        let controller = controller.filter(|controller| controller.serial == membership.serial).ok_or(End::Reset)?;
        match controller.end {
            Some(end) => Err(end),
            None if membership.queue > 0 && controller.resets != membership.resets => Err(End::Reset),
            None => Ok(controller),
        }
    }

    /// Removes a connection's queue. With the admin queue the controller ends.
    pub(crate) fn leave(&mut self, membership: &Membership) {
        let Some(controller) = self.controllers.get_mut(&membership.controller) else { return };
        if controller.serial != membership.serial {
            return;
        }
        if membership.queue == 0 {
            self.controllers.remove(&membership.controller);
        } else if controller.resets == membership.resets {
            controller.queues.remove(&membership.queue);
        }
    }

    /// Answers Property Get and Property Set (NVMe base 2.0, sections 6.5 and 6.6).
    pub(crate) fn property(&mut self, membership: &Membership, entry: &SubmissionEntry) -> Result<Answer, Status> {
        let description = &self.description;
        let controller = self.controllers.get_mut(&membership.controller).ok_or(Status::INTERNAL_ERROR)?;
        let (eight_bytes, offset) = (entry.cdw(10) & 7 == 1, entry.cdw(11));
        if entry.cdw(10) & 7 > 1 {
            return Err(Status::INVALID_FIELD.do_not_retry());
        }
        if entry.fabrics_type() == Some(fabrics::PROPERTY_GET) {
            return controller
                .properties
                .get(offset, eight_bytes)
                .map(|value| Answer::Response(Response::result(value)));
        }
        match controller.properties.set(offset, eight_bytes, entry.cdw_pair(12))? {
            Change::None | Change::Enable => {}
            Change::Disable => controller.reset(crate::controller::features::Features::new(description)),
            Change::Shutdown => return Ok(Answer::Shutdown),
        }
        Ok(Answer::Response(Response::success()))
    }

    /// Decodes an I/O command.
    pub(crate) fn io(
        &mut self,
        membership: &Membership,
        entry: &SubmissionEntry,
        data: Vec<u8>,
    ) -> Result<IoRequest, Status> {
        let controller = self.controllers.get_mut(&membership.controller).ok_or(Status::INTERNAL_ERROR)?;
        if let Some(status) = self.maintenance.refusal() {
            return Err(status);
        }
        let streams = controller.streams.is_enabled(entry.namespace());
        let scope = Scope { description: &self.description, config: &self.config, streams };
        let (namespace, command) = decode(&scope, entry, &data)?;
        if let IoCommand::Write { directive: Directive::Stream(stream), .. } = command {
            controller.streams.note_open(entry.namespace(), stream);
        }
        Ok(IoRequest { command_id: entry.command_id(), namespace, command, data })
    }

    /// The state from which admin commands are answered.
    fn context<'a>(
        description: &'a Description,
        config: &'a Config,
        drives: &'a dyn Drives,
        now: Duration,
    ) -> Context<'a> {
        Context { description, config, drives, now }
    }
}
