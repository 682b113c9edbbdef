//! The options for reading traces.

use base::units::Span;
use clap::Args;
use study::plan::ReadingSpec;
use workload::trace::{Columns, Event, ExtentRule, Format, NamedUnits, SizeUnit, TimeUnit, TraceOptions, VolumeRule};

use crate::exit::Failure;
use crate::options::{columns, event, extent, format, size_unit, time_unit, whole};

/// The options that say what the bytes of a trace mean.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LayoutArgs {
    /// Format of the trace, instead of the detected one; see `flashloom trace formats`
    #[arg(long, value_name = "NAME", value_parser = format)]
    pub(crate) format: Option<Format>,

    /// Columns of a CSV or a Parquet file in no known format, e.g. time=ts:us,op=rw,offset=lba:512B,size=len:B; a column is a name in the
    /// header line or a number from 1, then a colon and its unit. Also volume=COLUMN, placement=COLUMN (the
    /// placement identifiers of writes), read=WORD/WORD, write=WORD/WORD,
    /// delimiter=comma|semicolon|tab|bar|colon|blanks, decimal=comma, header=yes|no
    #[arg(long, value_name = "COLUMNS", value_parser = columns)]
    pub(crate) columns: Option<Columns>,

    /// Unit of the trace's times, instead of the format's: s, ms, us, 100ns, ns or ps
    #[arg(long, value_name = "UNIT", value_parser = time_unit)]
    pub(crate) time_unit: Option<TimeUnit>,

    /// Unit of the trace's sizes, instead of the format's: B, 512B (a sector), 4KiB (a page) ...
    #[arg(long, value_name = "UNIT", value_parser = size_unit)]
    pub(crate) size_unit: Option<SizeUnit>,

    /// Unit of the trace's addresses, instead of the format's: B, 512B, 4KiB ...
    #[arg(long, value_name = "UNIT", value_parser = size_unit)]
    pub(crate) address_unit: Option<SizeUnit>,

    /// Refuse a trace if its units, columns or format are in doubt, instead of noting the doubt
    #[arg(long)]
    pub(crate) strict: bool,
}

impl LayoutArgs {
    /// The units of measure that the user gave.
    fn units(&self) -> NamedUnits {
        NamedUnits { time: self.time_unit, address: self.address_unit, size: self.size_unit }
    }
}

/// Facts about a trace that the trace itself does not have.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ReadingArgs {
    #[command(flatten)]
    pub(crate) layout: LayoutArgs,

    /// Shorten longer gaps between requests of the trace to this time
    #[arg(long, value_name = "TIME")]
    pub(crate) gap_limit: Option<Span>,

    /// The most by which a time of the trace may lie behind the latest time before it [default: 1s]; such requests are
    /// sorted
    #[arg(long, value_name = "TIME")]
    pub(crate) tolerance: Option<Span>,
}

impl ReadingArgs {
    /// Refuses these options, and the others in `also`, if no workload is a trace.
    pub(crate) fn check(&self, traces: bool, also: &[(&str, bool)]) -> Result<(), Failure> {
        let own = [
            ("--format", self.layout.format.is_some()),
            ("--columns", self.layout.columns.is_some()),
            ("--time-unit", self.layout.time_unit.is_some()),
            ("--size-unit", self.layout.size_unit.is_some()),
            ("--address-unit", self.layout.address_unit.is_some()),
            ("--strict", self.layout.strict),
            ("--gap-limit", self.gap_limit.is_some()),
            ("--tolerance", self.tolerance.is_some()),
        ];
        let given = own.iter().chain(also).filter(|(_, given)| *given && !traces);
        let lines: Vec<String> = given
            .map(|(option, _)| {
                format!("{option}: has no effect here: no workload is a trace; leave it out, or run a trace")
            })
            .collect();
        if lines.is_empty() { Ok(()) } else { Err(Failure::Input(lines.join("\n"))) }
    }

    /// Puts these options where a run has them.
    pub(crate) fn apply(&self, to: &mut ReadingSpec) {
        let layout = &self.layout;
        to.format = layout.format.map(|format| format.name().into()).or_else(|| to.format.take());
        to.columns = layout.columns.as_ref().map(ToString::to_string).or_else(|| to.columns.take());
        to.time_unit = layout.time_unit.map(|unit| unit.to_string()).or_else(|| to.time_unit.take());
        to.size_unit = layout.size_unit.map(|unit| unit.to_string()).or_else(|| to.size_unit.take());
        to.address_unit = layout.address_unit.map(|unit| unit.to_string()).or_else(|| to.address_unit.take());
        to.strict = layout.strict.then_some(true).or(to.strict);
        to.gap_limit = self.gap_limit.or(to.gap_limit);
        to.tolerance = self.tolerance.or(to.tolerance);
    }
}

/// The requests of a trace that are read.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PartArgs {
    /// Read only the requests of this volume of a trace
    #[arg(long, value_name = "NAME")]
    pub(crate) volume: Option<String>,

    /// Skip this many requests at the start of a trace
    #[arg(long, value_name = "N", value_parser = whole(0, u64::MAX))]
    pub(crate) skip: Option<u64>,
}

/// How a trace fits a drive.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct FitArgs {
    /// How to place several volumes of a trace: single (an error), overlay (all in one address space) or
    /// stride:SIZE (one behind the other, SIZE apart)
    #[arg(long, value_name = "RULE", default_value = "single")]
    pub(crate) volumes: VolumeRule,

    /// How to treat addresses of a trace beyond the drive: error, wrap (start again at the first sector) or
    /// compact (close the gaps between the addresses in use)
    #[arg(long, value_name = "RULE", default_value = "error", value_parser = extent)]
    pub(crate) extent: ExtentRule,
}

/// The options for reading a trace for one drive.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Reading traces")]
pub(crate) struct TraceArgs {
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    #[command(flatten)]
    pub(crate) part: PartArgs,

    #[command(flatten)]
    pub(crate) fit: FitArgs,

    /// The event that stands for a request in files of blktrace, blkparse and tracepoints: auto, queue, issue or complete
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = event)]
    pub(crate) event: Event,

    /// Play the trace this many times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1, u32::MAX))]
    pub(crate) repeat: u32,
}

impl TraceArgs {
    /// Puts these options where a run has them, unless they are the defaults.
    pub(crate) fn apply(&self, to: &mut ReadingSpec) {
        let Self { reading, part, fit, event, repeat } = self;
        let plain = TraceOptions::default();
        reading.apply(to);
        to.skip = part.skip;
        to.volume.clone_from(&part.volume);
        to.volumes = (fit.volumes != plain.volumes).then(|| fit.volumes.to_string());
        to.extent = (fit.extent != plain.extent).then(|| fit.extent.name().into());
        to.event = (*event != plain.event).then(|| event.name().into());
        to.repeat = (*repeat != plain.repeat).then_some(*repeat);
    }

    pub(crate) fn options(&self) -> TraceOptions {
        let Self { reading, part, fit, event, repeat } = self;
        TraceOptions {
            format: reading.layout.format,
            columns: reading.layout.columns.clone(),
            units: reading.layout.units(),
            strict: reading.layout.strict,
            volume: part.volume.clone(),
            volumes: fit.volumes,
            event: *event,
            tolerance: reading.tolerance.unwrap_or(TraceOptions::default().tolerance),
            gap_limit: reading.gap_limit,
            skip: part.skip.unwrap_or(0),
            repeat: *repeat,
            extent: fit.extent,
            ..TraceOptions::default()
        }
    }
}

/// The excerpt of a trace that a command reads.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ExcerptArgs {
    #[command(flatten)]
    pub(crate) layout: LayoutArgs,

    #[command(flatten)]
    pub(crate) part: PartArgs,

    /// Stop after this many requests
    #[arg(long, value_name = "N", value_parser = whole(1, u64::MAX))]
    pub(crate) limit: Option<u64>,
}

impl ExcerptArgs {
    pub(crate) fn options(&self) -> TraceOptions {
        let Self { layout, part, limit } = self.clone();
        TraceOptions {
            format: layout.format,
            units: layout.units(),
            strict: layout.strict,
            columns: layout.columns,
            volume: part.volume,
            skip: part.skip.unwrap_or(0),
            limit,
            ..TraceOptions::default()
        }
    }
}
