//! The signs by which each format is recognized, its reader and a sample; the detection from the first bytes.

use super::Format;
use crate::SourceError;
use crate::trace::field::printable;
use crate::trace::head::Head;
use crate::trace::input::Input;
use crate::trace::record::{Context, Records};
use crate::trace::{
    Event, TraceOptions, alibaba, blkparse, blkreplay, blktrace, bpftrace, cloudphysics, csv, disksim, disksim_valid,
    fiu,
};
use crate::trace::{
    iolog, msr, nexus5, oracle_general, parquet, profile, snoop, spc, survey, systor, tencent, text, thesios,
    tracepoints, vscsi,
};
use crate::trace::{table, wiscsee, wpa};

type OpenFunction = fn(Input, Format, &TraceOptions, &mut Context) -> Result<Box<dyn Records>, SourceError>;

macro_rules! readers {
    ($($name:ident, $looks:expr, $open:expr, $sample:expr;)*) => {
        impl Format {
            fn looks_like(self, head: &Head<'_>) -> bool {
                match self { $(Self::$name => $looks(head)),* }
            }

            fn opener(self) -> OpenFunction {
                match self { $(Self::$name => $open),* }
            }

            /// A small valid file for examples and tests; `None` for a format that only
            /// [`convert`](fn@crate::trace::convert) writes.
            #[must_use]
            pub fn sample(self) -> Option<Vec<u8>> {
                match self { $(Self::$name => $sample),* }
            }
        }
    };
}

/// The first remedy for an unknown format.
const NAME_IT: &str = "name it with --format (`flashloom trace formats` lists them)";

readers! {
    Parquet, parquet::looks, parquet::open, None;
    Blktrace, blktrace::looks, blktrace::open, Some(blktrace::sample());
    Vscsi, vscsi::looks, vscsi::open, Some(vscsi::sample());
    Iolog, iolog::looks, text::open::<iolog::Iolog>, lines(iolog::SAMPLE);
    Blkreplay, blkreplay::looks, text::open::<blkreplay::Blkreplay>, lines(blkreplay::SAMPLE);
    Wpa, wpa::looks, text::open::<wpa::Wpa>, lines(wpa::SAMPLE);
    DisksimLog, disksim_valid::looks_log, text::open::<disksim_valid::DisksimLog>, lines(disksim_valid::LOG);
    Thesios, thesios::looks, text::open::<thesios::Thesios>, lines(thesios::SAMPLE);
    Alibaba, alibaba::looks, text::open::<alibaba::Alibaba>, lines(alibaba::SAMPLE);
    LibCacheSim, cloudphysics::looks_seconds, text::open::<cloudphysics::CloudPhysics>, lines(cloudphysics::SECONDS);
    CloudPhysics, cloudphysics::looks, text::open::<cloudphysics::CloudPhysics>, lines(cloudphysics::SAMPLE);
    Systor, systor::looks, text::open::<systor::Systor>, lines(systor::SAMPLE);
    Msr, msr::looks, text::open::<msr::Msr>, lines(msr::SAMPLE);
    Spc, spc::looks, text::open::<spc::Spc>, lines(spc::SAMPLE);
    Tencent, tencent::looks, text::open::<tencent::Tencent>, lines(tencent::SAMPLE);
    Blkparse, blkparse::looks, text::open::<blkparse::Blkparse>, lines(blkparse::SAMPLE);
    Tracepoints, tracepoints::looks, text::open::<tracepoints::Tracepoints>, lines(tracepoints::SAMPLE);
    Snoop, snoop::looks, text::open::<snoop::Snoop>, lines(snoop::SAMPLE);
    Bpftrace, bpftrace::looks, text::open::<bpftrace::Bpftrace>, lines(bpftrace::SAMPLE);
    Wiscsee, wiscsee::looks, text::open::<wiscsee::Wiscsee>, lines(wiscsee::SAMPLE);
    DisksimValidate, disksim_valid::looks_validate, text::open::<disksim_valid::DisksimValidate>, lines(disksim_valid::VALIDATE);
    Fiu, fiu::looks, text::open::<fiu::Fiu>, lines(fiu::SAMPLE);
    Nexus5, nexus5::looks, text::open::<nexus5::Nexus5>, lines(nexus5::SAMPLE);
    Disksim, disksim::looks_disksim, text::open::<disksim::Disksim>, lines(disksim::SAMPLE);
    Mqsim, disksim::looks_mqsim, text::open::<disksim::Disksim>, lines(disksim::MQSIM);
    Ssdsim, never, text::open::<disksim::Disksim>, lines(disksim::MQSIM);
    DisksimPages, never, text::open::<disksim::Disksim>, lines(disksim::PAGES);
    OracleGeneral, oracle_general::looks, oracle_general::open, Some(oracle_general::sample());
    Csv, never, table::open, lines(csv::SAMPLE);
}

fn lines(text: &str) -> Option<Vec<u8>> {
    Some(text.as_bytes().to_vec())
}

/// The detection function of formats that a user has to name.
fn never(_: &Head<'_>) -> bool {
    false
}

impl Format {
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
            Some(line) => format!("the first line is `{}`", printable(line)),
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
