//! The form of a journal on disk: a magic number, a version, and consecutive records.
//!
//! A record consists of its length, its kind, a checksum of both, its bytes, and a checksum of the bytes. So a damaged length is
//! not mistaken for a journal that was cut short. The checksums include the record's number, so missing and repeated records are
//! found, too.

use std::io::{self, Write};

/// The first bytes of a journal.
pub const MAGIC: [u8; 18] = study::output::JOURNAL;

/// The version of the format, raised whenever a byte changes its meaning.
pub(crate) const VERSION: u32 = 1;

/// Bytes of a record before its content: the length, the kind and their checksum.
pub(crate) const HEAD: usize = 12;

/// Bytes of a record behind its content: the checksum of the content.
pub(crate) const FOOT: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum RecordKind {
    Begin = 1,
    Asked = 2,
    Submitted = 3,
    Answered = 4,
    Said = 5,
    End = 6,
}

impl RecordKind {
    pub(crate) fn of(number: u32) -> Option<Self> {
        const ALL: [RecordKind; 6] = [
            RecordKind::Begin,
            RecordKind::Asked,
            RecordKind::Submitted,
            RecordKind::Answered,
            RecordKind::Said,
            RecordKind::End,
        ];
        ALL.into_iter().find(|kind| *kind as u32 == number)
    }
}

/// A checksum over the order, position and content of words of eight bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checksum(u64);

impl Checksum {
    pub(crate) const fn new(number: u64) -> Self {
        Self(number ^ 0x6A6F_7572_6E61_6C21)
    }

    /// Adds bytes. All pieces but the last must have a multiple of eight bytes.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for word in bytes.chunks(8) {
            let mut padded = [0; 8];
            padded[..word.len()].copy_from_slice(word);
            let mixed = (self.0 ^ u64::from_le_bytes(padded)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            self.0 = (mixed ^ mixed >> 29).rotate_left(23).wrapping_add(word.len() as u64);
        }
    }

    pub(crate) const fn value(self) -> u64 {
        self.0
    }
}

/// The head of record `number`.
pub(crate) fn head(number: u64, kind: u32, length: u32) -> [u8; HEAD] {
    let mut bytes = [0; HEAD];
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes[4..8].copy_from_slice(&kind.to_le_bytes());
    let mut sum = Checksum::new(number);
    sum.add(&bytes[..8]);
    bytes[8..].copy_from_slice(&((sum.value() >> 32) as u32).to_le_bytes());
    bytes
}

/// Writes record `number`, whose bytes are `fields` and then `content`. Returns the size of the record in the file.
pub(crate) fn put(
    to: &mut impl Write,
    number: u64,
    kind: RecordKind,
    fields: &[u8],
    content: &[u8],
) -> io::Result<u64> {
    let length = u32::try_from(fields.len() + content.len())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a request of 4 GiB or more cannot be recorded"))?;
    debug_assert!(content.is_empty() || fields.len().is_multiple_of(8), "the checksum goes over words");
    to.write_all(&head(number, kind as u32, length))?;
    let mut sum = Checksum::new(number);
    for bytes in [fields, content] {
        to.write_all(bytes)?;
        sum.add(bytes);
    }
    to.write_all(&sum.value().to_le_bytes())?;
    Ok(u64::from(length) + (HEAD + FOOT) as u64)
}
