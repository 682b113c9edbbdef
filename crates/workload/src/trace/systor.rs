//! SYSTOR'17 (SNIA IOTTA 4964): `seconds,response,R|W,LUN,byte,bytes`, with a header line.
//!
//! The response may be missing; it is ignored. Each LUN is a volume.

use base::io::IoKind;

use super::field::{FieldFault, Fields, is_number, present, printable, whole};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::units::Units;
use super::{Format, TraceOptions};

/// A small valid file.
pub(super) const SAMPLE: &str = "Timestamp,Response,IOType,LUN,Offset,Size\n1456095145.133076000,0.000806000,R,0,8991232,131072\n\
     1456095145.226285000,0.008044000,W,1,42560512,4096\n1456095146.000000000,,R,0,512,512\n";

pub(crate) struct Systor {
    units: Units,
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.any_line(|line| {
        let fields: Vec<_> = Fields::new(line, b',').take(7).collect();
        match fields[..] {
            [b"Timestamp", b"Response", b"IOType", ..] => true,
            [at, _, [b'R' | b'W' | b'r' | b'w'], lun, offset, size] => {
                [at, lun, offset, size].into_iter().all(is_number)
            }
            _ => false,
        }
    })
}

impl LineFormat for Systor {
    const LAYOUT: &'static str = "seconds,response,R|W,LUN,byte,bytes";

    fn start(_: &Head<'_>, format: Format, options: &TraceOptions, _: &mut Context) -> Result<Self, FieldFault> {
        Ok(Self { units: options.units_of(format) })
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        // A header may occur anywhere, because the hourly files of the collection are often joined.
        if line.starts_with(b"Timestamp") {
            return Ok(LineContent::Skip(Skip::Header));
        }
        let mut fields = Fields::new(line, b',');
        let at = self.units.time(fields.next(), "time")?;
        if fields.next().is_none() {
            present(None, "response time")?;
        }
        let kind = match present(fields.next(), "type")? {
            b"R" | b"r" => IoKind::Read,
            b"W" | b"w" => IoKind::Write,
            other => return Err(FieldFault::new(format!("the type is neither R nor W: `{}`", printable(other)))),
        };
        let lun = present(fields.next(), "LUN")?;
        let offset = whole(fields.next(), "offset")?;
        let bytes = whole(fields.next(), "size")?;
        if bytes == 0 {
            return Ok(LineContent::Skip(Skip::Empty));
        }
        let extent = self.units.extent(offset, bytes)?;
        Ok(LineContent::Request(TraceRecord::new(at, kind, extent, context.volumes.id(lun))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::testing::{fault, read};

    #[test]
    fn headers_and_missing_response_times_are_accepted() {
        let (records, context) = read(
            Format::Systor,
            "Timestamp,Response,IOType,LUN,Offset,Size\n1456000000.000000500,,R,4,512,1024\n1456000001.5,0.1,W,4,0,0\n",
        );
        assert_eq!(records.len(), 1);
        assert_eq!((records[0].start, records[0].sectors), (1, 2));
        assert_eq!((context.stats.headers, context.stats.empty), (1, 1));
        assert!(fault(Format::Systor, "1.0,0.1,X,4,0,512\n").contains("neither R nor W"));
    }
}
