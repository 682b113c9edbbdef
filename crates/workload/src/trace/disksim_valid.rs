//! Two more of DiskSim's files: the traces with which its disks were validated, and the CSV in which it logs a simulation.
//!
//! * `disksim-validate`: `R|W Hit|Miss sector sectors service wait`. The disk worked on one request at a time: the next
//!   came `wait` after the request had ended, and it took `service`, both in microseconds. The times add up to arrivals.
//! * `disksim-log`: the columns are found by name; `diskCtlrTimeBegin` is the time in milliseconds, and `devno[1]`,
//!   `blkno[1]`, `blkcnt[1]` and `flags[1]` are the request. A row may hold a second request, which is left out.

use base::io::IoKind;

use super::csv::{fields, positions};
use super::field::{FieldFault, Words, is_number, parse_whole, present, printable, ticks, whole};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::units::Units;
use super::{Format, TraceOptions};

/// A small valid file of a validation.
pub(super) const VALIDATE: &str = "W Hit    4583176   4    663.00000  45422.00000\nW Hit    4583180   4    607.00000  34200.00000\n\
     R Miss   3962268  12   6657.00000  64047.00000\n";

pub(super) const LOG: &str = "diskCtlrTimeBegin,diskCtlrTimeEnd,devno[1],blkno[1],blkcnt[1],flags[1],blkcnt[2]\n\
     0.000000,7.073607,0,1064566,8,3,0\n16.438009,23.358431,0,1643149,8,2,0\n";

/// Decimal digits from a microsecond to a picosecond.
const MICROSECOND: u32 = 6;

pub(crate) struct DisksimValidate {
    /// The arrival of the next request, in picoseconds.
    next: i128,
}

pub(crate) fn looks_validate(head: &Head<'_>) -> bool {
    head.any_line(|line| {
        let words: Vec<_> = Words::new(line).take(7).collect();
        matches!(words[..], [b"R" | b"W", b"Hit" | b"Miss" | b"Doub" | b"Trip", sector, sectors, service, wait]
            if [sector, sectors, service, wait].into_iter().all(is_number))
    })
}

impl LineFormat for DisksimValidate {
    const LAYOUT: &'static str = "R|W Hit|Miss sector sectors service(us) wait(us)";

    fn start(_: &Head<'_>, _: Format, _: &TraceOptions, _: &mut Context) -> Result<Self, FieldFault> {
        Ok(Self { next: 0 })
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        let mut words = Words::new(line);
        let kind = match present(words.next(), "operation")? {
            b"R" => IoKind::Read,
            b"W" => IoKind::Write,
            other => return Err(FieldFault::new(format!("the operation is neither R nor W: `{}`", printable(other)))),
        };
        present(words.next(), "use of the disk's buffer")?;
        let sector = whole(words.next(), "sector")?;
        let sectors = whole(words.next(), "size")?;
        let service = ticks(words.next(), MICROSECOND, "service time")?;
        let wait = ticks(words.next(), MICROSECOND, "wait")?;
        let at = self.next;
        self.next += service + wait;
        let extent = super::field::sectors_extent(sector, sectors)?;
        if extent.sectors == 0 {
            return Ok(LineContent::Skip(Skip::Empty));
        }
        Ok(LineContent::Request(TraceRecord::new(at, kind, extent, context.volumes.id(b""))))
    }
}

/// The columns that are read: time, device, sector, sectors, flags.
const NAMES: [[&str; 1]; 5] = [["diskctlrtimebegin"], ["devno[1]"], ["blkno[1]"], ["blkcnt[1]"], ["flags[1]"]];
/// The column with the sectors of the second request of a row.
const SECOND: [[&str; 1]; 1] = [["blkcnt[2]"]];

pub(crate) struct DisksimLog {
    units: Units,
    /// The positions of the columns in the header, and that of the second request's size.
    columns: Option<([usize; 5], Option<usize>)>,
}

pub(crate) fn looks_log(head: &Head<'_>) -> bool {
    head.any_line(|line| positions(line, b',', &NAMES).is_some())
}

impl LineFormat for DisksimLog {
    const LAYOUT: &'static str =
        "the columns of the header: diskCtlrTimeBegin, devno[1], blkno[1], blkcnt[1], flags[1]";

    fn start(_: &Head<'_>, format: Format, options: &TraceOptions, _: &mut Context) -> Result<Self, FieldFault> {
        Ok(Self { units: options.units_of(format), columns: None })
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        let Some((columns, second)) = self.columns else {
            let columns = positions(line, b',', &NAMES);
            let columns = columns.ok_or_else(|| FieldFault::new("the first line does not name the columns"))?;
            self.columns = Some((columns, positions(line, b',', &SECOND).map(|[column]| column)));
            return Ok(LineContent::Skip(Skip::Header));
        };
        let mut cells = [None; 5];
        for (n, field) in fields(line, b',').enumerate() {
            if let Some(column) = columns.iter().position(|column| *column == n) {
                cells[column] = Some(field);
            }
            if second == Some(n) && parse_whole(field).is_some_and(|sectors| sectors > 0) {
                context.leave_out("second requests of a row");
            }
        }
        let [time, device, sector, sectors, flags] = cells;
        let at = self.units.time(time, "time")?;
        let device = present(device, "device")?;
        let extent = self.units.extent(whole(sector, "sector")?, whole(sectors, "size")?)?;
        let kind = if whole(flags, "flags")? & 1 == 1 { IoKind::Read } else { IoKind::Write };
        if extent.sectors == 0 {
            return Ok(LineContent::Skip(Skip::Empty));
        }
        Ok(LineContent::Request(TraceRecord::new(at, kind, extent, context.volumes.id(device))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{detected, fault, read};
    use super::*;

    #[test]
    fn service_and_wait_add_up_to_arrivals() {
        assert_eq!(detected(VALIDATE), Some(Format::DisksimValidate));
        let (records, _) = read(Format::DisksimValidate, VALIDATE);
        assert_eq!(records.iter().map(|record| record.at).collect::<Vec<_>>(), [0, 46_085_000_000, 80_892_000_000]);
        assert_eq!((records[2].kind, records[2].start, records[2].sectors), (IoKind::Read, 3_962_268, 12));
        assert!(fault(Format::DisksimValidate, "W Hit 1 4 663.0\n").contains("ends before its wait"));
        assert!(fault(Format::DisksimValidate, "X Hit 1 4 663.0 1.0\n").contains("neither R nor W"));
    }

    #[test]
    fn the_log_of_a_simulation_is_read_by_its_header() {
        assert_eq!(detected(LOG), Some(Format::DisksimLog));
        let (records, context) = read(Format::DisksimLog, &format!("{LOG}20.0,21.0,0,8,8,3,16\n"));
        assert_eq!((records[0].kind, records[1].kind, records.len()), (IoKind::Read, IoKind::Write, 3));
        assert_eq!(records[1].at - records[0].at, 16_438_009_000);
        assert_eq!(context.stats.left_out["second requests of a row"], 1);
        assert!(fault(Format::DisksimLog, "1,2,3\n").contains("does not name the columns"));
    }
}
