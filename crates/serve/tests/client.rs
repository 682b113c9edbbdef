//! A plain NBD client, written from the protocol's numbers and without the server's code.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::memory::PATIENCE;

pub(crate) const READ: u16 = 0;
pub(crate) const WRITE: u16 = 1;
pub(crate) const DISC: u16 = 2;
pub(crate) const FLUSH: u16 = 3;
pub(crate) const TRIM: u16 = 4;
pub(crate) const FUA: u16 = 1;

pub(crate) fn head(command: u16, flags: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let mut out = Vec::from(0x2560_9513_u32.to_be_bytes());
    out.extend(flags.to_be_bytes());
    out.extend(command.to_be_bytes());
    out.extend(cookie.to_be_bytes());
    out.extend(offset.to_be_bytes());
    out.extend(length.to_be_bytes());
    out
}

/// The client's bytes until it has chosen an export.
pub(crate) fn hello(export: &str) -> Vec<u8> {
    let mut out = Vec::from(3_u32.to_be_bytes());
    out.extend(b"IHAVEOPT");
    out.extend(7_u32.to_be_bytes());
    out.extend((export.len() as u32 + 6).to_be_bytes());
    out.extend((export.len() as u32).to_be_bytes());
    out.extend(export.as_bytes());
    out.extend([0, 0]);
    out
}

/// A connection whose negotiation is over.
pub(crate) struct Client<S = UnixStream> {
    stream: S,
    /// The lengths of the data of outstanding reads, by cookie.
    reads: BTreeMap<u64, u32>,
}

/// A connection on which the client has sent nothing.
pub(crate) fn connect(socket: &Path) -> UnixStream {
    let stream = UnixStream::connect(socket).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    stream.set_write_timeout(Some(PATIENCE)).expect("a socket");
    stream
}

impl Client {
    pub(crate) fn new(socket: &Path, export: &str) -> Self {
        Self::try_new(socket, export).expect("a connection")
    }

    pub(crate) fn try_new(socket: &Path, export: &str) -> io::Result<Self> {
        let mut stream = connect(socket);
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting)?;
        assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
        stream.write_all(&3_u32.to_be_bytes())?;
        Self::choose(stream, export)
    }
}

impl<S: Read + Write> Client<S> {
    /// Chooses an export in a negotiation that has begun.
    pub(crate) fn choose(mut stream: S, export: &str) -> io::Result<Self> {
        stream.write_all(&hello(export)[4..])?;
        loop {
            let mut reply = [0; 20];
            stream.read_exact(&mut reply)?;
            let number = |at: usize| u32::from_be_bytes(reply[at..at + 4].try_into().expect("four bytes"));
            stream.read_exact(&mut vec![0; number(16) as usize])?;
            match number(12) {
                1 => return Ok(Self { stream, reads: BTreeMap::new() }),
                3 => {}
                other => panic!("the server answers {other:x}"),
            }
        }
    }

    pub(crate) fn try_send(
        &mut self,
        command: (u16, u16),
        cookie: u64,
        range: (u64, u32),
        data: &[u8],
    ) -> io::Result<()> {
        if command.0 == READ {
            self.reads.insert(cookie, range.1);
        }
        let mut request = head(command.0, command.1, cookie, range.0, range.1);
        request.extend(data);
        self.stream.write_all(&request)
    }

    /// Sends a request: command and flags, the cookie, offset and length.
    pub(crate) fn send(&mut self, command: (u16, u16), cookie: u64, range: (u64, u32), data: &[u8]) {
        self.try_send(command, cookie, range, data).expect("the server reads");
    }

    /// The next reply: its cookie, the error, the data.
    pub(crate) fn try_reply(&mut self) -> io::Result<(u64, u32, Vec<u8>)> {
        let mut reply = [0; 16];
        self.stream.read_exact(&mut reply)?;
        let number = |at: usize| u32::from_be_bytes(reply[at..at + 4].try_into().expect("four bytes"));
        assert_eq!(number(0), 0x6744_6698);
        let cookie = u64::from_be_bytes(reply[8..].try_into().expect("eight bytes"));
        let length = self.reads.remove(&cookie).filter(|_| number(4) == 0).unwrap_or(0);
        let mut data = vec![0; length as usize];
        self.stream.read_exact(&mut data)?;
        Ok((cookie, number(4), data))
    }

    pub(crate) fn reply(&mut self) -> (u64, u32, Vec<u8>) {
        self.try_reply().expect("a reply")
    }

    /// Sends a request and waits for its data; it must succeed.
    pub(crate) fn call(&mut self, command: (u16, u16), range: (u64, u32), data: &[u8]) -> Vec<u8> {
        self.send(command, 77, range, data);
        let (cookie, error, data) = self.reply();
        assert_eq!((cookie, error), (77, 0));
        data
    }

    /// The stream, to send bytes that are no request.
    pub(crate) fn raw(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Waits until the server closes the connection; returns the bytes that the server sent before.
    pub(crate) fn until_closed(mut self) -> usize {
        until_closed(&mut self.stream)
    }
}

/// Waits until the server closes the connection; returns the number of bytes that the server sent before.
pub(crate) fn until_closed(stream: &mut impl Read) -> usize {
    let mut sent = Vec::new();
    match stream.read_to_end(&mut sent) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("the server does not close the connection: {error}"),
    }
    sent.len()
}
