//! The directory of a zip, and the bytes of its members.
//!
//! A zip is read from its end: the directory there has the name, the place, the compression and the checksum of each member.
//! Members are stored, deflated, or compressed by bzip2, xz or zstd.

use std::io::{self, Read, Seek, SeekFrom};

use flate2::Crc;

use super::stored::FilePiece;

/// Marks of the records of a zip.
const LOCAL: &[u8] = b"PK\x03\x04";
const ENTRY: &[u8] = b"PK\x01\x02";
const END: &[u8] = b"PK\x05\x06";
const LARGE_LOCATOR: &[u8] = b"PK\x06\x07";
const LARGE_END: &[u8] = b"PK\x06\x06";

/// The number of bytes of the last record, without the comment that may follow.
const END_BYTES: usize = 22;
/// The most bytes of a comment.
const COMMENT: usize = u16::MAX as usize;
/// The most bytes of a directory that is read into memory.
const LARGEST: u64 = 64 << 20;

pub(crate) struct ZipEntry {
    pub(crate) name: String,
    method: u16,
    crc: u32,
    packed: u64,
    size: u64,
    at: u64,
}

/// True for the first bytes of a zip.
pub(crate) fn looks(head: &[u8]) -> bool {
    head.starts_with(LOCAL) || head.starts_with(END)
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn u16_at(bytes: &[u8], at: usize) -> io::Result<u16> {
    let field = bytes.get(at..at + 2).ok_or_else(|| damaged("a record is cut short"))?;
    Ok(u16::from_le_bytes([field[0], field[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> io::Result<u32> {
    Ok(u32::from(u16_at(bytes, at)?) | u32::from(u16_at(bytes, at + 2)?) << 16)
}

fn u64_at(bytes: &[u8], at: usize) -> io::Result<u64> {
    Ok(u64::from(u32_at(bytes, at)?) | u64::from(u32_at(bytes, at + 4)?) << 32)
}

fn bytes_at(file: &FilePiece, from: u64, len: u64) -> io::Result<Vec<u8>> {
    if len > LARGEST || !file.holds(from, len) {
        return Err(damaged("a record lies outside the file"));
    }
    let mut bytes = vec![0; len as usize];
    let mut piece = file.piece(from, len);
    piece.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The place and the length of the directory.
fn directory(file: &FilePiece) -> io::Result<(u64, u64)> {
    let len = file.again().seek(SeekFrom::End(0))?;
    let tail = len.min((END_BYTES + COMMENT) as u64);
    let bytes = bytes_at(file, len - tail, tail)?;
    let ends = bytes.len().checked_sub(END_BYTES).ok_or_else(|| damaged("its directory is missing"))?;
    let end = (0..=ends).rev().find(|at| bytes[*at..].starts_with(END));
    let end = end.ok_or_else(|| damaged("its directory is missing"))?;
    let (size, from) = (u64::from(u32_at(&bytes, end + 12)?), u64::from(u32_at(&bytes, end + 16)?));
    // A file of more than 4 GiB or 65,535 members has these numbers in a larger record.
    let Some(locator) = end.checked_sub(20).filter(|at| bytes[*at..].starts_with(LARGE_LOCATOR)) else {
        return Ok((from, size));
    };
    let large = bytes_at(file, u64_at(&bytes, locator + 8)?, 56)?;
    if !large.starts_with(LARGE_END) {
        return Err(damaged("its directory is missing"));
    }
    Ok((u64_at(&large, 48)?, u64_at(&large, 40)?))
}

/// The members of a zip, without its folders.
pub(crate) fn entries(file: &FilePiece) -> io::Result<Vec<ZipEntry>> {
    let (from, len) = directory(file)?;
    let bytes = bytes_at(file, from, len)?;
    let mut entries = Vec::new();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        if !rest.starts_with(ENTRY) {
            return Err(damaged("its directory is damaged"));
        }
        let [name, extra, comment] = [28, 30, 32].map(|at| u16_at(rest, at).map(usize::from));
        let (name, extra, comment) = (name?, extra?, comment?);
        let (flags, method, crc) = (u16_at(rest, 8)?, u16_at(rest, 10)?, u32_at(rest, 16)?);
        let (packed, size, at) = (u32_at(rest, 20)?, u32_at(rest, 24)?, u32_at(rest, 42)?);
        let whole = 46 + name + extra + comment;
        let record = rest.get(..whole).ok_or_else(|| damaged("its directory is cut short"))?;
        let title = String::from_utf8_lossy(&record[46..46 + name]).into_owned();
        if flags & 1 == 1 {
            return Err(damaged(&format!("{title} is encrypted")));
        }
        let [size, packed, at] = large(&record[46 + name..46 + name + extra], [size, packed, at])?;
        if !title.ends_with('/') {
            entries.push(ZipEntry { name: title, method, crc, packed, size, at });
        }
        rest = &rest[whole..];
    }
    Ok(entries)
}

/// Completes numbers of an entry: a number with all bits set is in the extra field 1, with 64 bits.
fn large(mut extra: &[u8], numbers: [u32; 3]) -> io::Result<[u64; 3]> {
    let mut wide: &[u8] = &[];
    while extra.len() >= 4 {
        let (tag, len) = (u16_at(extra, 0)?, usize::from(u16_at(extra, 2)?));
        let field = extra.get(4..4 + len).ok_or_else(|| damaged("its directory is damaged"))?;
        if tag == 1 {
            wide = field;
        }
        extra = &extra[4 + len..];
    }
    let mut at = 0;
    let mut values = [0; 3];
    for (value, number) in values.iter_mut().zip(numbers) {
        *value = u64::from(number);
        if number == u32::MAX {
            *value = u64_at(wide, at)?;
            at += 8;
        }
    }
    Ok(values)
}

impl ZipEntry {
    /// The bytes of the member, unpacked and checked.
    pub(crate) fn open(&self, file: &FilePiece) -> io::Result<Box<dyn Read + Send>> {
        let local = bytes_at(file, self.at, 30)?;
        if !local.starts_with(LOCAL) {
            return Err(damaged(&format!("{} is not where the directory says", self.name)));
        }
        let from = self.at + 30 + u64::from(u16_at(&local, 26)?) + u64::from(u16_at(&local, 28)?);
        if !file.holds(from, self.packed) {
            return Err(damaged(&format!("{} is incomplete", self.name)));
        }
        let packed = io::BufReader::new(file.piece(from, self.packed));
        let plain: Box<dyn Read + Send> = match self.method {
            0 => Box::new(packed),
            8 => Box::new(flate2::bufread::DeflateDecoder::new(packed)),
            12 => Box::new(bzip2::bufread::BzDecoder::new(packed)),
            93 => Box::new(zstd::stream::read::Decoder::with_buffer(packed)?),
            95 => Box::new(liblzma::bufread::XzDecoder::new(packed)),
            other => return Err(damaged(&format!("{} has a compression that is not known ({other})", self.name))),
        };
        Ok(Box::new(CheckedMember { plain, crc: Crc::new(), wanted: self.crc, left: self.size }))
    }
}

/// A member whose length and checksum are compared with the directory at its end.
struct CheckedMember {
    plain: Box<dyn Read + Send>,
    crc: Crc,
    wanted: u32,
    left: u64,
}

impl Read for CheckedMember {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let got = self.plain.read(into)?;
        self.crc.update(&into[..got]);
        self.left = self.left.checked_sub(got as u64).ok_or_else(|| damaged("it is longer than the directory says"))?;
        if got == 0 && !into.is_empty() && (self.left > 0 || self.crc.sum() != self.wanted) {
            return Err(damaged("it is not what the directory says"));
        }
        Ok(got)
    }
}
