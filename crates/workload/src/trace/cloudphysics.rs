//! CloudPhysics traces in CSV: `version,microseconds,opcode,bytes,sector`, with the opcode in hexadecimal; and the
//! copies that come with libCacheSim, which have whole seconds.
//!
//! Both have one layout. If, on average, several of a file's first requests share a tick of its clock, the ticks are
//! seconds: as microseconds, more than a million requests would arrive per second.

use super::field::{FieldFault, Fields, is_number, parse_whole, present, printable, whole};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::units::Units;
use super::vscsi;
use super::{Format, TraceOptions};

/// A small valid file.
pub(super) const SAMPLE: &str =
    "version,time,op,size,lbn\n1,5633898368802,2a,512,42932745\n1,5633898611441,28,4096,42932746\n";

/// A small valid file with times in seconds.
pub(super) const SECONDS: &str = "version,time,op,size,lbn\n1,5633898,2a,512,42932745\n1,5633898,28,4096,42932746\n\
     1,5633898,2a,512,42932747\n1,5633898,2a,6656,40409911\n1,5633899,2a,6144,31954535\n1,5633899,2a,57344,6238199\n\
     1,5633899,2a,4096,6160447\n1,5633899,2a,4096,6160431\n1,5633900,2a,2048,42600911\n1,5633900,2a,8192,26185655\n\
     1,5633901,2a,512,1313767\n1,5633901,28,512,1313768\n1,5633901,28,512,1313769\n1,5633901,28,512,1313770\n\
     1,5633902,28,512,1313771\n1,5633902,28,512,1313772\n";

pub(crate) struct CloudPhysics {
    units: Units,
}

/// The number of requests from which the unit of times is inferred.
const FEW: usize = 16;

/// True for the layout with times in seconds.
pub(crate) fn looks_seconds(head: &Head<'_>) -> bool {
    let times: Vec<u64> =
        head.lines().filter_map(|line| Fields::new(line, b',').nth(1)).filter_map(parse_whole).collect();
    let ticks = times.iter().max().zip(times.iter().min()).map(|(last, first)| last - first);
    let shared = times.len() >= FEW && ticks.is_some_and(|ticks| ticks > 0 && ticks < times.len() as u64);
    shared && looks(head)
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.any_line(|line| {
        let fields: Vec<_> = Fields::new(line, b',').take(6).collect();
        match fields[..] {
            [b"version", b"time", b"op", b"size", b"lbn"] => true,
            [b"1" | b"2", at, op, size, lbn] => {
                op.len() == 2
                    && opcode(op).is_some_and(|op| vscsi::kind(op).is_some())
                    && [at, size, lbn].into_iter().all(is_number)
            }
            _ => false,
        }
    })
}

fn opcode(field: &[u8]) -> Option<u16> {
    std::str::from_utf8(field).ok().and_then(|text| u16::from_str_radix(text, 16).ok())
}

impl LineFormat for CloudPhysics {
    const LAYOUT: &'static str = "version,microseconds,SCSI opcode,bytes,sector";

    fn start(_: &Head<'_>, format: Format, options: &TraceOptions, _: &mut Context) -> Result<Self, FieldFault> {
        Ok(Self { units: options.units_of(format) })
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        if line.starts_with(b"version") {
            return Ok(LineContent::Skip(Skip::Header));
        }
        let mut fields = Fields::new(line, b',');
        whole(fields.next(), "version")?;
        let at = self.units.time(fields.next(), "time")?;
        let op = present(fields.next(), "opcode")?;
        let bytes = whole(fields.next(), "size")?;
        let sector = whole(fields.next(), "sector")?;
        let op =
            opcode(op).ok_or_else(|| FieldFault::new(format!("the opcode is not hexadecimal: `{}`", printable(op))))?;
        let Some(kind) = vscsi::kind(op) else {
            return Ok(LineContent::Skip(context.leave_out(vscsi::OTHER_COMMANDS)));
        };
        if bytes == 0 {
            return Ok(LineContent::Skip(Skip::Empty));
        }
        let extent = self.units.extent(sector, bytes)?;
        Ok(LineContent::Request(TraceRecord::new(at, kind, extent, context.volumes.id(b""))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::testing::{detected, fault, read};
    use base::io::IoKind;

    #[test]
    fn a_clock_that_many_requests_share_counts_seconds() {
        assert_eq!(detected(super::SECONDS), Some(Format::LibCacheSim));
        assert_eq!(detected(super::SAMPLE), Some(Format::CloudPhysics));
        let (records, _) = read(Format::LibCacheSim, super::SECONDS);
        assert_eq!(records[15].at - records[0].at, 4_000_000_000_000);
    }

    #[test]
    fn opcodes_are_scsi_in_hexadecimal() {
        let text = "version,time,op,size,lbn\n1,5000001,2a,1024,77\n1,5000003,28,512,9\n1,5000004,35,0,0\n";
        let (records, context) = read(Format::CloudPhysics, text);
        assert_eq!(records.len(), 2);
        assert_eq!((records[0].kind, records[0].start, records[0].sectors), (IoKind::Write, 77, 2));
        assert_eq!(records[1].at - records[0].at, 2_000_000);
        assert_eq!(context.stats.other_events, 1);
        assert!(fault(Format::CloudPhysics, "1,1,zz,512,8\n").contains("not hexadecimal"));
    }
}
