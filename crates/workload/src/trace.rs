//! Block traces in many formats and compressions, read in bounded memory.
//!
//! A trace passes through these layers, each in its own file:
//!
//! 1. *bytes* ([`TraceFile`]): a file or a pipe. A pipe is read once; if the trace must be read again, an anonymous
//!    file keeps its bytes. The first bytes reveal the *compression*: gzip, bzip2, xz, zstd. The members of a *tar* or a
//!    *zip* are merged by time;
//! 2. *format* ([`Format`]), named or detected: lines or records become requests with exact time stamps. A survey of the
//!    first requests finds a [`Doubt`]: a fact that the file does not state, or a sign against an assumption. A user can
//!    name units ([`NamedUnits`]);
//! 3. *order*: a window holds requests back up to a tolerance and sorts them by time stamp. Inversions are counted; one
//!    beyond the tolerance is an error;
//! 4. *shape*: skip and limit, times from the first request that is kept, gaps shortened, times scaled, the trace
//!    repeated;
//! 5. *volumes* ([`VolumeRule`]) and *extents* ([`ExtentRule`]): one address space of the device's capacity.
//!
//! Memory is one buffer and one window for a file of any length; only compaction and [`info()`] remember the addresses
//! touched. All arithmetic on time stamps is on integers.
//!
//! # Conventions for the formats
//!
//! * Times become picoseconds from the first request, exactly; digits below a picosecond are dropped.
//! * Extents in bytes grow to the 512-byte sectors that they touch. Requests without length are skipped.
//! * `#` begins a comment in every text format; blank lines are allowed.
//! * A volume is an ASU (`spc`), host and disk (`msr`), a LUN (`systor`), a device (`alibaba`, `blkparse`, `blktrace`,
//!   `disksim`, `snoop`, `tracepoints`), a volume (`tencent`), a file (`iolog`, `thesios`).
//! * Text may begin with a byte order mark and end its lines with CRLF.
//! * A volume without a name takes the name of its member in an archive.
//! * `disksim` has milliseconds with a decimal point, `mqsim` and `ssdsim` whole nanoseconds; in all three, 1 is a
//!   read. Their files do not state units: those of the detected format are a guess. In `tencent`, 1 is a write.
//!   `disksim-pages` counts sizes in 4 KiB pages.
//! * `blkparse`, `blktrace`, `tracepoints` and `wiscsee`: one [`Event`] stands for a request; a preflush becomes a flush
//!   before its write; FUA is ignored. The files of a recording of blktrace are merged.
//! * `blkparse`: time stamps near 1266874889.7 s are negative ones, printed modulo 2^32 s, and are corrected; an event
//!   that was sorted to the end for this reason takes the time of the event before it.
//! * `nexus5`: a request that arrived more than an hour before its insertion (the clock was set in between) takes the
//!   time of its insertion.
//! * `iolog` version 2 asks for a closed loop of depth one, or with waits for a replay of depth one.
//!
//! [`TraceStats`] counts all skipped and corrected requests. A file without any request is an error.

mod actions;
mod alibaba;
mod archive;
mod blkparse;
mod blkreplay;
mod blktrace;
mod bpftrace;
mod cloudphysics;
mod columns;
mod compress;
mod convert;
mod cpus;
mod csv;
mod disksim;
mod disksim_valid;
mod doubt;
mod extent;
mod field;
mod fiu;
mod format;
mod growing;
mod head;
mod info;
mod input;
mod iolog;
mod merge;
mod msr;
mod nexus5;
mod oracle_general;
mod order;
mod parquet;
mod pass;
mod profile;
mod readings;
mod record;
mod seal;
mod snoop;
mod source;
mod spc;
mod stored;
mod survey;
mod systor;
mod table;
mod tencent;
mod text;
mod thesios;
mod tracepoints;
mod units;
mod volume;
mod vscsi;
mod wiscsee;
mod wpa;
mod zip;

#[cfg(test)]
mod samples;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use columns::Columns;
pub use convert::{CREATOR, ConversionResult, convert};
pub use cpus::files;
pub use doubt::{Doubt, SizeSign};
pub use extent::ExtentRule;
pub use format::Format;
pub use growing::{RecordedRequest, TraceWriter};
pub use info::{Footprint, KindInfo, TraceInfo, info};
pub use parquet::{FIELDS, RECORDED};
pub use readings::{SizeReading, TimeReading};
pub use record::TraceStats;
pub use source::{TraceSource, open};
pub use stored::TraceFile;
pub use survey::ABSURD_RATE;
pub use units::{NamedUnits, SizeUnit, TimeUnit, Units};
pub use volume::VolumeRule;

use base::units::{Ratio, Sectors, Span};

use crate::{Pacing, SourceError};

/// The event of a recording that stands for a request, in formats with several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Event {
    /// The first of queue, issue, insert and complete that occurs in the first 64 KiB of the file.
    #[default]
    Auto,
    /// The request entered the block layer (`Q`).
    Queue,
    /// The driver received the request (`D`), after merging.
    Issue,
    /// The request completed (`C`).
    Complete,
}

impl Event {
    /// All choices, in the order of help texts.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Queue, Self::Issue, Self::Complete];

    /// The choice with this name; `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// The name by which a user selects the event.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Queue => "queue",
            Self::Issue => "issue",
            Self::Complete => "complete",
        }
    }
}

/// Options for reading a trace. The default reads the file as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceOptions {
    /// The format; detected if not given.
    pub format: Option<Format>,
    /// The columns of a CSV or a Parquet file. They name the format `csv`.
    pub columns: Option<Columns>,
    /// The units of the trace's numbers; by default those of the format.
    pub units: NamedUnits,
    /// The event that stands for a request (blktrace, blkparse, tracepoints, WiscSee).
    pub event: Event,
    /// The only volume whose requests are read; all if `None`. Names are those in the file: an ASU (`3`), host and disk
    /// (`hm,0`), a LUN, a device (`8,16`), a file (`/dev/sda`).
    pub volume: Option<String>,
    /// The rule for several volumes.
    pub volumes: VolumeRule,
    /// The tolerance for times out of order: a time stamp may be earlier than the latest one so far by at most this.
    /// Requests within the tolerance are sorted.
    pub tolerance: Span,
    /// The maximum number of requests held back for sorting; each takes 48 bytes. The default is 2^18: more than a
    /// second of the busiest cloud traces, whose time stamps are whole seconds.
    pub window: usize,
    /// The longest gap between two requests; longer gaps are shortened to it.
    pub gap_limit: Option<Span>,
    /// The number of requests to skip at the beginning, in order of time.
    pub skip: u64,
    /// The maximum number of requests to read after those skipped, per repetition.
    pub limit: Option<u64>,
    /// The number of times that the trace is played. A repetition starts one mean gap after the last request of the
    /// previous one.
    pub repeat: u32,
    /// The factor for all times: 0.5 plays the trace twice as fast. The precision is 2^-32.
    pub time_scale: Ratio,
    /// The pacing. By default requests follow their times if the format has times; otherwise they run one after
    /// another.
    pub pacing: Option<Pacing>,
    /// The rule for requests that do not fit the device.
    pub extent: ExtentRule,
    /// The number of sectors of the device; if `None`, all addresses fit.
    pub capacity: Option<Sectors>,
    /// True if a [`Doubt`] about the trace is an error.
    pub strict: bool,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self {
            format: None,
            columns: None,
            units: NamedUnits::default(),
            event: Event::default(),
            volume: None,
            volumes: VolumeRule::default(),
            tolerance: Span::from_secs(1),
            window: 1 << 18,
            gap_limit: None,
            skip: 0,
            limit: None,
            repeat: 1,
            time_scale: Ratio::new(1.0),
            pacing: None,
            extent: ExtentRule::default(),
            capacity: None,
            strict: false,
        }
    }
}

impl TraceOptions {
    /// The format that the user named, if any.
    pub(crate) fn known_format(&self) -> Result<Option<Format>, SourceError> {
        match (self.format, &self.columns) {
            (Some(format), Some(_)) if format != Format::Csv => Err(SourceError::new(
                format!("--columns names the columns of a CSV, and --format says {format}"),
                "give one of them",
            )),
            (_, Some(_)) => Ok(Some(Format::Csv)),
            (format, None) => Ok(format),
        }
    }

    pub(crate) fn units_of(&self, format: Format) -> Units {
        let exact = Units::new(TimeUnit::Picosecond, SizeUnit::BYTE, SizeUnit::BYTE);
        self.units.over(format.units().unwrap_or(exact))
    }
}
