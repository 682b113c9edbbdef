//! SPC-1, as the UMass repository publishes Financial and WebSearch: `ASU,sector,bytes,r|w,seconds`.
//!
//! Each application storage unit is a volume. Fields after the fifth are ignored, as the specification requires.

use base::io::IoKind;

use super::field::{FieldFault, Fields, is_number, present, printable, whole};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::units::Units;
use super::{Format, TraceOptions};

/// A small valid file.
pub(super) const SAMPLE: &str = "0,303567,3584,w,0.000000\n1,55590,3072,W,0.026214\n2,1234,512,r,0.078643\n";

pub(crate) struct Spc {
    units: Units,
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.any_line(|line| {
        let fields: Vec<_> = Fields::new(line, b',').take(5).collect();
        matches!(fields[..], [asu, lba, size, [b'r' | b'R' | b'w' | b'W'], at]
            if [asu, lba, size, at].into_iter().all(is_number))
    })
}

impl LineFormat for Spc {
    const LAYOUT: &'static str = "ASU,sector,bytes,r|w,seconds";

    fn start(_: &Head<'_>, format: Format, options: &TraceOptions, _: &mut Context) -> Result<Self, FieldFault> {
        Ok(Self { units: options.units_of(format) })
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        let mut fields = Fields::new(line, b',');
        let asu = present(fields.next(), "ASU")?;
        let start = whole(fields.next(), "sector")?;
        let bytes = whole(fields.next(), "size")?;
        let kind = match present(fields.next(), "opcode")? {
            b"r" | b"R" => IoKind::Read,
            b"w" | b"W" => IoKind::Write,
            other => return Err(FieldFault::new(format!("the opcode is neither r nor w: `{}`", printable(other)))),
        };
        let at = self.units.time(fields.next(), "time")?;
        if bytes == 0 {
            return Ok(LineContent::Skip(Skip::Empty));
        }
        let extent = self.units.extent(start, bytes)?;
        Ok(LineContent::Request(TraceRecord::new(at, kind, extent, context.volumes.id(asu))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::testing::{fault, read};
    use super::*;

    #[test]
    fn units_are_volumes_and_sizes_are_widened() {
        let (records, context) = read(Format::Spc, "0,100,1000,w,5.000001\n3,7,512,R,5.5,extra\n1,1,0,r,6\n");
        assert_eq!(records.len(), 2);
        assert_eq!((records[0].start, records[0].sectors, records[0].kind), (100, 2, IoKind::Write));
        assert_eq!(records[1].at - records[0].at, 499_999_000_000);
        assert_eq!(context.volumes.names(), ["0", "3"]);
        assert_eq!(context.stats.empty, 1);
    }

    #[test]
    fn bad_lines_are_named() {
        assert!(fault(Format::Spc, "0,100,1000,w,1.0\n0,100,10").contains("ends before its opcode"));
        assert!(fault(Format::Spc, "0,100,-8,w,1.0\n").contains("the size is negative"));
        assert!(fault(Format::Spc, "0,100,8,x,1.0\n").contains("neither r nor w"));
    }
}
