//! The state of the verifier of a kept drive, in files beside the drive's flash: the next process reads what this process has
//! acknowledged, however it ends.
//!
//! `verify.known` has the whole state of one moment, and `verify.log` each request and answer since. A request is in the log before
//! the drive has it, and an answer before the client has it. Reads are not in the log unless they fail: what they have settled
//! since that moment is lost. The system's cache outlives the process and not the machine, so after a crash of the machine the
//! files count only if the last process ended in order.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::bytes::{NumberReader, NumberWriter, damaged};
use crate::command::{ClientCommand, CommandOutcome};
use crate::runs::Moment;

use super::{Promise, Verifier};

const KNOWN: &str = "verify.known";
const NEW: &str = "verify.known.new";
const LOG: &str = "verify.log";

const MAGIC: &[u8; 19] = b"flashloom verify 1\n";

/// The size of the log, in bytes, at which a new one is begun: writing the whole state then takes less time than the log did.
const LONG: u64 = 64 << 20;

/// Bytes of the head of a record: the length of the record, and its checksum.
const HEAD: usize = 8;
/// No record is longer: a request has 32 MiB at most.
const MOST: usize = 1 << 20;

/// A record of the log.
#[derive(Debug, PartialEq)]
pub(super) enum LogRecord {
    Begin {
        now: Moment,
        at_ps: u64,
        command: ClientCommand,
        range: Range<u64>,
        digests: Vec<u64>,
    },
    End {
        now: Moment,
        ticket: Moment,
        command: ClientCommand,
        range: Range<u64>,
        outcome: CommandOutcome,
    },
    Cut {
        now: Moment,
    },
    /// A read failed.
    Lose {
        now: Moment,
        range: Range<u64>,
    },
}

impl LogRecord {
    fn bytes(&self) -> Vec<u8> {
        let (mut numbers, all): (Vec<u64>, &[u64]) = match self {
            Self::Begin { now, at_ps, command, range, digests } => {
                (vec![0, *now, *at_ps, command.code(), range.start, range.end], digests)
            }
            Self::End { now, ticket, command, range, outcome } => {
                (vec![1, *now, *ticket, command.code(), range.start, range.end, outcome.code()], &[])
            }
            Self::Cut { now } => (vec![2, *now], &[]),
            Self::Lose { now, range } => (vec![3, *now, range.start, range.end], &[]),
        };
        numbers.extend(all);
        let body: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let head = [body.len() as u32, crc32fast::hash(&body)];
        head.iter().flat_map(|number| number.to_le_bytes()).chain(body).collect()
    }

    fn parse(body: &[u8]) -> Option<Self> {
        let numbers: Vec<u64> = body.as_chunks::<8>().0.iter().map(|number| u64::from_le_bytes(*number)).collect();
        Some(match numbers[..] {
            [0, now, at_ps, command, start, end, ref digests @ ..] => Self::Begin {
                now,
                at_ps,
                command: ClientCommand::of_code(command)?,
                range: start..end,
                digests: digests.to_vec(),
            },
            [1, now, ticket, command, start, end, outcome] => {
                let outcome = CommandOutcome::of_code(outcome)?;
                Self::End { now, ticket, command: ClientCommand::of_code(command)?, range: start..end, outcome }
            }
            [2, now] => Self::Cut { now },
            [3, now, start, end] => Self::Lose { now, range: start..end },
            _ => return None,
        })
    }

    /// The next record of a log; none at the end, which may have an incomplete record.
    fn next(log: &mut impl Read) -> io::Result<Option<Self>> {
        let mut head = [0; HEAD];
        let (length, sum) = match log.read_exact(&mut head) {
            Ok(()) => (u32::from_le_bytes([head[0], head[1], head[2], head[3]]), &head[4..]),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut body = vec![0; Some(length as usize).filter(|of| *of <= MOST).ok_or_else(damaged)?];
        match log.read_exact(&mut body) {
            Ok(()) if crc32fast::hash(&body).to_le_bytes() == *sum => {}
            Ok(()) => return Err(damaged()),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        Self::parse(&body).ok_or_else(damaged).map(Some)
    }
}

/// An identifier of the machine's present boot; empty where it is not known.
fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// The files of a verifier.
#[derive(Debug)]
pub(super) struct VerifierFiles {
    dir: PathBuf,
    log: File,
    generation: u64,
    bytes: u64,
}

impl VerifierFiles {
    /// Writes the whole state, and begins an empty log. `is_orderly`: the drive is off, and lost nothing.
    pub(super) fn begin(dir: &Path, of: &Verifier, generation: u64, is_orderly: bool) -> io::Result<Self> {
        let mut out = NumberWriter::new(BufWriter::new(File::create(dir.join(NEW))?));
        out.bytes(MAGIC)?;
        out.number(generation)?;
        out.number(u64::from(is_orderly))?;
        let boot = boot();
        out.number(boot.len() as u64)?;
        out.bytes(boot.as_bytes())?;
        of.write(&mut out)?;
        let file = out.finish()?.into_inner()?;
        if is_orderly {
            file.sync_all()?;
        }
        fs::rename(dir.join(NEW), dir.join(KNOWN))?;
        let mut log = OpenOptions::new().create(true).write(true).truncate(true).open(dir.join(LOG))?;
        log.write_all(&generation.to_le_bytes())?;
        Ok(Self { dir: dir.to_owned(), log, generation, bytes: 0 })
    }

    /// Writes the whole state, and empties the log.
    pub(super) fn renew(&mut self, of: &Verifier, is_orderly: bool) -> io::Result<()> {
        *self = Self::begin(&self.dir, of, self.generation + 1, is_orderly)?;
        Ok(())
    }

    pub(super) fn append(&mut self, record: &LogRecord) -> io::Result<()> {
        let bytes = record.bytes();
        self.bytes += bytes.len() as u64;
        // A single write: if the process is killed, either the record is complete, or its request never reached the drive.
        self.log.write_all(&bytes)
    }

    /// True if the log has grown long compared with the state of `known` bytes.
    pub(super) const fn is_long(&self, known: u64) -> bool {
        self.bytes > LONG + 2 * known
    }

    /// Removes the files.
    pub(super) fn remove(self) {
        // If the removal fails, the directory cannot be written, and the drive cannot be served.
        let _ = forget(&self.dir);
    }
}

/// Removes the files of a verifier from the directory of a drive that will be changed without verification.
///
/// # Errors
/// If a file is there and cannot be removed.
pub fn forget(dir: &Path) -> io::Result<()> {
    [LOG, NEW, KNOWN].iter().try_for_each(|name| match fs::remove_file(dir.join(name)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    })
}

/// The state that an earlier process has left, and the generation of its files; none if the files are missing or do not count.
pub(super) fn read(dir: &Path, promise: Promise, capacity: u64) -> io::Result<Option<(Verifier, u64)>> {
    let file = match File::open(dir.join(KNOWN)) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut known = NumberReader::new(BufReader::new(file));
    let mut magic = [0; MAGIC.len()];
    known.bytes(&mut magic)?;
    if magic != *MAGIC {
        return Err(damaged());
    }
    let (generation, is_orderly) = (known.number()?, known.number()? != 0);
    let length = known.number()?;
    let mut machine = vec![0; usize::try_from(length).ok().filter(|of| *of <= 4096).ok_or_else(damaged)?];
    known.bytes(&mut machine)?;
    let mut verifier = Verifier::read(promise, capacity, &mut known)?;
    known.finish()?;
    let mut log = BufReader::new(File::open(dir.join(LOG))?);
    let mut of = [0; 8];
    let is_its_log = log.read_exact(&mut of).is_ok() && u64::from_le_bytes(of) == generation;
    let mut records = 0_u64;
    // A log of another generation is older than the state and is ignored.
    while let Some(record) = if is_its_log { LogRecord::next(&mut log)? } else { None } {
        verifier.replay(record).ok_or_else(damaged)?;
        records += 1;
    }
    let is_same_machine = !machine.is_empty() && machine == boot().as_bytes();
    Ok((is_same_machine || is_orderly && records == 0).then_some((verifier, generation)))
}
