//! Tencent cloud block storage (SNIA IOTTA 27917): `seconds,sector,sectors,0 read|1 write,volume`.
//!
//! Time stamps are whole seconds: requests of one second arrive together, in the order of the file. A header line with
//! the names of the columns may stand before them.

use base::io::IoKind;

use super::csv::positions;
use super::field::{FieldFault, Fields, is_number, present, printable, whole};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::units::Units;
use super::{Format, TraceOptions};

/// A small valid file.
pub(super) const SAMPLE: &str = "1538323200,4247200,128,1,1058\n1538323199,13896880,128,0,1063\n";

pub(crate) struct Tencent {
    units: Units,
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.any_line(|line| {
        if is_header(line) {
            return true;
        }
        let fields: Vec<_> = Fields::new(line, b',').take(6).collect();
        fields.len() == 5 && fields.iter().all(|field| is_number(field)) && matches!(fields[3], b"0" | b"1")
    })
}

/// True for a line with the names of the columns.
pub(crate) fn is_header(line: &[u8]) -> bool {
    const NAMES: [&str; 5] = ["timestamp", "offset", "size", "iotype", "volumeid"];
    let first = line.first().is_some_and(|byte| !byte.is_ascii_digit());
    first && positions(line, b',', &NAMES.map(|name| [name])).is_some()
}

impl LineFormat for Tencent {
    const LAYOUT: &'static str = "seconds,sector,sectors,0|1,volume";

    fn start(_: &Head<'_>, format: Format, options: &TraceOptions, _: &mut Context) -> Result<Self, FieldFault> {
        Ok(Self { units: options.units_of(format) })
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        if is_header(line) {
            return Ok(LineContent::Skip(Skip::Header));
        }
        let mut fields = Fields::new(line, b',');
        let at = self.units.time(fields.next(), "time")?;
        let start = whole(fields.next(), "sector")?;
        let sectors = whole(fields.next(), "size")?;
        let kind = match present(fields.next(), "type")? {
            b"0" => IoKind::Read,
            b"1" => IoKind::Write,
            other => {
                return Err(FieldFault::new(format!(
                    "the type is neither 0 (read) nor 1 (write): `{}`",
                    printable(other)
                )));
            }
        };
        let volume = present(fields.next(), "volume")?;
        let extent = self.units.extent(start, sectors)?;
        if extent.sectors == 0 {
            return Ok(LineContent::Skip(Skip::Empty));
        }
        Ok(LineContent::Request(TraceRecord::new(at, kind, extent, context.volumes.id(volume))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::testing::{fault, read};
    use super::*;

    #[test]
    fn the_operation_one_is_a_write() {
        let (records, context) = read(Format::Tencent, "1538000000,64,8,1,17\n1538000000,64,8,0,18\n");
        assert_eq!(records[0].kind, IoKind::Write);
        assert_eq!(records[1].kind, IoKind::Read);
        assert_eq!(context.volumes.names(), ["17", "18"]);
        let titled = "Timestamp,Offset,Size,IOType,VolumeID\n1538000000,64,8,1,17\n";
        assert_eq!(read(Format::Tencent, titled).0.len(), 1);
        assert!(fault(Format::Tencent, "1538000000,64,8,2,17\n").contains("neither 0"));
    }
}
