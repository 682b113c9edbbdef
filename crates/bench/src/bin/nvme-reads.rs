//! Reads 4 KiB at random places of an NVMe/TCP subsystem over one I/O queue, and prints thousand reads per second and
//! its own processor use in percent of a core. Commands that become possible at the same time are sent by one system
//! call, as in `nbd-reads`.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;

use clap::Parser;
use floor::clock::timed;
use floor::random::Random;
use nvme::{Completion, ConnectRequest, Host, HostCommand, HostConfig, HostEvent, IdentifiedNamespace};

/// The number of bytes of a read.
const LENGTH: u32 = 4096;
const NAMESPACE: u32 = 1;
/// Offset and value of the register CC, as Linux writes it: enabled, all command sets, entries of 64 and 16 bytes.
const CONFIGURATION: (u32, u32) = (0x14, 1 | 6 << 4 | 6 << 16 | 4 << 20);
/// Controller ID in a connect command that asks for a new controller.
const ANY: u16 = u16::MAX;

#[derive(Parser)]
struct Args {
    /// The server's address
    address: SocketAddr,
    /// The qualified name of the subsystem
    nqn: String,
    /// Reads under way
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=127))]
    depth: u32,
    /// Seconds on the wall clock
    #[arg(long, default_value_t = 8.0)]
    seconds: f64,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok((rate, part)) => {
            println!("{:.3} {part:.1}", rate / 1e3);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {}: {error}", args.address);
            ExitCode::FAILURE
        }
    }
}

/// Measures reads per second, and processor use in percent of a core.
fn run(args: &Args) -> io::Result<(f64, f64)> {
    const SLICE: u64 = 10_000;
    let mut admin = QueueConnection::open(args.address)?;
    let controller = admin.one(HostCommand::connect(&connect(args, 0, ANY)))?.result as u16;
    admin.one(HostCommand::property_set(CONFIGURATION.0, CONFIGURATION.1))?;
    let identified = admin.one(HostCommand::identify(0, NAMESPACE, 0))?.data;
    let namespace =
        IdentifiedNamespace::from_bytes(&identified).ok_or_else(|| io::Error::other("it has no namespace"))?;
    let mut queue = QueueConnection::open(args.address)?;
    queue.one(HostCommand::connect(&connect(args, 1, controller)))?;
    let mut reads = Reads::new(queue, &namespace, args.depth)?;
    let (mut done, mut cpu, mut wall) = (0, 0.0, 0.0);
    while wall < args.seconds {
        let (result, cost) = timed(|| reads.run(SLICE));
        done += result?;
        cpu += cost.cpu;
        wall += cost.wall;
    }
    Ok((done as f64 / wall, cpu / wall * 100.0))
}

fn connect(args: &Args, queue: u16, controller: u16) -> ConnectRequest {
    ConnectRequest {
        queue,
        entries: 128,
        flow_control: true,
        keep_alive: 0,
        controller,
        host_id: [1; 16],
        subsystem_nqn: args.nqn.clone(),
        host_nqn: "nqn.2014-08.org.nvmexpress:uuid:00000000-0000-4000-8000-000000000001".to_owned(),
    }
}

/// A connection to the controller, which carries one queue.
struct QueueConnection {
    stream: TcpStream,
    host: Host,
    /// Received bytes, up to `filled`.
    input: Vec<u8>,
    filled: usize,
}

impl QueueConnection {
    fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let host = Host::new(HostConfig::default());
        let mut link = Self { stream, host, input: vec![0; 1 << 20], filled: 0 };
        link.receive()?;
        Ok(link)
    }

    /// Sends the queued commands, reads once, and returns the commands that have completed.
    fn receive(&mut self) -> io::Result<Vec<Completion>> {
        self.stream.write_all(&self.host.output().take().concat())?;
        match self.stream.read(&mut self.input[self.filled..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => self.filled += more,
        }
        let (mut at, mut ended) = (0, Vec::new());
        loop {
            let (taken, event) = self.host.receive(&self.input[at..self.filled]);
            at += taken;
            match event {
                None if taken == 0 => break,
                None | Some(HostEvent::Ready) => {}
                Some(HostEvent::Completed(completion)) if completion.status.is_success() => ended.push(completion),
                Some(HostEvent::Completed(Completion { status, .. })) => {
                    return Err(io::Error::other(format!("a command failed: {status:?}")));
                }
                Some(HostEvent::Error(error)) => return Err(io::Error::other(error.to_string())),
            }
        }
        self.input.copy_within(at..self.filled, 0);
        self.filled -= at;
        Ok(ended)
    }

    /// Sends a command when no other is under way, and returns its completion.
    fn one(&mut self, command: HostCommand) -> io::Result<Completion> {
        self.host.submit(command);
        loop {
            if let Some(completion) = self.receive()?.pop() {
                return Ok(completion);
            }
        }
    }
}

struct Reads {
    link: QueueConnection,
    random: Random,
    /// The number of pieces of [`LENGTH`] in the namespace.
    places: u64,
    /// The number of logical blocks of a piece.
    blocks: u32,
}

impl Reads {
    fn new(link: QueueConnection, namespace: &IdentifiedNamespace, depth: u32) -> io::Result<Self> {
        let blocks = LENGTH >> namespace.block_shift;
        if blocks == 0 || namespace.blocks < u64::from(blocks) {
            return Err(io::Error::other("the namespace has larger blocks than a read, or fewer"));
        }
        let places = namespace.blocks / u64::from(blocks);
        let mut reads = Self { link, random: Random::new(1), places, blocks };
        (0..depth).for_each(|_| reads.request());
        Ok(reads)
    }

    fn request(&mut self) {
        let start = (self.random.draw() >> 20) % self.places * u64::from(self.blocks);
        self.link.host.submit(HostCommand::read(NAMESPACE, start, self.blocks, LENGTH));
    }

    /// Completes at least `reads` reads and submits a new read for each. Returns the number of completed reads.
    fn run(&mut self, reads: u64) -> io::Result<u64> {
        let mut done = 0;
        while done < reads {
            let ended = self.link.receive()?.len();
            (0..ended).for_each(|_| self.request());
            done += ended as u64;
        }
        Ok(done)
    }
}
