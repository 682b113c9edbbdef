//! A running subsystem, and a host of it.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use nvme::{Completion, ConnectRequest, Digests, Host, HostCommand, HostConfig, HostError, HostEvent, Status};
use serve::engine::{CutPolicy, Engine, EngineOptions, FinalState, Pace};
use serve::nvme_tcp::{
    NvmeExport, NvmeLimits, NvmeObserver, NvmeServer, NvmeStopper, PowerSignal, Presentation, description,
};
use study::catalogue::Device;

use crate::memory::PATIENCE;

/// Enabled, all command sets, entries of 64 and 16 bytes: what Linux writes to CC.
pub(super) const ENABLE: u32 = 1 | 6 << 4 | 6 << 16 | 4 << 20;
pub(super) const HOST_NQN: &str = "nqn.2014-08.org.nvmexpress:uuid:0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";

/// A drive with two queues and a volatile buffer.
pub(super) const SMALL: &str = r#"name = "small"
flash = { part = "dirik-2009", channels = 2, chips = 2, blocks = 40, pages = 16 }
host = { queues = 2 }
buffer = { size = "256KiB" }
ftl = { map-unit = "2KiB", over-provisioning = "40%" }
"#;

/// Time limits that no test reaches by accident.
pub(super) fn patient() -> NvmeLimits {
    let long = Duration::from_secs(60);
    NvmeLimits { handshake: long, stall: long, shutdown: long, ..NvmeLimits::default() }
}

pub(super) struct ServerSettings<'a> {
    pub(super) device: &'a str,
    /// The device of the second namespace.
    pub(super) second: Option<&'a str>,
    /// Binary logarithm of the bytes of a block, for namespaces without zones.
    pub(super) block_shift: u8,
    pub(super) limits: NvmeLimits,
    pub(super) hosts: Option<Vec<String>>,
    pub(super) pace: Pace,
    pub(super) record: Option<serve::record::RecordingTarget>,
    pub(super) on_cut: CutPolicy,
}

impl Default for ServerSettings<'_> {
    fn default() -> Self {
        Self {
            device: SMALL,
            second: None,
            block_shift: 9,
            limits: patient(),
            hosts: None,
            pace: Pace::Max,
            record: None,
            on_cut: CutPolicy::End,
        }
    }
}

/// Drives that are served until this is dropped.
pub(super) struct SubsystemServer {
    pub(super) engine: Engine,
    /// The engine of the second namespace.
    pub(super) second: Option<Engine>,
    pub(super) address: SocketAddr,
    pub(super) nqn: String,
    stopper: NvmeStopper,
    thread: Option<JoinHandle<()>>,
    ended: Arc<Mutex<Vec<String>>>,
}

impl SubsystemServer {
    pub(super) fn small() -> Self {
        Self::new(ServerSettings::default())
    }

    pub(super) fn of(device: &str) -> Self {
        Self::new(ServerSettings { device, ..ServerSettings::default() })
    }

    pub(super) fn new(setting: ServerSettings<'_>) -> Self {
        let ServerSettings { device, second, block_shift, limits, hosts, pace, record, on_cut } = setting;
        let parse = |text: &str| Device::parse(text.to_owned()).unwrap_or_else(|faults| panic!("{faults}"));
        let devices: Vec<Device> = [device].into_iter().chain(second).map(parse).collect();
        let server = NvmeServer::bind("127.0.0.1:0".parse().expect("an address"), limits).expect("it listens");
        let power = PowerSignal::new(devices.len());
        let mut record = record;
        let engines = devices.iter().enumerate().map(|(number, device)| {
            let (record, signal) = (record.take(), power.clone());
            let mut options = EngineOptions { seed: 1, pace, record, ..EngineOptions::new(device.clone()) };
            (options.zones, options.on_cut) = (true, on_cut);
            options.on_power = Some(Box::new(move |on| signal.set(number, on)));
            Engine::start(options, |_| {}).unwrap_or_else(|error| panic!("{error}"))
        });
        let engines: Vec<Engine> = engines.collect();
        let described: Vec<&Device> = devices.iter().collect();
        let presentation = Presentation { limits, hosts, block_shift, ..Presentation::at(server.address(), 1) };
        let described = description(&described, &presentation);
        let description = described.unwrap_or_else(|error| panic!("{error}"));
        let (ended, nqn) = (Arc::<Mutex<Vec<String>>>::default(), description.identity.nqn.clone());
        let list = Arc::clone(&ended);
        let on_end = Arc::new(move |why: &serve::nvme_tcp::DisconnectReason| {
            list.lock().expect("a list").push(why.to_string());
        });
        let server = server.observed_by(NvmeObserver { on_end, ..NvmeObserver::default() });
        let (address, stopper) = (server.address(), server.stopper());
        let power = (on_cut == CutPolicy::End).then_some(power);
        let drives = engines.iter().cloned().zip(devices).collect();
        let export = NvmeExport { drives, description, power };
        let run = move || server.run(export).expect("it runs");
        let thread = std::thread::Builder::new().name("subsystem".to_owned()).spawn(run).expect("a thread");
        let mut engines = engines.into_iter();
        let (engine, second) = (engines.next().expect("a drive"), engines.next());
        Self { engine, second, address, nqn, stopper, thread: Some(thread), ended }
    }

    /// The reasons for which connections have ended so far.
    pub(super) fn ended(&self) -> Vec<String> {
        self.ended.lock().expect("a list").clone()
    }

    /// Waits until a connection has ended for this reason.
    #[track_caller]
    pub(super) fn await_end(&self, why: &str) {
        self.await_ends(why, 1);
    }

    /// Waits until `count` connections have ended for this reason.
    #[track_caller]
    pub(super) fn await_ends(&self, why: &str, count: usize) {
        let mut waited = Duration::ZERO;
        while self.ended().iter().filter(|ended| ended.contains(why)).count() < count {
            assert!(waited < PATIENCE, "not {count} connections ended because `{why}`, but: {:?}", self.ended());
            std::thread::sleep(Duration::from_millis(2));
            waited += Duration::from_millis(2);
        }
    }

    /// Stops the server and the drive.
    pub(super) fn stop(mut self) -> FinalState {
        self.stopper.stop();
        self.thread.take().expect("it runs").join().expect("it ends well");
        self.engine.stop().expect("it was served")
    }
}

impl Drop for SubsystemServer {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take().filter(|_| !std::thread::panicking()) {
            thread.join().expect("the server ends well");
        }
        let _ = self.engine.stop();
        self.second.as_ref().map(Engine::stop);
    }
}

/// A host's end of one connection.
pub(super) struct HostConnection {
    pub(super) host: Host,
    pub(super) stream: TcpStream,
    input: Vec<u8>,
    completions: BTreeMap<u16, Completion>,
    pub(super) error: Option<HostError>,
}

pub(super) fn connect(subsystem: &str, queue: u16, controller: u16) -> ConnectRequest {
    ConnectRequest {
        queue,
        entries: 32,
        flow_control: true,
        keep_alive: 0,
        controller,
        host_id: [7; 16],
        subsystem_nqn: subsystem.to_owned(),
        host_nqn: HOST_NQN.to_owned(),
    }
}

impl HostConnection {
    /// A connection that both ends have initialized.
    pub(super) fn open(address: SocketAddr, config: HostConfig) -> Self {
        let stream = TcpStream::connect(address).expect("somebody listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        let host = Host::new(config);
        let mut link = Self { host, stream, input: Vec::new(), completions: BTreeMap::new(), error: None };
        link.send();
        let mut is_ready = false;
        while !is_ready {
            is_ready = link.hear();
        }
        link
    }

    /// An admin queue whose controller is enabled, and the identifier of the controller.
    pub(super) fn admin(served: &SubsystemServer) -> (Self, u16) {
        Self::admin_with(served, connect(&served.nqn, 0, u16::MAX))
    }

    pub(super) fn admin_with(served: &SubsystemServer, request: ConnectRequest) -> (Self, u16) {
        let mut link = Self::open(served.address, HostConfig::default());
        let connected = link.run(HostCommand::connect(&request));
        assert_eq!(connected.status, Status::SUCCESS);
        link.done(HostCommand::property_set(0x14, ENABLE));
        (link, connected.result as u16)
    }

    /// An I/O queue of a controller.
    pub(super) fn io(served: &SubsystemServer, controller: u16, queue: u16) -> Self {
        Self::io_with(served, controller, queue, HostConfig::default())
    }

    pub(super) fn io_with(served: &SubsystemServer, controller: u16, queue: u16, config: HostConfig) -> Self {
        let mut link = Self::open(served.address, config);
        link.done(HostCommand::connect(&connect(&served.nqn, queue, controller)));
        link.host.set_in_capsule(16 << 10);
        link
    }

    pub(super) fn send(&mut self) {
        let said = self.host.output().take().concat();
        self.stream.write_all(&said).expect("sent");
    }

    /// Reads once; true if the initialization is complete.
    fn hear(&mut self) -> bool {
        let mut buffer = [0; 64 << 10];
        let read = self.stream.read(&mut buffer).expect("an answer in time");
        assert!(read > 0, "the connection has ended");
        self.input.extend_from_slice(&buffer[..read]);
        self.take()
    }

    /// Processes the bytes that were read; true if the initialization is complete.
    fn take(&mut self) -> bool {
        let (mut taken, mut is_ready) = (0, false);
        loop {
            let (more, event) = self.host.receive(&self.input[taken..]);
            taken += more;
            match event {
                None if more == 0 => break,
                None => {}
                Some(HostEvent::Ready) => is_ready = true,
                Some(HostEvent::Completed(completion)) => {
                    self.completions.insert(completion.command_id, completion);
                }
                Some(HostEvent::Error(error)) => {
                    self.error = Some(error);
                    break;
                }
            }
        }
        self.input.drain(..taken);
        self.send();
        is_ready
    }

    pub(super) fn submit(&mut self, command: HostCommand) -> u16 {
        let id = self.host.submit(command);
        self.send();
        id
    }

    pub(super) fn wait(&mut self, id: u16) -> Completion {
        loop {
            if let Some(completion) = self.completions.remove(&id) {
                return completion;
            }
            assert!(self.error.is_none(), "{:?}", self.error);
            self.hear();
        }
    }

    /// Sends a command and waits for its completion.
    pub(super) fn run(&mut self, command: HostCommand) -> Completion {
        let id = self.submit(command);
        self.wait(id)
    }

    /// Sends a command that succeeds.
    #[track_caller]
    pub(super) fn done(&mut self, command: HostCommand) -> Completion {
        let completion = self.run(command);
        assert_eq!(completion.status, Status::SUCCESS);
        completion
    }

    /// Sends a command that fails, and returns its status without flags.
    #[track_caller]
    pub(super) fn fails(&mut self, command: HostCommand) -> Status {
        let completion = self.run(command);
        assert!(!completion.status.is_success(), "it succeeded");
        completion.status.bare()
    }

    /// Reads until the end of the connection; true if it ended without an error of the host.
    pub(super) fn is_closed(&mut self) -> bool {
        let mut buffer = [0; 64 << 10];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) | Err(_) => return true,
                Ok(read) => {
                    self.input.extend_from_slice(&buffer[..read]);
                    self.take_last();
                }
            }
        }
    }

    /// Processes the last bytes of a connection that takes nothing any more.
    fn take_last(&mut self) {
        let mut taken = 0;
        loop {
            let (more, event) = self.host.receive(&self.input[taken..]);
            taken += more;
            match event {
                None if more == 0 => break,
                Some(HostEvent::Completed(completion)) => {
                    self.completions.insert(completion.command_id, completion);
                }
                Some(HostEvent::Error(error)) => {
                    self.error = Some(error);
                    break;
                }
                _ => {}
            }
        }
        self.input.drain(..taken);
    }

    /// Completions that have arrived and were not waited for.
    pub(super) fn completions(&self) -> impl Iterator<Item = &Completion> {
        self.completions.values()
    }
}

/// Digests of headers and data.
pub(super) const fn digests() -> HostConfig {
    HostConfig { digests: Digests { header: true, data: true }, alignment: 0, max_r2t: 2 }
}

/// The SMART page's fields: data units and commands, read and written.
pub(super) fn smart(admin: &mut HostConnection) -> [u128; 4] {
    let page = admin.done(HostCommand::log_page(2, 0xffff_ffff, 0, 512)).data;
    [32, 48, 64, 80].map(|at| field(&page, at))
}

/// A log page of the endurance group, whose identifier is in bits 31:16 of dword 11.
pub(super) fn group_page(page: u8, length: u32) -> HostCommand {
    let mut command = HostCommand::log_page(page, 0, 0, length);
    command.entry = command.entry.with_cdw(11, 1 << 16);
    command
}

pub(super) fn field(page: &[u8], at: usize) -> u128 {
    u128::from_le_bytes(page[at..at + 16].try_into().expect("sixteen bytes"))
}
