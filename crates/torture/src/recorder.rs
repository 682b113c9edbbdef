//! Writes a journal while a run goes on.

use std::io::{self, Write};

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Time};

use crate::journal::{FOOT, JournalHeader, MAGIC, RecordKind, RequestKind, RunEnd, VERSION, put};

/// Writes a journal. The caller owns the drive and reports, in order, the requests of clients, the requests that the drive is
/// given, and the answers.
///
/// The journal replays exactly if the drive has handled all its events up to a time before it is given the first request
/// of that time, and no event between two requests of one time.
#[derive(Debug)]
pub struct Recorder<W> {
    to: W,
    /// The number of records so far.
    records: u64,
    requests: u32,
    /// The number of bytes so far.
    bytes: u64,
    /// The time of the last record. The times of records never decrease, also if an answer is reported late.
    now: Time,
}

impl<W: Write> Recorder<W> {
    /// Begins a journal.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn begin(mut to: W, header: &JournalHeader) -> io::Result<Self> {
        to.write_all(&MAGIC)?;
        to.write_all(&VERSION.to_le_bytes())?;
        let mut fields = header.seed.to_le_bytes().to_vec();
        for text in std::iter::once(&header.device).chain(&header.precondition) {
            fields.extend_from_slice(&(text.len() as u64).to_le_bytes());
            fields.extend_from_slice(text.as_bytes());
        }
        let bytes = (MAGIC.len() + size_of::<u32>()) as u64;
        let mut recorder = Self { to, records: 0, requests: 0, bytes, now: Time::ZERO };
        recorder.put(RecordKind::Begin, &fields, &[])?;
        Ok(recorder)
    }

    fn put(&mut self, kind: RecordKind, fields: &[u8], content: &[u8]) -> io::Result<()> {
        self.bytes += put(&mut self.to, self.records, kind, fields, content)?;
        self.records += 1;
        Ok(())
    }

    fn add(&mut self, kind: RecordKind, at: Time, words: &[u64], content: &[u8]) -> io::Result<()> {
        self.now = self.now.max(at);
        let words = std::iter::once(self.now.as_ps()).chain(words.iter().copied());
        let fields: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        self.put(kind, &fields, content)
    }

    /// Notes that a client asks for a request; `data` is the content of a write. Returns the request's number, and the
    /// first byte of its content in the journal.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn asked(
        &mut self,
        at: Time,
        kind: RequestKind,
        (start, sectors): (Lba, Sectors),
        data: &[u8],
    ) -> io::Result<(u32, u64)> {
        debug_assert_eq!(data.len() as u64, kind.content(sectors));
        self.add(RecordKind::Asked, at, &[kind.number(), start.get(), sectors.get()], data)?;
        self.requests += 1;
        Ok((self.requests - 1, self.bytes - (FOOT + data.len()) as u64))
    }

    /// Notes that the drive is given a request on behalf of request `of`.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn submitted(&mut self, at: Time, of: u32, io: &Io) -> io::Result<()> {
        let kind = IoKind::ALL.iter().position(|kind| *kind == io.kind).unwrap_or_default();
        let words = [u64::from(of), kind as u64, io.start.get(), io.sectors.get()];
        self.add(RecordKind::Submitted, at, &words, &[])
    }

    /// Notes that request `of` is answered; `at` is the time at which the drive completed it.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn answered(&mut self, at: Time, of: u32, good: bool) -> io::Result<()> {
        self.add(RecordKind::Answered, at, &[u64::from(of), u64::from(!good)], &[])
    }

    /// Notes a line that the workload printed. The line follows from earlier answers, so it has the time of the last record.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn said(&mut self, line: &str) -> io::Result<()> {
        let mut fields = self.now.as_ps().to_le_bytes().to_vec();
        fields.extend_from_slice(line.as_bytes());
        self.put(RecordKind::Said, &fields, &[])
    }

    /// The number of requests so far, which is the number of the next request.
    #[must_use]
    pub const fn requests(&self) -> u32 {
        self.requests
    }

    /// Writes what waits in a buffer, and returns the writer: its file has the content of all requests so far.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn flushed(&mut self) -> io::Result<&mut W> {
        self.to.flush()?;
        Ok(&mut self.to)
    }

    /// Ends the journal and returns its writer.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn finish(mut self, end: RunEnd) -> io::Result<W> {
        self.add(RecordKind::End, end.at, &[end.hash, end.events], &[])?;
        self.to.flush()?;
        Ok(self.to)
    }
}
