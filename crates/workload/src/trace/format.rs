//! The registry of formats, with one entry each, and the detection from the first bytes.

use super::input::{BYTE_ORDER_MARK, HEAD, Input};
use super::record::{Context, Records};
use super::units::{SizeUnit, TimeUnit, Units};
use super::{
    Event, TraceOptions, alibaba, blkparse, blkreplay, blktrace, bpftrace, cloudphysics, csv, disksim, disksim_valid,
    fiu,
};
use super::{
    iolog, msr, nexus5, oracle_general, parquet, profile, snoop, spc, survey, systor, tencent, text, thesios,
    tracepoints, vscsi,
};
use super::{table, wiscsee, wpa};
use crate::SourceError;

type Open = fn(Input, Format, &TraceOptions, &mut Context) -> Result<Box<dyn Records>, SourceError>;

macro_rules! formats {
    ($($name:ident, $text:literal, $about:literal, $units:expr, $looks:expr, $open:expr, $sample:expr;)*) => {
        /// A format of trace files.
        // Brackets in the description of a line are not links.
        #[allow(rustdoc::broken_intra_doc_links)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Format {
            $(#[doc = $about] $name,)*
        }

        impl Format {
            /// All formats, in the order in which detection tries them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The name by which a user selects the format.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// A description of the format in one line.
            #[must_use]
            pub const fn about(self) -> &'static str {
                match self { $(Self::$name => $about),* }
            }

            /// The units of the format's numbers if they are a convention, so that a user can name others; `None` if
            /// the file states them.
            #[must_use]
            pub const fn units(self) -> Option<Units> {
                match self { $(Self::$name => $units),* }
            }

            fn looks_like(self, head: &Head<'_>) -> bool {
                match self { $(Self::$name => $looks(head)),* }
            }

            fn opener(self) -> Open {
                match self { $(Self::$name => $open),* }
            }

            /// A small valid file for examples and tests; `None` for a format that only [`convert`](fn@super::convert)
            /// writes.
            #[must_use]
            pub fn sample(self) -> Option<Vec<u8>> {
                match self { $(Self::$name => $sample),* }
            }
        }
    };
}

/// The first remedy for an unknown format.
const NAME_IT: &str = "name it with --format (`flashloom trace formats` lists them)";

const SECTOR: SizeUnit = SizeUnit::SECTOR;
const BYTE: SizeUnit = SizeUnit::BYTE;

/// The units of a format in which they are a convention.
const fn units(time: TimeUnit, address: SizeUnit, size: SizeUnit) -> Option<Units> {
    Some(Units::new(time, address, size))
}

// The order matters only for detection: reliable signs (magic numbers, headers) come before forms of lines.
formats! {
    Parquet, "parquet", "Flashloom's own columns: at_ps, kind, lba, sectors, volume",
        None, parquet::looks, parquet::open, None;
    Blktrace, "blktrace", "blktrace binary, one CPU's file, either byte order",
        None, blktrace::looks, blktrace::open, Some(blktrace::sample());
    Vscsi, "vscsi", "CloudPhysics vscsi binary, versions 1 and 2",
        None, vscsi::looks, vscsi::open, Some(vscsi::sample());
    Iolog, "iolog", "fio iolog, versions 2 (waits in ms from the start, or no times) and 3 (us)",
        None, iolog::looks, text::open::<iolog::Iolog>, lines(iolog::SAMPLE);
    Blkreplay, "blkreplay", "blkreplay .load: `s ; sector ; sectors ; op ; ...`",
        units(TimeUnit::Second, SECTOR, SECTOR), blkreplay::looks, text::open::<blkreplay::Blkreplay>,
        lines(blkreplay::SAMPLE);
    Wpa, "wpa", "Windows Performance Analyzer's disk table as CSV",
        None, wpa::looks, text::open::<wpa::Wpa>, lines(wpa::SAMPLE);
    DisksimLog, "disksim-log", "DiskSim's log of a simulation as CSV: diskCtlrTimeBegin (ms), devno[1], blkno[1] ...",
        units(TimeUnit::Millisecond, SECTOR, SECTOR), disksim_valid::looks_log, text::open::<disksim_valid::DisksimLog>,
        lines(disksim_valid::LOG);
    Thesios, "thesios", "Google's Thesios CSV: filename, file_offset, op_type, disk_io_size_bytes, start_time (s) ...",
        units(TimeUnit::Second, BYTE, BYTE), thesios::looks, text::open::<thesios::Thesios>, lines(thesios::SAMPLE);
    Alibaba, "alibaba", "Alibaba block traces of 2020: device,R|W,byte,bytes,us",
        units(TimeUnit::Microsecond, BYTE, BYTE), alibaba::looks, text::open::<alibaba::Alibaba>,
        lines(alibaba::SAMPLE);
    LibCacheSim, "libcachesim", "libCacheSim's copies of cloudphysics: version,s,SCSI opcode,bytes,sector",
        units(TimeUnit::Second, SECTOR, BYTE), cloudphysics::looks_seconds, text::open::<cloudphysics::CloudPhysics>,
        lines(cloudphysics::SECONDS);
    CloudPhysics, "cloudphysics", "CloudPhysics CSV: version,us,SCSI opcode,bytes,sector",
        units(TimeUnit::Microsecond, SECTOR, BYTE), cloudphysics::looks, text::open::<cloudphysics::CloudPhysics>,
        lines(cloudphysics::SAMPLE);
    Systor, "systor", "SYSTOR'17 CSV: s,response,R|W,LUN,byte,bytes",
        units(TimeUnit::Second, BYTE, BYTE), systor::looks, text::open::<systor::Systor>, lines(systor::SAMPLE);
    Msr, "msr", "MSR Cambridge CSV: file time,host,disk,Read|Write,byte,bytes,response",
        units(TimeUnit::FileTime, BYTE, BYTE), msr::looks, text::open::<msr::Msr>, lines(msr::SAMPLE);
    Spc, "spc", "SPC-1: ASU,sector,bytes,r|w,s",
        units(TimeUnit::Second, SECTOR, BYTE), spc::looks, text::open::<spc::Spc>, lines(spc::SAMPLE);
    Tencent, "tencent", "Tencent CBS CSV: s,sector,sectors,0 read|1 write,volume",
        units(TimeUnit::Second, SECTOR, SECTOR), tencent::looks, text::open::<tencent::Tencent>,
        lines(tencent::SAMPLE);
    Blkparse, "blkparse", "the text that blkparse prints",
        None, blkparse::looks, text::open::<blkparse::Blkparse>, lines(blkparse::SAMPLE);
    Tracepoints, "tracepoints", "Linux tracepoints as text (ftrace, trace-cmd, perf script): block and nvme events",
        None, tracepoints::looks, text::open::<tracepoints::Tracepoints>, lines(tracepoints::SAMPLE);
    Snoop, "snoop", "biosnoop (bcc) and iosnoop (perf-tools): the columns COMM, T, SECTOR, BYTES, LAT(ms) ...",
        None, snoop::looks, text::open::<snoop::Snoop>, lines(snoop::SAMPLE);
    Bpftrace, "bpftrace", "what bpftrace prints as pairs: [time] ... rwbs=RWBS sector=SECTOR bytes=BYTES",
        None, bpftrace::looks, text::open::<bpftrace::Bpftrace>, lines(bpftrace::SAMPLE);
    Wiscsee, "wiscsee", "WiscSee's events: pid [action] read|write|discard byte bytes s wait True|False",
        None, wiscsee::looks, text::open::<wiscsee::Wiscsee>, lines(wiscsee::SAMPLE);
    DisksimValidate, "disksim-validate", "DiskSim's validation traces: R|W Hit|Miss sector sectors service(us) wait(us)",
        None, disksim_valid::looks_validate, text::open::<disksim_valid::DisksimValidate>,
        lines(disksim_valid::VALIDATE);
    Fiu, "fiu", "FIU SRCMap/IODedup: ns pid process sector sectors R|W major minor hash",
        units(TimeUnit::Nanosecond, SECTOR, SECTOR), fiu::looks, text::open::<fiu::Fiu>, lines(fiu::SAMPLE);
    Nexus5, "nexus5", "Nexus 5 log: sector sectors bytes type arrival(s) ...",
        None, nexus5::looks, text::open::<nexus5::Nexus5>, lines(nexus5::SAMPLE);
    Disksim, "disksim", "DiskSim ASCII: ms device sector sectors flags (bit 0: read)",
        units(TimeUnit::Millisecond, SECTOR, SECTOR), disksim::looks_disksim, text::open::<disksim::Disksim>,
        lines(disksim::SAMPLE);
    Mqsim, "mqsim", "MQSim ASCII: ns device sector sectors 0 write|1 read",
        units(TimeUnit::Nanosecond, SECTOR, SECTOR), disksim::looks_mqsim, text::open::<disksim::Disksim>,
        lines(disksim::MQSIM);
    Ssdsim, "ssdsim", "SSDsim ASCII, the same as mqsim; never detected",
        units(TimeUnit::Nanosecond, SECTOR, SECTOR), never, text::open::<disksim::Disksim>, lines(disksim::MQSIM);
    DisksimPages, "disksim-pages", "DiskSim ASCII with sizes in 4 KiB pages; never detected",
        units(TimeUnit::Millisecond, SECTOR, SizeUnit::PAGE), never, text::open::<disksim::Disksim>,
        lines(disksim::PAGES);
    OracleGeneral, "oracle-general", "libCacheSim's oracleGeneral binary: s u32, object u64, bytes u32, next i64",
        units(TimeUnit::Second, SECTOR, BYTE), oracle_general::looks, oracle_general::open,
        Some(oracle_general::sample());
    Csv, "csv", "any CSV or Parquet, its columns named with --columns; never detected",
        None, never, table::open, lines(csv::SAMPLE);
}

fn lines(text: &str) -> Option<Vec<u8>> {
    Some(text.as_bytes().to_vec())
}

/// The detection function of formats that a user has to name.
fn never(_: &Head<'_>) -> bool {
    false
}

impl Format {
    /// The format with this name, as the option `--format` takes it; `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// The format of a file from its first bytes; `None` if unknown.
    pub(crate) fn of(input: &mut Input) -> Result<Option<Self>, SourceError> {
        text::refuse_wide(input)?;
        let head = Head::of(input.head()?);
        Ok(Self::ALL.iter().copied().find(|format| format.looks_like(&head)))
    }

    /// The format of a file from its first bytes.
    ///
    /// # Errors
    ///
    /// If the format is unknown; the remedy suggests how to read the file.
    pub(crate) fn detect(input: &mut Input) -> Result<Self, SourceError> {
        if input.head()?.is_empty() {
            let path = input.path().to_path_buf();
            return Err(SourceError::new("the file is empty", "check how it was made").in_file(&path));
        }
        match Self::of(input)? {
            Some(format) => Ok(format),
            None => Err(Self::unknown(input)),
        }
    }

    /// The error of an unknown format, with advice on how to read the file.
    fn unknown(input: &mut Input) -> SourceError {
        let path = input.path().to_path_buf();
        let Ok(head) = input.head() else {
            return SourceError::new("cannot be read", "check the file").in_file(&path);
        };
        let head = Head::of(head);
        if head.is_binary() {
            let remedy = format!("{NAME_IT}, or convert it to CSV and name the columns with --columns");
            return SourceError::new("the format is not known, and the file is not text", remedy).in_file(&path);
        }
        let seen = match head.lines().next() {
            Some(line) => format!("the first line is `{}`", text::printable(line)),
            None if head.is_idle() => "it has only blank lines and comments".to_owned(),
            None => "its first line does not end".to_owned(),
        };
        let (columns, own) = profile::suggestion(&head);
        let fit = if own { "correct its columns and units" } else { "with its own columns and units" };
        let remedy = format!("{NAME_IT}, or name its columns, for example --columns '{columns}' ({fit})");
        SourceError::new(format!("the format is not known: {seen}"), remedy).in_file(&path)
    }

    /// Opens the records of a file of this format.
    pub(crate) fn open(
        self,
        input: Input,
        options: &TraceOptions,
        context: &mut Context,
    ) -> Result<Box<dyn Records>, SourceError> {
        // The reader of an iolog checks a unit for its waits.
        let waits = self == Self::Iolog && options.units.address.is_none() && options.units.size.is_none();
        if let (None, Some(option), false) = (self.units(), options.units.option(), waits) {
            let remedy = match self {
                Self::Csv => "write the unit behind the column in --columns: time=COLUMN:us",
                _ => "leave it out, or name another format with --format",
            };
            let message = format!("{option} has no effect: {self} states its units");
            return Err(SourceError::new(message, remedy).in_file(input.path()));
        }
        let several = matches!(self, Self::Blktrace | Self::Blkparse | Self::Tracepoints | Self::Wiscsee);
        if options.event != Event::default() && !several {
            let message = format!("--event has no effect: {self} has one record for each request");
            let remedy = "leave it out; files of blktrace, blkparse and tracepoints have several events";
            return Err(SourceError::new(message, remedy).in_file(input.path()));
        }
        self.opener()(input, self, options, context)
    }

    /// Opens the records of a file, and surveys facts that the file does not state. `detected` is false if the user
    /// named the format.
    pub(crate) fn open_surveyed(
        self,
        detected: bool,
        mut input: Input,
        options: &TraceOptions,
        context: &mut Context,
    ) -> Result<Box<dyn Records>, SourceError> {
        survey::survey(self, detected, &mut input, options, context)?;
        self.open(input, options, context)
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// The first bytes of a file.
pub(crate) struct Head<'a> {
    pub(crate) raw: &'a [u8],
}

impl<'a> Head<'a> {
    pub(crate) fn of(raw: &'a [u8]) -> Self {
        Self { raw }
    }

    /// True if the bytes have only blank lines and comments.
    fn is_idle(&self) -> bool {
        let mut lines = self.raw.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        lines.all(|line| line.is_empty() || line.starts_with(b"#"))
    }

    /// True if these are all bytes of the file.
    pub(crate) fn is_whole(&self) -> bool {
        self.raw.len() < HEAD
    }

    /// True if the bytes are not text.
    fn is_binary(&self) -> bool {
        self.raw.contains(&0)
    }

    /// The lines that are neither blank nor comments, without a last line that may be cut.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let whole = if !self.is_whole() {
            self.raw.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1)
        } else {
            self.raw.len()
        };
        let text = &self.raw[..whole];
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        text.split(|b| *b == b'\n').map(<[u8]>::trim_ascii).filter(|line| !matches!(line, [] | [b'#', ..]))
    }

    /// True if `is` holds for one of the first lines: one damaged line must not hide the format.
    pub(crate) fn any_line(&self, is: impl FnMut(&'a [u8]) -> bool) -> bool {
        self.lines().take(5).any(is)
    }
}

/// True for digits with at most one decimal point.
pub(crate) fn is_number(field: &[u8]) -> bool {
    text::parse_decimal(field, 12).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_found_by_its_name() {
        for format in Format::ALL {
            assert_eq!(Format::from_name(format.name()), Some(*format));
            assert!(!format.about().is_empty());
        }
    }
}
