//! A sample subsystem, connections that a host can have with it, and a loopback between both ends, for tests and random input.

use std::time::Duration;

use crate::connection::{Config, End};
use crate::description::{
    Access, Description, Identity, Namespace, OptionalCommands, Placement, Port, PowerState, RandomWriteArea, Zones,
};
use crate::host::{Completion, ConnectRequest, Host, HostCommand, HostConfig, HostError, HostEvent};
use crate::memory::MemoryDrives;
use crate::pdu::Digests;
use crate::session::{Session, SessionRequest};
use crate::subsystem::Subsystem;

/// The qualified name of the sample subsystem.
pub(crate) const NQN: &str = "nqn.2026-11.org.flashloom:sample";
/// The qualified name of the sample subsystem's host.
pub(crate) const HOST_NQN: &str = "nqn.2014-08.org.nvmexpress:uuid:0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
/// The value that Linux writes to CC: enabled, all command sets, entries of 64 and 16 bytes.
pub(crate) const ENABLE: u32 = 1 | 6 << 4 | 6 << 16 | 4 << 20;

/// Two namespaces of 2 and 4 MiB with blocks of 4 KiB; the second has 16 zones. The first has data placement with four handles; each has four
/// streams.
#[must_use]
pub fn sample_description() -> Description {
    let namespace = |id: u32, blocks: u64, zones: Option<Zones>| Namespace {
        id,
        block_shift: 12,
        blocks,
        uuid: [id as u8; 16],
        nguid: [0x40 | id as u8; 16],
        granularity: 4,
        zones,
        commands: OptionalCommands::ALL,
        streams: 4,
        stream_blocks: 16,
        placement: zones.is_none().then(|| Placement {
            reclaim_groups: 2,
            handles: vec![false; 4],
            reclaim_unit: 1 << 20,
        }),
        placement_handles: if zones.is_some() { Vec::new() } else { vec![0, 1, 3] },
    };
    let zones = Zones {
        size: 64,
        capacity: 48,
        max_active: Some(8),
        max_open: Some(4),
        append_limit: 5,
        random_write_area: Some(RandomWriteArea { size: 16, granularity: 4, resources: 2 }),
    };
    Description {
        identity: Identity {
            nqn: NQN.to_owned(),
            model: "Flashloom sample".to_owned(),
            serial: "FL0001".to_owned(),
            firmware: "1.0".to_owned(),
            vendor: 0x1b36,
        },
        access: Access {
            ports: vec![Port { ipv6: false, address: "127.0.0.1".to_owned(), service: 4420, tls: false }],
            hosts: None,
            controllers: 8,
            io_queues: 4,
            shared: true,
        },
        namespaces: vec![namespace(1, 512, None), namespace(2, 1024, Some(zones))],
        sanitize: true,
        power_states: vec![
            PowerState { power: 1200, idle_power: 500, active_power: 900, ..PowerState::default() },
            PowerState { power: 50, non_operational: true, entry: 1000, exit: 5000, ..PowerState::default() },
        ],
        write_cache: true,
        warning_temperature: 343,
        critical_temperature: 353,
    }
}

/// Small limits, so that waits for room and several R2Ts are ordinary.
#[must_use]
pub fn sample_config() -> Config {
    Config {
        queue_entries: 32,
        in_capsule: 8192,
        data_pdu: 4096,
        r2t: 8192,
        mdts: 5,
        bytes: 192 << 10,
        ..Config::DEFAULT
    }
}

/// The controller's side, for any number of connections.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) subsystem: Subsystem,
    pub(crate) drive: MemoryDrives,
    pub(crate) now: Duration,
}

impl Target {
    pub(crate) fn new(config: Config) -> Self {
        let description = sample_description();
        let drive = MemoryDrives::new(&description);
        Self { subsystem: Subsystem::new(description, config), drive, now: Duration::ZERO }
    }
}

/// Both ends of a connection.
#[derive(Debug)]
pub(crate) struct ConnectionPair {
    pub(crate) host: Host,
    pub(crate) session: Session,
    /// All bytes that the host sent.
    pub(crate) sent: Vec<u8>,
    /// All bytes that the controller sent.
    pub(crate) heard: Vec<u8>,
    pub(crate) completions: Vec<Completion>,
    pub(crate) end: Option<End>,
    pub(crate) error: Option<HostError>,
    to_controller: Vec<u8>,
    to_host: Vec<u8>,
    /// The most bytes of a piece in which the bytes of a connection arrive.
    pub(crate) longest: usize,
    state: u64,
}

impl ConnectionPair {
    pub(crate) fn new(target: &Target, config: HostConfig) -> Self {
        Self {
            host: Host::new(config),
            session: Session::new(&target.subsystem),
            sent: Vec::new(),
            heard: Vec::new(),
            completions: Vec::new(),
            end: None,
            error: None,
            to_controller: Vec::new(),
            to_host: Vec::new(),
            longest: usize::MAX,
            state: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// A connection that both ends have initialized.
    pub(crate) fn open(target: &mut Target, config: HostConfig) -> Self {
        let mut link = Self::new(target, config);
        link.pump(target);
        link
    }

    /// An admin queue whose controller is enabled.
    pub(crate) fn admin(target: &mut Target, config: HostConfig) -> Self {
        let mut link = Self::open(target, config);
        link.run(target, HostCommand::connect(&connect(NQN)));
        link.run(target, HostCommand::property_set(0x14, ENABLE));
        link
    }

    /// An I/O queue of a controller.
    pub(crate) fn io(target: &mut Target, config: HostConfig, controller: u16, queue: u16, flow_control: bool) -> Self {
        let mut link = Self::open(target, config);
        let request = ConnectRequest { queue, controller, flow_control, keep_alive: 0, ..connect(NQN) };
        link.run(target, HostCommand::connect(&request));
        link.host.set_in_capsule(target.subsystem.config().in_capsule);
        link
    }

    /// Splits the next piece off, of pseudorandom length.
    fn piece(state: &mut u64, longest: usize, from: &mut Vec<u8>) -> Vec<u8> {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let length = if longest == usize::MAX { longest } else { (*state >> 33) as usize % longest + 1 };
        from.drain(..from.len().min(length)).collect()
    }

    /// Passes the output of each end to the other end until neither has output.
    pub(crate) fn pump(&mut self, target: &mut Target) {
        let (mut at_controller, mut at_host) = (Vec::new(), Vec::new());
        loop {
            let said: Vec<u8> = self.host.output().take().concat();
            self.sent.extend(&said);
            self.to_controller.extend(said);
            let answered: Vec<u8> = self.session.output().take().concat();
            self.heard.extend(&answered);
            self.to_host.extend(answered);
            if self.to_controller.is_empty() && self.to_host.is_empty() {
                break;
            }
            at_controller.extend(Self::piece(&mut self.state, self.longest, &mut self.to_controller));
            self.feed_controller(target, &mut at_controller);
            at_host.extend(Self::piece(&mut self.state, self.longest, &mut self.to_host));
            self.feed_host(&mut at_host);
        }
        assert!(at_controller.is_empty() || self.end.is_some(), "half a PDU is left");
        assert!(at_host.is_empty() || self.error.is_some(), "half a PDU is left");
    }

    /// Passes bytes to the controller's end, and its requests to the drive.
    pub(crate) fn feed_controller(&mut self, target: &mut Target, bytes: &mut Vec<u8>) {
        let mut taken = 0;
        let Target { subsystem, drive, now } = target;
        while self.end.is_none() {
            let (more, request) = self.session.receive(&bytes[taken..], subsystem, drive, *now);
            taken += more;
            match request {
                None if more == 0 => break,
                None | Some(SessionRequest::Connected { .. }) => {}
                Some(SessionRequest::Io(request)) => {
                    let response = drive.run(&request);
                    self.session.complete(request.command_id, response, subsystem);
                }
                Some(SessionRequest::Drive { command_id, command }) => {
                    let response = drive.administrate(&command);
                    self.session.complete(command_id, response, subsystem);
                }
                Some(SessionRequest::Shutdown { controller }) => subsystem.finish_shutdown(controller),
                Some(SessionRequest::End(end)) => self.end = Some(end),
            }
        }
        bytes.drain(..taken);
    }

    fn feed_host(&mut self, bytes: &mut Vec<u8>) {
        let mut taken = 0;
        while self.error.is_none() {
            let (more, event) = self.host.receive(&bytes[taken..]);
            taken += more;
            match event {
                None if more == 0 => break,
                None | Some(HostEvent::Ready) => {}
                Some(HostEvent::Completed(completion)) => self.completions.push(completion),
                Some(HostEvent::Error(error)) => self.error = Some(error),
            }
        }
        bytes.drain(..taken);
    }

    pub(crate) fn run(&mut self, target: &mut Target, command: HostCommand) -> Completion {
        let id = self.host.submit(command);
        self.pump(target);
        let place = self.completions.iter().position(|completion| completion.command_id == id);
        self.completions.remove(place.expect("the command has ended"))
    }
}

/// Connect of an admin queue.
pub(crate) fn connect(subsystem: &str) -> ConnectRequest {
    ConnectRequest {
        queue: 0,
        entries: 32,
        flow_control: true,
        keep_alive: 5000,
        controller: u16::MAX,
        host_id: [7; 16],
        subsystem_nqn: subsystem.to_owned(),
        host_nqn: HOST_NQN.to_owned(),
    }
}

/// A subsystem whose controller 1 is enabled and has no I/O queue, the session of its admin queue, and its drive.
#[must_use]
pub fn sample_subsystem() -> (Subsystem, Session, MemoryDrives) {
    let mut target = Target::new(sample_config());
    let link = ConnectionPair::admin(&mut target, HostConfig::default());
    (target.subsystem, link.session, target.drive)
}

/// The bytes that hosts send on whole connections to [`sample_subsystem`]: on its admin queue, on the admin queue of a discovery
/// controller, and on I/O queues of controller 1; with digests and without.
#[must_use]
pub fn samples() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for digests in [Digests::default(), Digests { header: true, data: false }, Digests { header: true, data: true }] {
        let config = HostConfig { digests, alignment: 0, max_r2t: u32::from(digests.data) };
        let fresh = || {
            let mut target = Target::new(sample_config());
            let link = ConnectionPair::admin(&mut target, HostConfig::default());
            (target, link)
        };
        let (mut target, _admin) = fresh();
        let mut admin = ConnectionPair::admin(&mut target, config);
        administer(&mut admin, &mut target);
        all.push(admin.sent);
        let (mut target, _admin) = fresh();
        let mut discovery = ConnectionPair::open(&mut target, config);
        discovery.run(&mut target, HostCommand::connect(&connect(crate::DISCOVERY_NQN)));
        discovery.run(&mut target, HostCommand::property_set(0x14, ENABLE));
        discovery.run(&mut target, HostCommand::identify(1, 0, 0));
        discovery.run(&mut target, HostCommand::log_page(0x70, 0, 0, 2048));
        all.push(discovery.sent);
        let (mut target, _admin) = fresh();
        let mut io = ConnectionPair::io(&mut target, config, 1, 1, !digests.header);
        use_queue(&mut io, &mut target);
        all.push(io.sent);
    }
    all
}

/// Admin commands of most kinds.
fn administer(admin: &mut ConnectionPair, target: &mut Target) {
    admin.run(target, HostCommand::property_get(0, true));
    for cns in [0x00, 0x01, 0x02, 0x03, 0x05, 0x06, 0x08, 0x13, 0x1c] {
        admin.run(target, HostCommand::identify(cns, 1, 0));
    }
    for page in [0x01, 0x02, 0x05, 0x09, 0x20, 0x23, 0xbf] {
        admin.run(target, HostCommand::log_page(page, 2, 0, 512));
    }
    for feature in [0x02, 0x07, 0x0b, 0x0e] {
        admin.run(target, HostCommand::set_features(feature, 1));
        admin.run(target, HostCommand::get_features(feature, 0));
    }
    admin.host.submit(HostCommand::event_request());
    admin.run(target, HostCommand::keep_alive());
    admin.run(target, HostCommand::property_set(0x14, ENABLE | 1 << 14));
}

/// I/O commands of most kinds.
fn use_queue(io: &mut ConnectionPair, target: &mut Target) {
    io.run(target, HostCommand::write(1, 8, 2, vec![1; 8192]));
    io.run(target, HostCommand::write(1, 16, 5, vec![2; 20480]).with_directive(2, 1));
    io.run(target, HostCommand::read(1, 8, 8, 32768));
    io.run(target, HostCommand::deallocate(1, &[(8, 1), (16, 2)]));
    io.run(target, HostCommand::copy(1, &[(16, 2), (18, 1)], 64));
    io.run(target, HostCommand::handle_status(1, 128));
    io.run(target, HostCommand::append(2, 64, 3, vec![3; 12288]));
    io.run(target, HostCommand::zone_management(2, 2, Some(64)));
    io.run(target, HostCommand::zone_report(2, 0, 1088));
    io.run(target, HostCommand::flush(None));
}
