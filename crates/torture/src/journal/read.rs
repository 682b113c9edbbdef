//! Reads a journal.

use std::io::Read;

use base::io::IoKind;
use base::units::{Lba, Sectors, Time};

use super::frame::{Checksum, FOOT, HEAD, MAGIC, RecordKind, VERSION, head};
use super::{
    ClientAnswer, ClientRequest, DriveRequest, Journal, JournalError, JournalEvent, JournalHeader, RequestKind, RunEnd,
};
use crate::stamp::MOST_SECTORS;

/// The bytes that are read at a time; a multiple of the checksum's words.
const PIECE: usize = 1 << 16;

/// Bytes of the fixed fields of a client's request.
const ASKED: usize = 32;

/// The reason that a record is refused.
type RecordFault = &'static str;

impl Journal {
    /// Reads a journal. A journal that was cut short is no error: its [`Journal::end`] is `None`.
    ///
    /// # Errors
    /// If the file cannot be read, is no journal, or was changed.
    pub fn read(from: &mut impl Read) -> Result<Self, JournalError> {
        let mut start = [0; MAGIC.len() + 4];
        let got = fill(from, &mut start)?;
        if got < start.len() || start[..MAGIC.len()] != MAGIC {
            return Err(JournalError::Foreign);
        }
        let version = start[MAGIC.len()..].try_into().map_or(0, u32::from_le_bytes);
        if version != VERSION {
            return Err(JournalError::Version(version));
        }
        let mut reader = JournalReader { from, offset: start.len() as u64, number: 0 };
        let first = reader.record()?;
        let Some(RawRecord { kind: RecordKind::Begin, fields, .. }) = first else {
            return Err(JournalError::Damaged { offset: start.len() as u64, fault: "is not the device" });
        };
        let header = header(&fields)
            .ok_or(JournalError::Damaged { offset: start.len() as u64, fault: "does not name a device" })?;
        let mut journal = Self {
            header,
            requests: Vec::new(),
            submissions: Vec::new(),
            lines: Vec::new(),
            events: Vec::new(),
            end: None,
        };
        loop {
            let offset = reader.offset;
            let damaged = |fault| JournalError::Damaged { offset, fault };
            let Some(raw) = reader.record()? else { break };
            if journal.end.is_some() {
                return Err(damaged("is behind the end"));
            }
            journal.add(&raw).map_err(damaged)?;
        }
        Ok(journal)
    }

    fn add(&mut self, raw: &RawRecord) -> Result<(), RecordFault> {
        let mut fields = JournalFields(&raw.fields);
        let at = Time::from_ps(fields.word()?);
        if at < self.events.last().map_or(Time::ZERO, |(at, _)| *at) {
            return Err("lies in the past");
        }
        let position = u32::try_from(self.events.len()).map_err(|_| "is one too many")?;
        let event = match raw.kind {
            RecordKind::Begin => return Err("begins another journal"),
            RecordKind::Asked => {
                self.requests.push(client_request((at, position), &mut fields, raw)?);
                JournalEvent::Asked(self.requests.len() as u32 - 1)
            }
            RecordKind::Submitted => {
                self.submissions.push(self.drive_request(&mut fields)?);
                JournalEvent::Submitted(self.submissions.len() as u32 - 1)
            }
            RecordKind::Answered => {
                let of = self.number(fields.word()?)?;
                let good = fields.word()? == 0;
                let asked = &mut self.requests[of as usize];
                if asked.answered.replace(ClientAnswer { at, position, good }).is_some() {
                    return Err("answers a request twice");
                }
                JournalEvent::Answered(of)
            }
            RecordKind::Said => {
                self.lines.push(String::from_utf8(fields.0.to_vec()).map_err(|_| "is no text")?);
                JournalEvent::Said(self.lines.len() as u32 - 1)
            }
            RecordKind::End => {
                self.end = Some(RunEnd { at, hash: fields.word()?, events: fields.word()? });
                return Ok(());
            }
        };
        self.events.push((at, event));
        Ok(())
    }

    fn drive_request(&self, fields: &mut JournalFields<'_>) -> Result<DriveRequest, RecordFault> {
        let of = self.number(fields.word()?)?;
        let kind = usize::try_from(fields.word()?).ok().and_then(|kind| IoKind::ALL.get(kind));
        let kind = *kind.ok_or("is of an unknown kind")?;
        let (start, sectors) = fields.extent()?;
        let asked = &self.requests[of as usize];
        let inside = start >= asked.start && start + sectors <= asked.end() && !sectors.is_zero();
        let fits = match kind {
            IoKind::Flush => sectors.is_zero(),
            IoKind::Read => inside,
            IoKind::Write => inside && asked.kind.writes(),
            IoKind::Discard => inside && !matches!(asked.kind, RequestKind::Read | RequestKind::Write { .. }),
            _ => false,
        };
        if !fits || asked.answered.is_some() {
            return Err("is not a part of its request");
        }
        Ok(DriveRequest { of, kind, start, sectors })
    }

    fn number(&self, word: u64) -> Result<u32, RecordFault> {
        u32::try_from(word).ok().filter(|of| (*of as usize) < self.requests.len()).ok_or("is of no request")
    }
}

fn client_request(
    (at, position): (Time, u32),
    fields: &mut JournalFields<'_>,
    raw: &RawRecord,
) -> Result<ClientRequest, RecordFault> {
    let kind = usize::try_from(fields.word()?).ok().and_then(|kind| RequestKind::ALL.get(kind));
    let kind = *kind.ok_or("is of an unknown kind")?;
    let (start, sectors) = fields.extent()?;
    if (kind == RequestKind::Flush) != sectors.is_zero() || sectors.get() > MOST_SECTORS {
        return Err("has an extent that its kind cannot have");
    }
    if raw.content_bytes != kind.content(sectors) {
        return Err("has more or less content than sectors");
    }
    Ok(ClientRequest { at, kind, start, sectors, content: raw.content, position, answered: None })
}

fn header(fields: &[u8]) -> Option<JournalHeader> {
    let mut fields = JournalFields(fields);
    let seed = fields.word().ok()?;
    let mut texts = Vec::new();
    while !fields.0.is_empty() {
        let length = usize::try_from(fields.word().ok()?).ok()?;
        let (text, behind) = fields.0.split_at_checked(length)?;
        texts.push(String::from_utf8(text.to_vec()).ok()?);
        fields.0 = behind;
    }
    let mut texts = texts.into_iter();
    Some(JournalHeader { device: texts.next()?, seed, precondition: texts.collect() })
}

/// The fields of a record, from which words are taken.
struct JournalFields<'a>(&'a [u8]);

impl JournalFields<'_> {
    fn word(&mut self) -> Result<u64, RecordFault> {
        let (word, behind) = self.0.split_first_chunk().ok_or("is too short")?;
        self.0 = behind;
        Ok(u64::from_le_bytes(*word))
    }

    fn extent(&mut self) -> Result<(Lba, Sectors), RecordFault> {
        let (start, sectors) = (self.word()?, self.word()?);
        // Byte offsets must fit into 64 bits, too.
        start.checked_add(sectors).filter(|end| *end < 1 << 54).ok_or("ends beyond every drive")?;
        Ok((Lba::new(start), Sectors::new(sectors)))
    }
}

/// A record as it was read, without the content of a write, which is skipped.
struct RawRecord {
    kind: RecordKind,
    fields: Vec<u8>,
    content: u64,
    content_bytes: u64,
}

struct JournalReader<'a, R> {
    from: &'a mut R,
    /// The offset of the next record.
    offset: u64,
    number: u64,
}

impl<R: Read> JournalReader<'_, R> {
    /// The next record; `None` at the end, or if the file ends within the record.
    fn record(&mut self) -> Result<Option<RawRecord>, JournalError> {
        let damaged = |fault| JournalError::Damaged { offset: self.offset, fault };
        let mut start = [0; HEAD];
        if fill(self.from, &mut start)? < HEAD {
            return Ok(None);
        }
        let [a, b, c, d, e, f, g, h, ..] = start;
        let (length, kind) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        if head(self.number, kind, length) != start {
            return Err(damaged("has a head with another checksum"));
        }
        let kind = RecordKind::of(kind).ok_or_else(|| damaged("is of an unknown kind"))?;
        let kept = if kind == RecordKind::Asked { ASKED.min(length as usize) } else { length as usize };
        let mut sum = Checksum::new(self.number);
        let mut fields = Vec::new();
        // Read in pieces: a damaged length must not allocate memory for bytes that do not exist.
        let (mut left, mut piece) = (length as usize, [0; PIECE]);
        while left > 0 {
            let size = if fields.len() < kept { (kept - fields.len()).min(PIECE) } else { left.min(PIECE) };
            if fill(self.from, &mut piece[..size])? < size {
                return Ok(None);
            }
            sum.add(&piece[..size]);
            if fields.len() < kept {
                fields.extend_from_slice(&piece[..size]);
            }
            left -= size;
        }
        let mut foot = [0; FOOT];
        if fill(self.from, &mut foot)? < FOOT {
            return Ok(None);
        }
        if u64::from_le_bytes(foot) != sum.value() {
            return Err(damaged("has another checksum"));
        }
        let content = self.offset + (HEAD + kept) as u64;
        self.offset += u64::from(length) + (HEAD + FOOT) as u64;
        self.number += 1;
        Ok(Some(RawRecord { kind, content_bytes: u64::from(length) - kept as u64, fields, content }))
    }
}

/// Reads until the buffer is full or the file ends; returns the number of bytes.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> Result<usize, JournalError> {
    let mut got = 0;
    while got < buffer.len() {
        match from.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(got)
}

#[cfg(test)]
mod tests;
