//! A checksum over Parquet files that Flashloom writes.
//!
//! The `parquet` crate panics on some damaged files (a page that refers to a missing dictionary), and a panic does not
//! tell a user that a disk has lost a bit. The seal has eight bytes: a mark and the CRC-32 of all other bytes. Its
//! place is before the footer, where readers of Parquet do not look: they find the footer from the end of the file, and
//! everything else by offsets from the beginning.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use flate2::Crc;

const MARK: [u8; 4] = *b"FLWC";
const SEAL: u64 = 8;
const TAIL: u64 = 8;

/// A writer with a checksum. At the end it holds the footer back until the seal is written.
pub(crate) struct Sealer<W> {
    inner: W,
    crc: Crc,
    footer: Option<Vec<u8>>,
}

impl<W: Write> Sealer<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, crc: Crc::new(), footer: None }
    }

    /// Buffers all further bytes until [`Self::seal`].
    pub(crate) fn hold(&mut self) {
        self.footer = Some(Vec::new());
    }

    /// Writes the seal and then the buffered bytes.
    pub(crate) fn seal(mut self) -> io::Result<W> {
        let held = self.footer.unwrap_or_default();
        let Some((body, tail)) = held.split_last_chunk::<8>() else {
            return Err(io::Error::other("a Parquet file without a footer"));
        };
        let [a, b, c, d, ..] = *tail;
        let footer = u32::from_le_bytes([a, b, c, d]) as usize;
        let before = body.len().checked_sub(footer).ok_or_else(|| io::Error::other("a footer cut short"))?;
        self.crc.update(&held);
        self.inner.write_all(&held[..before])?;
        self.inner.write_all(&MARK)?;
        self.inner.write_all(&self.crc.sum().to_le_bytes())?;
        self.inner.write_all(&held[before..])?;
        Ok(self.inner)
    }
}

/// The bytes that end a file whose other bytes have this checksum: the seal, followed by the footer.
pub(crate) fn sealed(body: &Crc, footer: &[u8]) -> Vec<u8> {
    let mut crc = Crc::new();
    crc.combine(body);
    crc.update(footer);
    [&MARK[..], &crc.sum().to_le_bytes(), footer].concat()
}

impl<W: Write> Write for Sealer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(footer) = &mut self.footer {
            return footer.write(bytes);
        }
        let n = self.inner.write(bytes)?;
        self.crc.update(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The state of a file's seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seal {
    Whole,
    Broken,
    None,
}

/// Reads the whole file and compares its checksum.
pub(crate) fn check(mut file: File) -> io::Result<Seal> {
    let length = file.metadata()?.len();
    let Some(end) = length.checked_sub(TAIL + SEAL) else { return Ok(Seal::None) };
    let mut four = [0; 4];
    file.seek(SeekFrom::Start(length - TAIL))?;
    file.read_exact(&mut four)?;
    let Some(at) = end.checked_sub(u64::from(u32::from_le_bytes(four))) else { return Ok(Seal::None) };
    file.seek(SeekFrom::Start(at))?;
    let mut seal = [0; SEAL as usize];
    file.read_exact(&mut seal)?;
    let Some(sum) = seal.strip_prefix(&MARK) else { return Ok(Seal::None) };
    file.seek(SeekFrom::Start(0))?;
    let mut crc = Crc::new();
    let mut buffer = vec![0; 256 << 10];
    add(&mut crc, &mut (&file).take(at), &mut buffer)?;
    file.seek(SeekFrom::Start(at + SEAL))?;
    add(&mut crc, &mut &file, &mut buffer)?;
    Ok(if sum == crc.sum().to_le_bytes() { Seal::Whole } else { Seal::Broken })
}

fn add(crc: &mut Crc, from: &mut impl Read, buffer: &mut [u8]) -> io::Result<()> {
    loop {
        match from.read(buffer)? {
            0 => return Ok(()),
            n => crc.update(&buffer[..n]),
        }
    }
}
