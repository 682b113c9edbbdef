//! blktrace's binary format: records of 48 bytes and a payload, one file per CPU, in the byte order of the machine.
//!
//! The event that stands for a request is chosen as for blkparse's text: queue, else issue, else complete. Bytes grow
//! to whole sectors. One file has the events of one CPU; [`super::cpus`] finds the files of a recording, which are
//! merged by time, as with `blkparse -i`. Records are numbered per file.

use base::io::IoKind;

use super::field::sectors_extent;
use super::head::Head;
use super::input::Input;
use super::merge::{MergeInput, MergeReader};
use super::record::{Context, Records, Skip, TraceRecord};
use super::{Event, Format, TraceOptions, actions};
use crate::SourceError;

const BYTES: usize = 48;
/// The high 24 bits of the first word; the low eight are the version.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

// The categories of an action, in its high 16 bits.
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const PASSTHROUGH: u32 = 1 << 9;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;

// Actions, in the low 16 bits.
const QUEUE: u32 = 1;
const ISSUE: u32 = 7;
const COMPLETE: u32 = 8;

/// The open file of one CPU.
struct Cpu {
    input: Input,
    big_endian: bool,
    pending: Option<TraceRecord>,
    /// The last device, and the index of its volume.
    device: Option<(u32, u32)>,
}

struct CpuRecording {
    cpu: Cpu,
    action: u32,
}

/// The used fields of a record.
struct Raw {
    magic: u32,
    time: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
    payload: u16,
}

impl Raw {
    fn of(bytes: &[u8], big_endian: bool) -> Self {
        let number = |from: usize, len: usize| {
            let bytes = &bytes[from..from + len];
            let step = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
            if big_endian { bytes.iter().fold(0, step) } else { bytes.iter().rev().fold(0, step) }
        };
        Self {
            magic: number(0, 4) as u32,
            time: number(8, 8),
            sector: number(16, 8),
            bytes: number(24, 4) as u32,
            action: number(28, 4) as u32,
            device: number(36, 4) as u32,
            payload: number(46, 2) as u16,
        }
    }

    fn is_marked(&self) -> bool {
        self.magic & !0xff == MAGIC
    }

    fn category(&self, bit: u32) -> bool {
        self.action >> 16 & bit != 0
    }

    fn name(&self) -> &'static str {
        match () {
            () if self.category(NOTIFY) => actions::MESSAGES,
            () if self.category(PASSTHROUGH) => actions::PASSTHROUGH,
            () => actions::name(actions::letter(self.action & 0xffff)),
        }
    }

    fn is_io(&self) -> bool {
        !self.category(NOTIFY) && !self.category(PASSTHROUGH)
    }
}

/// True if the first word is the magic number in big-endian order; `None` if it is not the magic number.
fn big_endian(head: &[u8]) -> Option<bool> {
    let word: [u8; 4] = head.get(..4)?.try_into().ok()?;
    [(u32::from_le_bytes(word), false), (u32::from_be_bytes(word), true)]
        .into_iter()
        .find_map(|(word, big)| (word & !0xff == MAGIC).then_some(big))
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    big_endian(head.raw).is_some()
}

/// The first of queue, issue, complete among the events of the head.
fn choose(head: &[u8], big_endian: bool) -> Option<u32> {
    let mut seen = [false; 3];
    let mut at = 0;
    while let Some(bytes) = head.get(at..at + BYTES) {
        let raw = Raw::of(bytes, big_endian);
        if let Some(n) = [QUEUE, ISSUE, COMPLETE].iter().position(|action| raw.action & 0xffff == *action) {
            seen[n] |= raw.is_io();
        }
        at += BYTES + usize::from(raw.payload);
    }
    [QUEUE, ISSUE, COMPLETE].into_iter().zip(seen).find_map(|(action, seen)| seen.then_some(action))
}

pub(crate) fn open(
    input: Input,
    _: Format,
    options: &TraceOptions,
    context: &mut Context,
) -> Result<Box<dyn Records>, SourceError> {
    open_all(vec![input], options, context)
}

/// Opens the files of all CPUs of a recording. The file of an idle CPU is empty.
pub(crate) fn open_all(
    inputs: Vec<Input>,
    options: &TraceOptions,
    context: &mut Context,
) -> Result<Box<dyn Records>, SourceError> {
    let mut cpus = Vec::new();
    let mut first = COMPLETE;
    for mut input in inputs {
        let path = input.path().to_path_buf();
        let refuse = |message: String, remedy: &str| Err(SourceError::new(message, remedy).in_file(&path));
        let head = input.head()?;
        if head.is_empty() {
            continue;
        }
        let Some(big_endian) = big_endian(head) else {
            return refuse("the magic number of blktrace is missing".into(), "name another format with --format");
        };
        if let Some(raw) = head.get(..BYTES).map(|bytes| Raw::of(bytes, big_endian))
            && raw.magic & 0xff != VERSION
        {
            return refuse(
                format!("version {} of blktrace is not known", raw.magic & 0xff),
                "print it with blkparse and read the text",
            );
        }
        first = first.min(choose(head, big_endian).unwrap_or(COMPLETE));
        cpus.push(Cpu { input, big_endian, pending: None, device: None });
    }
    // The choice is made once for all files, because completions are often recorded on another CPU than queueing.
    let action = match options.event {
        Event::Queue => QUEUE,
        Event::Issue => ISSUE,
        Event::Complete => COMPLETE,
        Event::Auto => first,
    };
    context.stats.event = Some(match action {
        QUEUE => 'Q',
        ISSUE => 'D',
        _ => 'C',
    });
    if cpus.len() == 1
        && let Some(cpu) = cpus.pop()
    {
        return Ok(Box::new(CpuRecording { cpu, action }));
    }
    let part = |cpu: Cpu| {
        let path = cpu.input.path().to_path_buf();
        MergeInput { path, volume: Vec::new(), records: Box::new(CpuRecording { cpu, action }) }
    };
    Ok(Box::new(MergeReader::new(cpus.into_iter().map(part).collect())))
}

impl Records for CpuRecording {
    fn next(&mut self, context: &mut Context) -> Result<Option<TraceRecord>, SourceError> {
        self.cpu.next(self.action, context)
    }

    fn is_binary(&self) -> bool {
        true
    }
}

impl Cpu {
    /// The next request that an event of this action stands for.
    fn next(&mut self, action: u32, context: &mut Context) -> Result<Option<TraceRecord>, SourceError> {
        if let Some(record) = self.pending.take() {
            return Ok(Some(record));
        }
        loop {
            let Some(bytes) = self.input.record(BYTES)? else { return Ok(None) };
            let raw = Raw::of(bytes, self.big_endian);
            self.input.pass_over(usize::from(raw.payload))?;
            let line = self.input.count();
            let damaged = |what: String| {
                SourceError::new(format!("record {line} is damaged: {what}"), "record or fetch the file again")
                    .in_file(self.input.path())
            };
            if !raw.is_marked() {
                return Err(damaged("its magic number is missing".into()));
            }
            if raw.action & 0xffff != action || !raw.is_io() {
                context.leave_out(raw.name());
                continue;
            }
            let extent = sectors_extent(raw.sector, u64::from(raw.bytes.div_ceil(512)))
                .map_err(|fault| damaged(fault.message().to_owned()))?;
            let kind = match () {
                () if raw.category(DISCARD) => IoKind::Discard,
                () if raw.category(WRITE) => IoKind::Write,
                () => IoKind::Read,
            };
            let volume = match self.device {
                Some((device, volume)) if device == raw.device => volume,
                _ => context.volumes.id(&format_device(raw.device)),
            };
            self.device = Some((raw.device, volume));
            let at = i128::from(raw.time) * 1_000;
            let flush = TraceRecord { line, ..TraceRecord::flush(at, volume) };
            let request = TraceRecord { line, ..TraceRecord::new(at, kind, extent, volume) };
            match (raw.category(FLUSH), extent.sectors) {
                (true, 0) => return Ok(Some(flush)),
                (false, 0) => context.stats.pass_over(Skip::Empty),
                (true, _) => {
                    self.pending = Some(request);
                    return Ok(Some(flush));
                }
                (false, _) => return Ok(Some(request)),
            }
        }
    }
}

/// `major,minor` as blkparse prints it: twelve bits and twenty.
fn format_device(device: u32) -> Vec<u8> {
    format!("{},{}", device >> 20, device & 0xf_ffff).into_bytes()
}

/// `struct blk_io_trace` of version 7, a read queued and completed.
pub(super) fn sample() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, action) in [(1_u32, 0x0011_0001_u32), (2, 0x0011_0007), (3, 0x0011_0008)] {
        bytes.extend(0x6561_7407_u32.to_le_bytes());
        bytes.extend(number.to_le_bytes());
        bytes.extend((u64::from(number) * 1000).to_le_bytes());
        bytes.extend(2048_u64.to_le_bytes());
        for word in [4096, action, 77, 8 << 20, 0] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend([0; 4]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detected_bytes, read_bytes, try_read};
    use super::*;

    fn event(big: bool, time: u64, sector: u64, bytes: u32, category: u32, action: u32, payload: &[u8]) -> Vec<u8> {
        let fields: [(u64, usize); 11] = [
            (u64::from(MAGIC | VERSION), 4),
            (1, 4),
            (time, 8),
            (sector, 8),
            (u64::from(bytes), 4),
            (u64::from(category << 16 | action), 4),
            (42, 4),
            (8 << 20 | 1, 4),
            (0, 4),
            (0, 2),
            (payload.len() as u64, 2),
        ];
        let mut out = Vec::new();
        for (value, len) in fields {
            let bytes = value.to_be_bytes();
            let mut bytes = bytes[8 - len..].to_vec();
            if !big {
                bytes.reverse();
            }
            out.extend(bytes);
        }
        out.extend_from_slice(payload);
        out
    }

    fn sample(big: bool) -> Vec<u8> {
        [
            event(big, 0, 0, 0, NOTIFY, 0, b"process\0"),
            event(big, 1_000, 64, 4096, 1, QUEUE, &[]),
            event(big, 1_500, 64, 4096, 1, ISSUE, &[0; 12]),
            event(big, 2_000, 8, 512, WRITE | FLUSH, QUEUE, &[]),
            event(big, 3_000, 0, 0, WRITE | FLUSH, QUEUE, &[]),
            event(big, 4_000, 128, 1 << 20, WRITE | DISCARD, QUEUE, &[]),
        ]
        .concat()
    }

    #[test]
    fn both_byte_orders_are_read() {
        for big in [false, true] {
            assert_eq!(detected_bytes(&sample(big)), Some(Format::Blktrace));
            let (records, context) = read_bytes(Format::Blktrace, &sample(big));
            use IoKind::{Discard, Flush, Read, Write};
            assert_eq!(records.iter().map(|r| r.kind).collect::<Vec<_>>(), [Read, Flush, Write, Flush, Discard]);
            assert_eq!((records[0].start, records[0].sectors), (64, 8));
            assert_eq!(records[2].at - records[0].at, 1_000_000);
            assert_eq!(context.volumes.names(), ["8,1"]);
            assert_eq!((context.stats.event, context.stats.other_events), (Some('Q'), 2));
        }
    }

    #[test]
    fn the_files_of_all_cpus_are_merged_under_one_choice_of_event() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("x.blktrace");
        let completions = [event(false, 1_700, 64, 4096, 1, COMPLETE, &[]), event(false, 1_200, 8, 512, 1, QUEUE, &[])];
        for (cpu, bytes) in [sample(false), Vec::new(), completions.concat()].iter().enumerate() {
            std::fs::write(dir.path().join(format!("x.blktrace.{cpu}")), bytes).unwrap();
        }
        let mut source = super::super::open(&base, &TraceOptions::default()).unwrap();
        let mut starts = Vec::new();
        while let Some(arrival) = crate::Source::next(&mut source).unwrap() {
            starts.push((arrival.at.as_ps() / 1_000_000, arrival.io.start.get()));
        }
        assert_eq!(starts, [(0, 64), (0, 8), (1, 0), (1, 8), (2, 0), (3, 128)]);
        assert_eq!(source.stats().event, Some('Q'));
    }

    #[test]
    fn a_cut_or_damaged_record_is_an_error() {
        let mut file = sample(false);
        let error = try_read(Format::Blktrace, &file[..file.len() - 3]).unwrap_err();
        assert!(error.message().contains("cut short: after record 5"), "{error}");
        file[57] = 0;
        let error = try_read(Format::Blktrace, &file).unwrap_err();
        assert!(error.message().contains("record 2 is damaged"), "{error}");
    }
}
