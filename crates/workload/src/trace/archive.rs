//! A tar of traces: its members are files of one recording (the CPUs of blktrace, the volumes of a server, the parts of a
//! long trace) and are merged by time.
//!
//! Members may be compressed, each in its way. Those that are no trace (a licence, a README) are passed over and named
//! in the notes. All others must be of one format. Members are read side by side, so a tar that is compressed or comes
//! from a pipe is first unpacked into an anonymous temporary file.

use std::path::PathBuf;

use super::blktrace;
use super::input::{Input, open_file};
use super::merge::{Merged, Part};
use super::record::{Context, Records};
use super::stored::{Stored, unkept};
use super::{Format, TraceOptions};
use crate::SourceError;

/// Bytes of a block of a tar; the first is the header of the first member.
const BLOCK: usize = 512;
/// Members at most: each is read through a buffer of its own.
const MOST: usize = 1_000;

/// True for the first bytes of a tar. A header carries the sum of its own bytes in octal, that field itself counted as
/// blanks.
pub(crate) fn looks(head: &[u8]) -> bool {
    let Some(header) = head.get(..BLOCK) else { return false };
    let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
    let field = &header[148..156];
    let own: u64 = field.iter().map(|byte| u64::from(*byte)).sum();
    let digits = field.split(|byte| *byte == 0).next().unwrap_or_default().trim_ascii();
    let said = std::str::from_utf8(digits).ok().and_then(|digits| u64::from_str_radix(digits, 8).ok());
    header[0] != 0 && said == Some(sum - own + 8 * u64::from(b' '))
}

/// Opens the members of a tar.
pub(crate) fn open(
    mut input: Input,
    options: &TraceOptions,
    context: &mut Context,
) -> Result<(Format, Box<dyn Records>), SourceError> {
    let path = input.path().to_path_buf();
    let damaged = |error: &std::io::Error| {
        SourceError::new(format!("the tar is damaged or cut short ({error})"), "fetch it again, or test it with `tar -tf`")
            .in_file(&path)
    };
    let stored = if input.is_plain_file() {
        Stored::of(open_file(&path)?).map_err(|error| damaged(&error))?
    } else {
        let file = input.spool()?;
        Stored::of(file).map_err(|error| unkept(&path, &error))?
    };
    let members = members(&stored).map_err(|error| damaged(&error))?;
    if members.len() > MOST {
        let message = format!("the tar holds {} files; {MOST} are read at most", members.len());
        return Err(SourceError::new(message, "unpack it and read a part").in_file(&path));
    }
    let named = options.known_format()?;
    let mut found: Vec<(String, Format, Input)> = Vec::new();
    let mut strangers = Vec::new();
    for (name, from, len) in members {
        let mut shown = path.clone().into_os_string();
        shown.push(format!(":{name}"));
        let mut member = Input::stream(PathBuf::from(shown), Box::new(stored.piece(from, len)))?;
        if member.head()?.is_empty() {
            continue;
        }
        match named.map_or_else(|| Format::of(&mut member), |named| Ok(Some(named)))? {
            Some(format) => found.push((name, format, member)),
            None => strangers.push(name),
        }
    }
    let Some((first, format)) = found.first().map(|(name, format, _)| (name.clone(), *format)) else {
        let message = format!("the tar holds no file of a known format{}", listing(&strangers));
        return Err(SourceError::new(message, "unpack it, and name the format of the trace with --format").in_file(&path));
    };
    if let Some((other, of, _)) = found.iter().find(|(_, of, _)| *of != format) {
        let message = format!("the tar holds traces of two formats: {first} is {format}, {other} is {of}");
        return Err(SourceError::new(message, "unpack it and read one at a time").in_file(&path));
    }
    context.stats.members = found.len() as u64;
    context.stats.strangers = strangers;
    if format == Format::Blktrace {
        let records = blktrace::open_all(found.into_iter().map(|(_, _, input)| input).collect(), options, context)?;
        return Ok((format, records));
    }
    let alone = found.len() == 1;
    let mut parts = Vec::new();
    for (name, format, input) in found {
        let path = input.path().to_path_buf();
        let volume = if alone { Vec::new() } else { name.into_bytes() };
        parts.push(Part { path, volume, records: format.open_surveyed(named.is_none(), input, options, context)? });
    }
    Ok((format, Box::new(Merged::new(parts))))
}

/// The files of a tar: name, beginning, length.
fn members(stored: &Stored) -> std::io::Result<Vec<(String, u64, u64)>> {
    let mut members = Vec::new();
    for entry in tar::Archive::new(stored.again()).entries_with_seek()? {
        let entry = entry?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        match entry.header().entry_type() {
            tar::EntryType::Regular | tar::EntryType::Continuous => {
                let (from, len) = (entry.raw_file_position(), entry.size());
                if !stored.holds(from, len) {
                    return Err(std::io::Error::other(format!("{name} is not there whole")));
                }
                members.push((name, from, len));
            }
            tar::EntryType::GNUSparse => return Err(std::io::Error::other(format!("{name} has holes"))),
            _ => {}
        }
    }
    Ok(members)
}

fn listing(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [first, rest @ ..] if rest.is_empty() => format!(", only {first}"),
        [first, rest @ ..] => format!(", only {first} and {} more", rest.len()),
    }
}
