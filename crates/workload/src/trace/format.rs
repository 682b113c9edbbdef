//! The formats of trace files: their names, descriptions and units.

mod registry;

use super::units::{SizeUnit, TimeUnit, Units};

macro_rules! formats {
    ($($name:ident, $text:literal, $about:literal, $units:expr;)*) => {
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
        }
    };
}

const SECTOR: SizeUnit = SizeUnit::SECTOR;
const BYTE: SizeUnit = SizeUnit::BYTE;

/// The units of a format in which they are a convention.
const fn units(time: TimeUnit, address: SizeUnit, size: SizeUnit) -> Option<Units> {
    Some(Units::new(time, address, size))
}

// The order matters only for detection: reliable signs (magic numbers, headers) come before forms of lines.
formats! {
    Parquet, "parquet", "Flashloom's own columns: at_ps, kind, lba, sectors, volume",
        None;
    Blktrace, "blktrace", "blktrace binary, one CPU's file, either byte order",
        None;
    Vscsi, "vscsi", "CloudPhysics vscsi binary, versions 1 and 2",
        None;
    Iolog, "iolog", "fio iolog, versions 2 (waits in ms from the start, or no times) and 3 (us)",
        None;
    Blkreplay, "blkreplay", "blkreplay .load: `s ; sector ; sectors ; op ; ...`",
        units(TimeUnit::Second, SECTOR, SECTOR);
    Wpa, "wpa", "Windows Performance Analyzer's disk table as CSV",
        None;
    DisksimLog, "disksim-log", "DiskSim's log of a simulation as CSV: diskCtlrTimeBegin (ms), devno[1], blkno[1] ...",
        units(TimeUnit::Millisecond, SECTOR, SECTOR);
    Thesios, "thesios", "Google's Thesios CSV: filename, file_offset, op_type, disk_io_size_bytes, start_time (s) ...",
        units(TimeUnit::Second, BYTE, BYTE);
    Alibaba, "alibaba", "Alibaba block traces of 2020: device,R|W,byte,bytes,us",
        units(TimeUnit::Microsecond, BYTE, BYTE);
    LibCacheSim, "libcachesim", "libCacheSim's copies of cloudphysics: version,s,SCSI opcode,bytes,sector",
        units(TimeUnit::Second, SECTOR, BYTE);
    CloudPhysics, "cloudphysics", "CloudPhysics CSV: version,us,SCSI opcode,bytes,sector",
        units(TimeUnit::Microsecond, SECTOR, BYTE);
    Systor, "systor", "SYSTOR'17 CSV: s,response,R|W,LUN,byte,bytes",
        units(TimeUnit::Second, BYTE, BYTE);
    Msr, "msr", "MSR Cambridge CSV: file time,host,disk,Read|Write,byte,bytes,response",
        units(TimeUnit::FileTime, BYTE, BYTE);
    Spc, "spc", "SPC-1: ASU,sector,bytes,r|w,s",
        units(TimeUnit::Second, SECTOR, BYTE);
    Tencent, "tencent", "Tencent CBS CSV: s,sector,sectors,0 read|1 write,volume",
        units(TimeUnit::Second, SECTOR, SECTOR);
    Blkparse, "blkparse", "the text that blkparse prints",
        None;
    Tracepoints, "tracepoints", "Linux tracepoints as text (ftrace, trace-cmd, perf script): block and nvme events",
        None;
    Snoop, "snoop", "biosnoop (bcc) and iosnoop (perf-tools): the columns COMM, T, SECTOR, BYTES, LAT(ms) ...",
        None;
    Bpftrace, "bpftrace", "what bpftrace prints as pairs: [time] ... rwbs=RWBS sector=SECTOR bytes=BYTES",
        None;
    Wiscsee, "wiscsee", "WiscSee's events: pid [action] read|write|discard byte bytes s wait True|False",
        None;
    DisksimValidate, "disksim-validate", "DiskSim's validation traces: R|W Hit|Miss sector sectors service(us) wait(us)",
        None;
    Fiu, "fiu", "FIU SRCMap/IODedup: ns pid process sector sectors R|W major minor hash",
        units(TimeUnit::Nanosecond, SECTOR, SECTOR);
    Nexus5, "nexus5", "Nexus 5 log: sector sectors bytes type arrival(s) ...",
        None;
    Disksim, "disksim", "DiskSim ASCII: ms device sector sectors flags (bit 0: read)",
        units(TimeUnit::Millisecond, SECTOR, SECTOR);
    Mqsim, "mqsim", "MQSim ASCII: ns device sector sectors 0 write|1 read",
        units(TimeUnit::Nanosecond, SECTOR, SECTOR);
    Ssdsim, "ssdsim", "SSDsim ASCII, the same as mqsim; never detected",
        units(TimeUnit::Nanosecond, SECTOR, SECTOR);
    DisksimPages, "disksim-pages", "DiskSim ASCII with sizes in 4 KiB pages; never detected",
        units(TimeUnit::Millisecond, SECTOR, SizeUnit::PAGE);
    OracleGeneral, "oracle-general", "libCacheSim's oracleGeneral binary: s u32, object u64, bytes u32, next i64",
        units(TimeUnit::Second, SECTOR, BYTE);
    Csv, "csv", "any CSV or Parquet, its columns named with --columns; never detected",
        None;
}

impl Format {
    /// The format with this name, as the option `--format` takes it; `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.name() == name)
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
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
