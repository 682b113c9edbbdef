//! The ASCII traces of DiskSim, SSDsim and MQSim: `time device sector size flags`.
//!
//! * `disksim`: time in milliseconds with decimals, size in sectors, bit 0 of the flags set for a read.
//! * `mqsim`, `ssdsim`: time in whole nanoseconds, size in sectors, 1 for a read and 0 for a write.
//! * `disksim-pages`: as `disksim`, but sizes (not addresses) count 4 KiB pages. Its files look like those of
//!   `disksim`, so that the user has to name it.
//!
//! Detection takes a file with a decimal point in its times for `disksim`, and one without for `mqsim`. This is a
//! guess, because microseconds look alike. A note reports it (see [`super::survey`]), and `--time-unit` and
//! `--size-unit` name other units. Flags above bit 0 are DiskSim's hints and ignored. Each device is a volume.

use base::io::IoKind;

use super::field::{FieldFault, Words, is_number, parse_whole, present, printable, whole};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::units::Units;
use super::{Format, TraceOptions};

/// A small valid file with sizes in sectors.
pub(super) const SAMPLE: &str = "13.191135 30 0 5 1\n17.829285 20 576560 6 0\n24.314779 17 0 24 1\n";

/// A small valid file with sizes in pages.
pub(super) const PAGES: &str = "13.191135 0 303574 1 1\n17.829285 0 240840 2 0\n";

/// A small valid file of MQSim.
pub(super) const MQSIM: &str = "938513000 4 264719034 16 0\n938828000 3 197570570 16 1\n";

pub(crate) struct Disksim {
    units: Units,
}

fn five_numbers(line: &[u8]) -> Option<&[u8]> {
    let words: Vec<_> = Words::new(line).take(6).collect();
    let numeric = words.len() == 5 && words.iter().all(|word| is_number(word));
    (numeric && words[1..].iter().all(|word| !word.contains(&b'.'))).then(|| words[0])
}

pub(crate) fn looks_disksim(head: &Head<'_>) -> bool {
    head.any_line(|line| five_numbers(line).is_some_and(|time| time.contains(&b'.')))
}

pub(crate) fn looks_mqsim(head: &Head<'_>) -> bool {
    head.any_line(|line| five_numbers(line).is_some())
}

impl LineFormat for Disksim {
    const LAYOUT: &'static str = "time device sector size flags";

    fn start(_: &Head<'_>, format: Format, options: &TraceOptions, _: &mut Context) -> Result<Self, FieldFault> {
        Ok(Self { units: options.units_of(format) })
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        let mut words = Words::new(line);
        let at = self.units.time(words.next(), "time")?;
        let device = present(words.next(), "device")?;
        let start = whole(words.next(), "sector")?;
        let size = whole(words.next(), "size")?;
        let flags = flags(present(words.next(), "flags")?)?;
        let extent = self.units.extent(start, size)?;
        if extent.sectors == 0 {
            return Ok(LineContent::Skip(Skip::Empty));
        }
        let kind = if flags & 1 == 1 { IoKind::Read } else { IoKind::Write };
        Ok(LineContent::Request(TraceRecord::new(at, kind, extent, context.volumes.id(device))))
    }
}

/// Parses flags, which DiskSim writes in hexadecimal without a prefix; nearly always they have one digit.
fn flags(word: &[u8]) -> Result<u64, FieldFault> {
    parse_whole(word)
        .filter(|_| word.len() == 1)
        .or_else(|| std::str::from_utf8(word).ok().and_then(|text| u64::from_str_radix(text, 16).ok()))
        .ok_or_else(|| FieldFault::new(format!("the flags are not a hexadecimal number: `{}`", printable(word))))
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::testing::{detected, fault, read};
    use super::*;

    #[test]
    fn a_decimal_point_in_the_time_means_milliseconds() {
        let (ms, ns) = ("1.500\t0\t80\t2\t1\n2.5\t0\t80\t1\t0\n", "1500 3 80 2 1\n2500 3 80 1 0\n");
        assert_eq!(detected(ms), Some(Format::Disksim));
        assert_eq!(detected(ns), Some(Format::Mqsim));
        for (format, text, gap, sectors) in [
            (Format::Disksim, ms, 1_000_000_000, 2),
            (Format::DisksimPages, ms, 1_000_000_000, 16),
            (Format::Mqsim, ns, 1_000_000, 2),
            (Format::Ssdsim, ns, 1_000_000, 2),
        ] {
            let (records, _) = read(format, text);
            assert_eq!(records[1].at - records[0].at, gap, "{format}");
            assert_eq!((records[0].start, records[0].sectors), (80, sectors), "{format}");
            assert_eq!((records[0].kind, records[1].kind), (IoKind::Read, IoKind::Write), "{format}");
        }
    }

    #[test]
    fn bad_lines_are_named() {
        assert!(fault(Format::Disksim, "1.5 0 80 2 1\n1.6 0 80").contains("ends before its size"));
        assert!(fault(Format::Mqsim, "1 0 80 -2 1\n").contains("the size is negative"));
        assert!(fault(Format::Mqsim, "1 0 80 2 read\n").contains("hexadecimal"));
    }
}
