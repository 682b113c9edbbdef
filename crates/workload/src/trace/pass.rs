//! One pass over a file: sorted, from the first request selected to the last, with times from zero.

use std::path::PathBuf;

use base::io::{Io, PlacementId};
use base::units::{Lba, Sectors, Time};

use super::archive::Archive;
use super::doubt::Doubt;
use super::order::OrderedRequests;
use super::record::{Context, TraceRecord};
use super::stored::{Inputs, TraceFile};
use super::{Format, TraceOptions, blktrace, cpus};
use crate::{Pacing, SourceError};

/// A request of a pass. Its address is in the address space of its volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimedRequest {
    pub(crate) at: Time,
    pub(crate) io: Io,
    pub(crate) queue: Option<u16>,
    pub(crate) volume: u32,
    pub(crate) part: u16,
    pub(crate) line: u64,
}

/// One pass over a file.
pub(crate) struct Pass {
    path: PathBuf,
    ordered: OrderedRequests,
    format: Format,
    binary: bool,
    skip: u64,
    left: u64,
    gap_limit: Option<i128>,
    /// The time stamp that counts as zero. Every shortened gap makes it later.
    zero: i128,
    previous: Option<i128>,
}

impl Pass {
    pub(crate) fn open(file: &TraceFile, options: &TraceOptions, context: &mut Context) -> Result<Self, SourceError> {
        let (format, records) = match file.inputs()? {
            Inputs::One(mut input) => {
                if let Some(archive) = Archive::of(input.head()?) {
                    archive.open(input, options, context)?
                } else {
                    let named = options.known_format()?;
                    let format = named.map_or_else(|| Format::detect(&mut input), Ok)?;
                    let siblings = cpus::siblings(file.path()).filter(|_| format == Format::Blktrace);
                    if let Some(files) = siblings {
                        context.doubt(Doubt::Cpus { files: files as u64 });
                    }
                    (format, format.open_surveyed(named.is_none(), input, options, context)?)
                }
            }
            Inputs::Cpus(inputs) => (Format::Blktrace, blktrace::open_all(inputs, options, context)?),
        };
        if options.strict
            && let Some(doubt) = context.doubts.first()
        {
            let more = match context.doubts.len() {
                1 => String::new(),
                count => format!(" (and {} more doubts)", count - 1),
            };
            let remedy = "leave out --strict to read it with this note";
            return Err(SourceError::new(format!("{doubt}{more}"), remedy).in_file(&file.shown()));
        }
        Ok(Self {
            path: file.shown(),
            binary: records.is_binary(),
            ordered: OrderedRequests::new(records, options.tolerance, options.window),
            format,
            skip: options.skip,
            left: options.limit.unwrap_or(u64::MAX),
            gap_limit: options.gap_limit.map(|gap| i128::from(gap.as_ps())),
            zero: 0,
            previous: None,
        })
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    pub(crate) fn pacing(&self) -> Pacing {
        self.ordered.records().pacing()
    }

    pub(crate) fn len_hint(&self) -> Option<u64> {
        self.ordered.records().len_hint()
    }

    /// An error at a place in the file.
    #[cold]
    pub(crate) fn error(
        &self,
        (part, line): (u16, u64),
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> SourceError {
        let message = message.into();
        let path = self.ordered.records().path_of(part).unwrap_or(&self.path);
        if self.binary {
            SourceError::new(format!("record {line}: {message}"), remedy).in_file(path)
        } else {
            SourceError::new(message, remedy).in_file(path).at_line(line)
        }
    }

    /// The next request; `None` at the end. A pass without any request is an error.
    #[inline]
    pub(crate) fn next(&mut self, context: &mut Context) -> Result<Option<TimedRequest>, SourceError> {
        if self.left == 0 {
            return Ok(None);
        }
        while self.skip > 0 {
            match self.pull(context)? {
                Some(_) => self.skip -= 1,
                None => return self.nothing(context).map(|()| None),
            }
        }
        let Some(record) = self.pull(context)? else {
            return if self.previous.is_some() { Ok(None) } else { self.nothing(context).map(|()| None) };
        };
        self.left -= 1;
        let at = self.rebase(&record, context)?;
        let io = Io {
            placement: PlacementId::new(record.placement),
            ..Io::new(record.kind, Lba::new(record.start), Sectors::new(u64::from(record.sectors)))
        };
        Ok(Some(TimedRequest {
            at,
            io,
            queue: record.queue,
            volume: record.volume,
            part: record.part,
            line: record.line,
        }))
    }

    #[inline]
    fn pull(&mut self, context: &mut Context) -> Result<Option<TraceRecord>, SourceError> {
        self.ordered.next(context).map_err(|error| match (error.path(), error.line()) {
            (None, Some(line)) => self.error((0, line), error.message(), error.remedy()),
            _ => error,
        })
    }

    #[inline]
    fn rebase(&mut self, record: &TraceRecord, context: &mut Context) -> Result<Time, SourceError> {
        match self.previous {
            None => self.zero = record.at,
            Some(previous) => {
                if let Some(limit) = self.gap_limit
                    && record.at - previous > limit
                {
                    self.zero += record.at - previous - limit;
                    context.stats.shortened_gaps += 1;
                }
            }
        }
        self.previous = Some(record.at);
        u64::try_from(record.at - self.zero).map(Time::from_ps).map_err(|_| {
            let days = (record.at - self.zero) / (86_400 * 1_000_000_000_000);
            self.error(
                (record.part, record.line),
                format!("it comes {days} days after the first request; simulated time ends after 213"),
                context.with_doubts(
                    "if somebody set the clock during the recording, shorten the gap with --gap-limit, or cut the file here",
                ),
            )
        })
    }

    /// The error for a pass without requests: an empty result would look like an idle device.
    #[cold]
    fn nothing(&self, context: &Context) -> Result<(), SourceError> {
        let stats = &context.stats;
        let (message, remedy) = if stats.requests == 0 {
            let passed = stats.blank + stats.comments + stats.headers + stats.other_events + stats.empty;
            (
                format!("holds no request ({passed} lines or records skipped) as {}", self.format),
                "check that it is the right file, or name another format with --format".to_owned(),
            )
        } else if stats.other_volumes == stats.requests {
            (
                "holds no request of the volume asked for".to_owned(),
                format!("choose one of its volumes with --volume: {}", context.volumes.listing()),
            )
        } else {
            (
                format!("holds {} requests, and all were skipped", stats.requests - stats.other_volumes),
                "skip fewer with --skip".to_owned(),
            )
        };
        Err(SourceError::new(message, remedy).in_file(&self.path))
    }
}
