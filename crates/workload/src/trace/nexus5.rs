//! The Nexus 5 logs of BIOtracer: `sector sectors bytes type arrival inserted dispatched completed`.
//!
//! Times are decimal seconds; the arrival counts. Bit 0 of the type is set for a write, bit 2 for a synchronous
//! request. Logs of a boot contain the setting of the clock, a jump of decades, which [`TraceOptions::gap_limit`]
//! removes. A request that arrived before the clock was set and was inserted after it takes the time of its insertion,
//! which uses the same clock as its neighbours.

use base::io::IoKind;

use super::field::{FieldFault, Words, is_number, sectors_extent, ticks, whole};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::{Format, TraceOptions};

/// The shortest wait that means that the clock was set in between: no request waits an hour in a phone.
const CLOCK_SET: i128 = 3_600_000_000_000_000;

/// A small valid file.
pub(super) const SAMPLE: &str = "0\t\t8\t\t4096\t\t4\t\t1.740780627\t\t1.740812815\t\t1.740851877\t\t1.741075471\n\
     61071352\t\t8\t\t4096\t\t5\t\t1.741484950\t\t1.741496200\t\t1.741512034\t\t1.741914534\n";

pub(crate) struct Nexus5;

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.any_line(|line| {
        let words: Vec<_> = Words::new(line).take(9).collect();
        words.len() == 8
            && words.iter().all(|word| is_number(word))
            && words[4..].iter().all(|word| word.contains(&b'.'))
    })
}

impl LineFormat for Nexus5 {
    const LAYOUT: &'static str = "sector sectors bytes type arrival inserted dispatched completed";

    fn start(_: &Head<'_>, _: Format, _: &TraceOptions, _: &mut Context) -> Result<Self, FieldFault> {
        Ok(Self)
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        let mut words = Words::new(line);
        let start = whole(words.next(), "sector")?;
        let sectors = whole(words.next(), "size in sectors")?;
        let bytes = whole(words.next(), "size in bytes")?;
        let kind = if whole(words.next(), "type")? & 1 == 1 { IoKind::Write } else { IoKind::Read };
        let mut at = ticks(words.next(), 12, "arrival time")?;
        let inserted = ticks(words.next(), 12, "insertion time")?;
        if (inserted - at).abs() > CLOCK_SET {
            at = inserted;
            context.stats.restamped += 1;
        }
        for what in ["dispatch time", "completion time"] {
            ticks(words.next(), 12, what)?;
        }
        if sectors.checked_mul(512) != Some(bytes) {
            return Err(FieldFault::new(format!("the sizes differ: {sectors} sectors are not {bytes} bytes")));
        }
        let extent = sectors_extent(start, sectors)?;
        if extent.sectors == 0 {
            return Ok(LineContent::Skip(Skip::Empty));
        }
        Ok(LineContent::Request(TraceRecord::new(at, kind, extent, context.volumes.id(b""))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::testing::{fault, read};
    use super::*;

    #[test]
    fn the_low_bit_marks_writes() {
        let (records, _) =
            read(Format::Nexus5, "16\t8\t4096\t5\t1.5\t1.6\t1.7\t1.8\n8\t8\t4096\t4\t2.5\t2.6\t2.7\t2.8\n");
        assert_eq!(records.iter().map(|r| r.kind).collect::<Vec<_>>(), [IoKind::Write, IoKind::Read]);
        assert_eq!(records[1].at - records[0].at, 1_000_000_000_000);
        assert!(fault(Format::Nexus5, "16 8 4095 5 1.5 1.6 1.7 1.8\n").contains("sizes differ"));
    }
}
