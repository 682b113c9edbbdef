//! Reads 4 KiB at random places of an NBD server over a Unix socket or TCP, and prints thousand reads per second and
//! its own processor use in percent of a core.
//!
//! Requests that become possible at the same time are sent by one system call, and one call takes all replies that have
//! come. The several system calls per read of fio and libnbd would otherwise be the slowest part of the measurement.

use std::process::ExitCode;

#[cfg(not(unix))]
fn main() -> ExitCode {
    eprintln!("error: this system has no Unix sockets");
    ExitCode::from(2)
}

#[cfg(unix)]
fn main() -> ExitCode {
    unix::main()
}

#[cfg(unix)]
mod unix {
    use std::io::{self, Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};
    use std::process::ExitCode;

    use clap::Parser;
    use floor::clock::timed;
    use floor::random::Random;

    /// The number of bytes of a read.
    const LENGTH: usize = 4096;
    /// The number of bytes of a simple reply's header: magic number, error, cookie.
    const HEAD: usize = 16;
    const REQUEST: usize = 28;
    const READ: u16 = 0;
    const DISCONNECT: u16 = 2;
    const REQUEST_MAGIC: u32 = 0x2560_9513;
    const REPLY_MAGIC: u32 = 0x6744_6698;

    #[derive(Parser)]
    struct Args {
        /// The server's Unix socket, or its address and port
        socket: PathBuf,
        /// Reads under way
        #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=512))]
        depth: u32,
        /// Seconds on the wall clock
        #[arg(long, default_value_t = 8.0)]
        seconds: f64,
    }

    pub(super) fn main() -> ExitCode {
        let Args { socket, depth, seconds } = Args::parse();
        match run(&socket, depth, seconds) {
            Ok((rate, part)) => {
                println!("{:.3} {part:.1}", rate / 1e3);
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("error: {}: {error}", socket.display());
                ExitCode::FAILURE
            }
        }
    }

    trait Stream: Read + Write {}

    impl<S: Read + Write> Stream for S {}

    fn connect(to: &Path) -> io::Result<Box<dyn Stream>> {
        let Some(address) = to.to_str().and_then(|to| to.parse::<SocketAddr>().ok()) else {
            return Ok(Box::new(UnixStream::connect(to)?));
        };
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Box::new(stream))
    }

    /// Measures reads per second, and processor use in percent of a core.
    fn run(socket: &Path, depth: u32, seconds: f64) -> io::Result<(f64, f64)> {
        const SLICE: u64 = 10_000;
        let mut reads = Reads::new(connect(socket)?, depth)?;
        let (mut done, mut cpu, mut wall) = (0, 0.0, 0.0);
        while wall < seconds {
            let (result, cost) = timed(|| reads.run(SLICE));
            done += result?;
            cpu += cost.cpu;
            wall += cost.wall;
        }
        reads.disconnect()?;
        Ok((done as f64 / wall, cpu / wall * 100.0))
    }

    struct Reads {
        stream: Box<dyn Stream>,
        depth: u32,
        /// The number of pieces of [`LENGTH`] in the export.
        places: u64,
        random: Random,
        /// Requests that are not sent yet.
        out: Vec<u8>,
        /// Received bytes, up to `filled`.
        input: Vec<u8>,
        filled: usize,
    }

    impl Reads {
        fn new(mut stream: Box<dyn Stream>, depth: u32) -> io::Result<Self> {
            let places = negotiate(&mut *stream)? / LENGTH as u64;
            if places == 0 {
                return Err(io::Error::other("the export is smaller than a read"));
            }
            let input = vec![0; (HEAD + LENGTH) * depth as usize];
            let mut reads = Self { stream, depth, places, random: Random::new(1), out: Vec::new(), input, filled: 0 };
            (0..depth).for_each(|cookie| reads.request(u64::from(cookie)));
            Ok(reads)
        }

        fn request(&mut self, cookie: u64) {
            let offset = (self.random.draw() >> 20) % self.places * LENGTH as u64;
            self.say(READ, cookie, offset, LENGTH as u32);
        }

        fn say(&mut self, command: u16, cookie: u64, offset: u64, length: u32) {
            const NO_FLAGS: [u8; 2] = [0; 2];
            self.out.extend(REQUEST_MAGIC.to_be_bytes());
            self.out.extend(NO_FLAGS);
            self.out.extend(command.to_be_bytes());
            self.out.extend(cookie.to_be_bytes());
            self.out.extend(offset.to_be_bytes());
            self.out.extend(length.to_be_bytes());
        }

        /// Waits for the requests under way, and sends a disconnect: nbdkit 1.32 aborts if a client closes without one.
        fn disconnect(mut self) -> io::Result<()> {
            let mut under_way = u64::from(self.depth) - (self.out.len() / REQUEST) as u64;
            while under_way > 0 {
                under_way -= self.receive()?;
            }
            self.out.clear();
            self.say(DISCONNECT, 0, 0, 0);
            self.stream.write_all(&self.out)
        }

        /// Takes at least `reads` replies and requests another read for each of them. Returns the number of replies.
        fn run(&mut self, reads: u64) -> io::Result<u64> {
            let mut done = 0;
            while done < reads {
                self.stream.write_all(&self.out)?;
                self.out.clear();
                done += self.receive()?;
            }
            Ok(done)
        }

        /// Takes the complete replies of one receive call. Returns their number.
        fn receive(&mut self) -> io::Result<u64> {
            match self.stream.read(&mut self.input[self.filled..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                taken => self.filled += taken,
            }
            let (mut at, mut done) = (0, 0);
            while self.filled - at >= HEAD + LENGTH {
                let head = &self.input[at..at + HEAD];
                let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().expect("four bytes"));
                if (number(0), number(4)) != (REPLY_MAGIC, 0) {
                    return Err(io::Error::other(format!("a reply with magic {:#x}, error {}", number(0), number(4))));
                }
                let cookie = u64::from_be_bytes(head[8..].try_into().expect("eight bytes"));
                self.request(cookie);
                (at, done) = (at + HEAD + LENGTH, done + 1);
            }
            self.input.copy_within(at..self.filled, 0);
            self.filled -= at;
            Ok(done)
        }
    }

    /// Chooses the default export. Returns its length in bytes.
    fn negotiate(stream: &mut dyn Stream) -> io::Result<u64> {
        const GO: u32 = 7;
        const ACK: u32 = 1;
        const INFO: u32 = 3;
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting)?;
        if &greeting[..16] != b"NBDMAGICIHAVEOPT" {
            return Err(io::Error::other("it speaks no fixed newstyle NBD"));
        }
        // The client's flags (fixed newstyle, no zeroes), then GO with an empty name and no information requests.
        let mut out = Vec::from(3_u32.to_be_bytes());
        out.extend(b"IHAVEOPT");
        out.extend(GO.to_be_bytes());
        out.extend(6_u32.to_be_bytes());
        out.extend([0; 6]);
        stream.write_all(&out)?;
        let mut length = 0;
        loop {
            let mut head = [0; 20];
            stream.read_exact(&mut head)?;
            let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().expect("four bytes"));
            let mut data = vec![0; number(16) as usize];
            stream.read_exact(&mut data)?;
            match (number(12), data.as_slice()) {
                (ACK, _) => return Ok(length),
                // The first two bytes are the kind of information: 0 for length and flags.
                (INFO, [0, 0, bytes @ ..]) if bytes.len() >= 8 => {
                    length = u64::from_be_bytes(bytes[..8].try_into().expect("eight bytes"));
                }
                (INFO, _) => {}
                (kind, _) => return Err(io::Error::other(format!("it refuses the default export: {kind:#x}"))),
            }
        }
    }
}
