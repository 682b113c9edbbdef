//! Small files for the tests of the formats.

use std::io::Write;

use super::input::Input;
use super::record::{Context, TraceRecord};
use super::{Format, TraceOptions};
use crate::SourceError;

pub(crate) fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// The records of a file, in the order of the file.
pub(crate) fn try_read(format: Format, bytes: &[u8]) -> Result<(Vec<TraceRecord>, Context), SourceError> {
    try_read_bytes(format, bytes, &TraceOptions::default())
}

/// Reads the records of a file with these options.
pub(crate) fn try_read_with(
    format: Format,
    text: &str,
    options: &TraceOptions,
) -> Result<(Vec<TraceRecord>, Context), SourceError> {
    try_read_bytes(format, text.as_bytes(), options)
}

fn try_read_bytes(
    format: Format,
    bytes: &[u8],
    options: &TraceOptions,
) -> Result<(Vec<TraceRecord>, Context), SourceError> {
    let file = file(bytes);
    let mut context = Context::new(options);
    let mut records = format.open(Input::open(file.path())?, options, &mut context)?;
    let mut out = Vec::new();
    while let Some(record) = records.next(&mut context)? {
        out.push(record);
    }
    Ok((out, context))
}

pub(crate) fn read_bytes(format: Format, bytes: &[u8]) -> (Vec<TraceRecord>, Context) {
    assert_eq!(detected_bytes(bytes), Some(format));
    try_read(format, bytes).unwrap()
}

pub(crate) fn read(format: Format, text: &str) -> (Vec<TraceRecord>, Context) {
    try_read(format, text.as_bytes()).unwrap()
}

/// The text of the error for a file.
pub(crate) fn fault(format: Format, text: &str) -> String {
    match try_read(format, text.as_bytes()) {
        Ok((records, _)) => panic!("{} records and no fault", records.len()),
        Err(error) => error.to_string(),
    }
}

pub(crate) fn detected_bytes(bytes: &[u8]) -> Option<Format> {
    Format::detect(&mut Input::open(file(bytes).path()).unwrap()).ok()
}

pub(crate) fn detected(text: &str) -> Option<Format> {
    detected_bytes(text.as_bytes())
}
