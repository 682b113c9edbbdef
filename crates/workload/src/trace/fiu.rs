//! FIU's traces of SRCMap and IODedup (SNIA IOTTA): `ns pid process sector sectors R|W major minor hash ...`.
//!
//! The name of a process may contain blanks. The line is therefore read from both ends: from the right come the hashes
//! (MD5, in hexadecimal, one for each block; some files have none), then the numbers of the device, the operation, the
//! size and the sector. Major and minor number together (`6,0`) name the volume, as in blkparse.

use base::io::IoKind;

use super::field::{FieldFault, Words, is_number, present, printable, whole};
use super::head::Head;
use super::record::{Context, Skip, TraceRecord};
use super::text::{LineContent, LineFormat};
use super::units::Units;
use super::{Format, TraceOptions};

/// Hexadecimal digits of an MD5.
const HASH: usize = 32;

/// A small valid file.
pub(super) const SAMPLE: &str = "89966259325410 4892 git commit 508031648 8 W 6 0 0123456789abcdef0123456789abcdef\n\
     89966259325520 4892 sh 508031656 16 R 6 1 0123456789abcdef0123456789abcdef\n";

pub(crate) struct Fiu {
    units: Units,
    device: Vec<u8>,
}

fn is_hash(word: &[u8]) -> bool {
    word.len() == HASH && word.iter().all(u8::is_ascii_hexdigit)
}

fn kind(op: &[u8]) -> Option<IoKind> {
    match op {
        [b'R' | b'r'] => Some(IoKind::Read),
        [b'W' | b'w'] => Some(IoKind::Write),
        _ => None,
    }
}

/// The fields of a line: time, process number, and those from the sector on.
struct Line<'a> {
    time: Option<&'a [u8]>,
    /// Sector, sectors, operation, major and minor number, read from the right.
    tail: [Option<&'a [u8]>; 5],
}

impl<'a> Line<'a> {
    fn of(line: &'a [u8]) -> Self {
        let mut words = Words::new(line);
        let time = words.next();
        words.next();
        // Finds the ends of words from the right without a list of all words.
        let mut rest = words.remaining().trim_ascii_end();
        let mut last = || {
            let from = rest.iter().rposition(u8::is_ascii_whitespace).map_or(0, |at| at + 1);
            let word = &rest[from..];
            rest = rest[..from].trim_ascii_end();
            (!word.is_empty()).then_some(word)
        };
        let mut word = last();
        while word.is_some_and(is_hash) {
            word = last();
        }
        let mut tail = [None; 5];
        for place in tail.iter_mut().rev() {
            *place = word;
            word = last();
        }
        Self { time, tail }
    }
}

pub(crate) fn looks(head: &Head<'_>) -> bool {
    head.any_line(|line| {
        let Line { time, tail } = Line::of(line);
        let [Some(sector), Some(sectors), Some(op), Some(major), Some(minor)] = tail else { return false };
        // At least five numbers after a process number and a name.
        let words = Words::new(line).take(8).count();
        words == 8
            && time.is_some_and(is_number)
            && kind(op).is_some()
            && [sector, sectors, major, minor].into_iter().all(is_number)
    })
}

impl LineFormat for Fiu {
    const LAYOUT: &'static str = "nanoseconds pid process sector sectors R|W major minor hash";

    fn start(_: &Head<'_>, format: Format, options: &TraceOptions, _: &mut Context) -> Result<Self, FieldFault> {
        Ok(Self { units: options.units_of(format), device: Vec::new() })
    }

    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault> {
        if Words::new(line).take(8).count() < 8 {
            return Err(FieldFault::new("the line is cut short: it has fewer than eight fields"));
        }
        let Line { time, tail: [sector, sectors, op, major, minor] } = Line::of(line);
        let at = self.units.time(time, "time")?;
        let op = present(op, "operation")?;
        let kind = kind(op).ok_or_else(|| {
            FieldFault::new(format!(
                "the operation, the third field before the hashes, is neither R nor W: `{}`",
                printable(op)
            ))
        })?;
        let sector = whole(sector, "sector")?;
        let size = whole(sectors, "size")?;
        let (major, minor) = (whole(major, "major number")?, whole(minor, "minor number")?);
        let extent = self.units.extent(sector, size)?;
        if extent.sectors == 0 {
            return Ok(LineContent::Skip(Skip::Empty));
        }
        self.device.clear();
        // The volume is nearly always that of the previous line, so its name is formatted without an allocation.
        std::io::Write::write_fmt(&mut self.device, format_args!("{major},{minor}"))
            .map_err(|error| FieldFault::new(error.to_string()))?;
        let volume = context.volumes.id(&self.device);
        Ok(LineContent::Request(TraceRecord::new(at, kind, extent, volume)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::testing::{detected, fault, read};
    use super::*;

    const HASHED: &str = "0123456789abcdef0123456789ABCDEF";

    #[test]
    fn process_names_may_hold_blanks_and_any_number_of_hashes_may_follow() {
        let text = format!(
            "1000 12 httpd 800 8 W 6 0 {HASHED}\n3000 7 Web Content 3 808 16 r 6 0 {HASHED} {HASHED}\r\n\
             4000 0 swapper 16 8 R 8 1 \n5000 0 x 0 0 R 8 1 {HASHED}\n"
        );
        assert_eq!(detected(&text), Some(Format::Fiu));
        let (records, context) = read(Format::Fiu, &text);
        let seen: Vec<_> = records.iter().map(|r| (r.at, r.start, r.sectors, r.kind)).collect();
        use IoKind::{Read, Write};
        assert_eq!(seen, [(1_000_000, 800, 8, Write), (3_000_000, 808, 16, Read), (4_000_000, 16, 8, Read)]);
        assert_eq!(context.volumes.names(), ["6,0", "8,1"]);
        assert_eq!(context.stats.empty, 1);
    }

    #[test]
    fn bad_lines_are_named() {
        let good = format!("1000 12 httpd 800 8 W 6 0 {HASHED}\n");
        for (line, what) in [
            ("2000 12 httpd 800 8", "cut short"),
            ("2000 12 httpd 800 8 X 6 0 0123456789abcdef0123456789abcdef", "neither R nor W: `X`"),
            ("2000 12 httpd 800 8 W 6 0 0123456789abc", "neither R nor W"),
            ("2000 12 httpd 8oo 8 W 6 0 0123456789abcdef0123456789abcdef", "the sector is not a number: `8oo`"),
            ("-5 12 httpd 800 8 W 6 0 0123456789abcdef0123456789abcdef", "the time is negative"),
            ("2000 12 httpd 800 99999999999 W 6 0 0123456789abcdef0123456789abcdef", "2 TiB"),
        ] {
            let seen = fault(Format::Fiu, &format!("{good}{line}\n"));
            assert!(seen.contains(what) && seen.contains(":2:"), "{line}: {seen}");
        }
    }
}
