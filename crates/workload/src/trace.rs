//! Block traces: read in any known format, through any known compression, in bounded memory.
//!
//! A trace goes through these layers, each in a file of its own:
//!
//! 1. *bytes* ([`TraceFile`]): a file, or a pipe, which is read once and kept in an anonymous file where it must be read
//!    again; *compression*, known by its first bytes: gzip, bzip2, xz, zstd; a *tar*, whose members are merged by time;
//! 2. *format* ([`Format`]), named or detected: lines or records become requests with exact stamps. What a file does not
//!    say and what speaks against the guess is told ([`Doubt`]), and units can be named ([`NamedUnits`]);
//! 3. *order*: requests are held back up to a tolerance and sorted by stamp, inversions are counted, and one
//!    beyond the tolerance is an error;
//! 4. *shape*: skip and limit, times counted from the first request asked for, gaps shortened, times
//!    scaled, the whole repeated;
//! 5. *volumes* ([`VolumeRule`]) and *extents* ([`ExtentRule`]): one address space of the device's capacity.
//!
//! Memory is that of one buffer and one window, whatever the length of the file; only compaction and
//! [`info()`] remember what was touched. All arithmetic on stamps is on integers.
//!
//! # What is decided about formats
//!
//! * Times become picoseconds from the first request, exactly; digits below a picosecond are dropped.
//! * Extents in bytes are widened to the 512-byte sectors they touch. Requests without length are passed over.
//! * `#` begins a comment in every text format; blank lines are allowed.
//! * A volume is an ASU (`spc`), host and disk (`msr`), a LUN (`systor`), a device (`blkparse`, `blktrace`,
//!   `disksim`), a volume (`tencent`), a file (`iolog`).
//! * Text may begin with a byte order mark and end its lines with CRLF.
//! * A volume without a name in a file of a tar is called after the file.
//! * `disksim` has milliseconds with a decimal point, `mqsim` and `ssdsim` whole nanoseconds; in all of them 1
//!   is a read. Nothing in such a file says its units: those of the detected format are a guess. `tencent` has 1 for a write. `disksim-pages` counts sizes in 4 KiB pages.
//! * `blkparse` and `blktrace`: one [`Event`] stands for a request; a preflush becomes a flush before its
//!   write; FUA is not told apart. A path `NAME.blktrace` means the files `NAME.blktrace.0` and on, merged.
//! * `blkparse`: stamps near 1266874889.7 s are negative ones, printed modulo 2^32 s, and are put right; one that
//!   was sorted to the end because of that takes the time of the event before it.
//! * `nexus5`: a request that arrived more than an hour before it was inserted (the clock was set in between)
//!   takes the time of its insertion.
//! * `iolog` version 2 has no times and asks for a closed loop of depth one; its waits are counted as time.
//!
//! Whatever is passed over or put right is counted in [`TraceStats`]. A file from which nothing is read
//! is an error.

mod archive;
mod blkparse;
mod blkreplay;
mod blktrace;
mod cloudphysics;
mod columns;
mod compress;
mod convert;
mod csv;
mod disksim;
mod extent;
mod fiu;
mod format;
mod guess;
mod info;
mod input;
mod iolog;
mod merge;
mod msr;
mod nexus5;
mod order;
mod parquet;
mod pass;
mod record;
mod seal;
mod source;
mod spc;
mod stored;
mod systor;
mod tencent;
mod text;
mod units;
mod volume;
mod vscsi;
mod wpa;

#[cfg(test)]
mod samples;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use blktrace::files;
pub use columns::Columns;
pub use convert::{CREATOR, Converted, convert};
pub use extent::ExtentRule;
pub use format::Format;
pub use guess::{ABSURD_RATE, Doubt, SizeReading, SizeSign, TimeReading};
pub use info::{Footprint, KindInfo, TraceInfo, info};
pub use record::TraceStats;
pub use source::{TraceSource, open};
pub use stored::TraceFile;
pub use units::{NamedUnits, SizeUnit, TimeUnit, Units};
pub use volume::VolumeRule;

use base::units::{Ratio, Sectors, Span};

use crate::{Pacing, SourceError};

/// Which event of a recording stands for a request, where the format has several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Event {
    /// The first of queue, issue, insert and complete that occurs in the first 64 KiB of the file.
    #[default]
    Auto,
    /// The request as it entered the block layer (`Q`).
    Queue,
    /// The request as it was given to the driver (`D`), after merging.
    Issue,
    /// The request as it completed (`C`).
    Complete,
}

impl Event {
    /// All choices.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Queue, Self::Issue, Self::Complete];

    /// The name that selects it.
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

/// How a trace is read. The default is the file as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceOptions {
    /// The format; detected if not given.
    pub format: Option<Format>,
    /// The columns of a CSV. They name the format `csv`.
    pub columns: Option<Columns>,
    /// The units of its numbers; those of the format if not given.
    pub units: NamedUnits,
    /// Which event stands for a request (blktrace, blkparse).
    pub event: Event,
    /// Only the requests of the volume with this name. Names are as in the file: an ASU (`3`), host and disk
    /// (`hm,0`), a LUN, a device (`8,16`), a file (`/dev/sda`).
    pub volume: Option<String>,
    /// What becomes of several volumes.
    pub volumes: VolumeRule,
    /// How far back a stamp may go behind the latest before it; such requests are sorted.
    pub tolerance: Span,
    /// How many requests are held back at most in order to be sorted; each takes 48 bytes. By default 2^18:
    /// more than a second of the busiest cloud traces, whose stamps are whole seconds.
    pub window: usize,
    /// The longest gap between two requests; longer ones are shortened to it.
    pub gap_limit: Option<Span>,
    /// Requests left out at the beginning, in the order of their times.
    pub skip: u64,
    /// Requests read at most, after those left out; per repetition.
    pub limit: Option<u64>,
    /// How often it is read. A repetition starts one mean gap after the last request of the one before.
    pub repeat: u32,
    /// What times are multiplied by: 0.5 makes the trace twice as fast. The precision is 2^-32.
    pub time_scale: Ratio,
    /// How requests are issued; by default as the format has it: by their times where there are any, else
    /// one after the other.
    pub pacing: Option<Pacing>,
    /// What becomes of requests that do not fit the device.
    pub extent: ExtentRule,
    /// The sectors of the device; without them all addresses fit.
    pub capacity: Option<Sectors>,
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
        }
    }
}

impl TraceOptions {
    /// The format that the user named, if any.
    pub(crate) fn known_format(&self) -> Result<Option<Format>, SourceError> {
        match (self.format, &self.columns) {
            (Some(format), Some(_)) if format != Format::Csv => Err(SourceError::new(
                format!("--csv names the columns of a CSV, and --format says {format}"),
                "give one of them",
            )),
            (_, Some(_)) => Ok(Some(Format::Csv)),
            (format, None) => Ok(format),
        }
    }

    /// The units of the numbers of a trace of this format.
    pub(crate) fn units_of(&self, format: Format) -> Units {
        let exact = Units::new(TimeUnit::Picosecond, SizeUnit::BYTE, SizeUnit::BYTE);
        self.units.over(format.units().unwrap_or(exact))
    }
}
