//! Shared code of the text formats: the loop over lines.

use super::field::FieldFault;
use super::head::Head;
use super::input::Input;
use super::record::{Context, Records, Skip, TraceRecord};
use super::{Format, TraceOptions};
use crate::{Pacing, SourceError};

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LineContent {
    Request(TraceRecord),
    /// A flush at the same time, then the request: a write with a preflush.
    FlushThen(TraceRecord),
    /// The line has no request.
    Skip(Skip),
}

/// A format with at most one request per line.
pub(crate) trait LineFormat: Sized + Send + 'static {
    /// The fields of a line, for messages.
    const LAYOUT: &'static str;

    /// The state of the reader before the first line.
    fn start(
        head: &Head<'_>,
        format: Format,
        options: &TraceOptions,
        context: &mut Context,
    ) -> Result<Self, FieldFault>;

    /// Parses one line that is neither blank nor a comment. The reader fills in its number.
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Result<LineContent, FieldFault>;

    /// The pacing of the requests, unless the user gives another.
    fn pacing(&self) -> Pacing {
        Pacing::Open
    }
}

struct Text<F> {
    input: Input,
    parser: F,
    format: Format,
    pending: Option<TraceRecord>,
}

/// Opens a file with lines of format `F`.
pub(crate) fn open<F: LineFormat>(
    mut input: Input,
    format: Format,
    options: &TraceOptions,
    context: &mut Context,
) -> Result<Box<dyn Records>, SourceError> {
    let path = input.path().to_path_buf();
    refuse_wide(&mut input)?;
    input.skip_byte_order_mark()?;
    let head = Head::of(input.head()?);
    let parser = F::start(&head, format, options, context).map_err(|fault| {
        let remedy = format!(
            "{} lines are `{}`: correct the file, or name another format with --format",
            format.name(),
            F::LAYOUT
        );
        SourceError::new(fault.message(), remedy).in_file(&path)
    })?;
    Ok(Box::new(Text { input, parser, format, pending: None }))
}

/// Refuses text in UTF-16, which some Windows programs write.
pub(crate) fn refuse_wide(input: &mut Input) -> Result<(), SourceError> {
    if matches!(input.head()?, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
        let remedy = "convert it with `iconv -f UTF-16 -t UTF-8 FILE`, or export it in UTF-8";
        return Err(SourceError::new("the text is in UTF-16, and Flashloom reads UTF-8", remedy).in_file(input.path()));
    }
    Ok(())
}

impl<F: LineFormat> Records for Text<F> {
    fn next(&mut self, context: &mut Context) -> Result<Option<TraceRecord>, SourceError> {
        if let Some(record) = self.pending.take() {
            return Ok(Some(record));
        }
        loop {
            let Some(line) = self.input.line()? else { return Ok(None) };
            // The first byte nearly always shows that the line is neither blank nor a comment.
            let skip = match line.first() {
                Some(b'#') => Some(Skip::Comment),
                Some(b) if !b.is_ascii_whitespace() => None,
                _ if line.trim_ascii().is_empty() => Some(Skip::Blank),
                _ if line.trim_ascii_start()[0] == b'#' => Some(Skip::Comment),
                _ => None,
            };
            if let Some(skip) = skip {
                context.stats.pass_over(skip);
                continue;
            }
            match self.parser.parse(line, context) {
                Ok(LineContent::Request(mut record)) => {
                    record.line = self.input.count();
                    return Ok(Some(record));
                }
                Ok(LineContent::FlushThen(mut record)) => {
                    record.line = self.input.count();
                    self.pending = Some(record);
                    return Ok(Some(TraceRecord { line: record.line, ..TraceRecord::flush(record.at, record.volume) }));
                }
                Ok(LineContent::Skip(skip)) => context.stats.pass_over(skip),
                Err(fault) => {
                    let remedy = format!(
                        "a {} line is `{}`: correct or delete this one (`#` comments it out), or name another format \
                         with --format",
                        self.format.name(),
                        F::LAYOUT
                    );
                    return Err(SourceError::new(fault.message(), remedy)
                        .in_file(self.input.path())
                        .at_line(self.input.count()));
                }
            }
        }
    }

    fn pacing(&self) -> Pacing {
        self.parser.pacing()
    }
}
