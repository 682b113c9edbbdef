//! The bytes of a trace in one buffer, read line by line or record by record without an allocation for either.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::compress::{self, Compression};
use super::stored;
use crate::SourceError;

/// The number of bytes of one read from the file.
const CHUNK: usize = 256 << 10;
/// The number of bytes of a file from which its format is detected.
pub(crate) const HEAD: usize = 64 << 10;
/// The most bytes of a line. No known text format has longer lines; a longer one is binary data read as text.
const LONGEST_LINE: usize = 64 << 10;

/// A mark that some programs write before text in UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// An open trace file, decompressed.
pub(crate) struct Input {
    path: PathBuf,
    plain: Box<dyn Read + Send>,
    compression: Compression,
    /// True if the bytes are those of the file at `path` itself.
    plain_file: bool,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    count: u64,
}

impl Input {
    pub(crate) fn open(path: &Path) -> Result<Self, SourceError> {
        let file = open_file(path)?;
        let whole = file.metadata().is_ok_and(|meta| meta.is_file());
        let mut input = Self::stream(path.to_path_buf(), Box::new(file))?;
        input.plain_file = whole && !input.is_compressed();
        Ok(input)
    }

    /// Reads a stream; messages name it `path`.
    pub(crate) fn stream(path: PathBuf, raw: Box<dyn Read + Send>) -> Result<Self, SourceError> {
        let (compression, plain) = compress::open(raw).map_err(|e| {
            SourceError::new(format!("cannot be read: {e}"), "check the file and its permissions").in_file(&path)
        })?;
        Ok(Self {
            path,
            plain,
            compression,
            plain_file: false,
            buffer: vec![0; CHUNK],
            start: 0,
            end: 0,
            ended: false,
            count: 0,
        })
    }

    /// Creates an input of the first bytes of a file only.
    pub(crate) fn of_head(path: &Path, head: &[u8]) -> Self {
        Self {
            path: path.to_path_buf(),
            plain: Box::new(std::io::empty()),
            compression: Compression::None,
            plain_file: false,
            buffer: head.to_vec(),
            start: 0,
            end: head.len(),
            ended: true,
            count: 0,
        }
    }

    /// True if the bytes are those of the file at the path, neither decompressed nor a part of it.
    pub(crate) fn is_plain_file(&self) -> bool {
        self.plain_file
    }

    /// Writes all remaining bytes to an anonymous temporary file.
    pub(crate) fn spool(&mut self) -> Result<File, SourceError> {
        let mut rest = RemainingBytes { input: self, failed: None };
        match stored::spool(&mut rest) {
            Ok(file) => Ok(file),
            Err(error) => Err(rest.failed.take().unwrap_or_else(|| stored::unkept(&self.path, &error))),
        }
    }

    /// Skips the mark that some programs write before text in UTF-8.
    pub(crate) fn skip_byte_order_mark(&mut self) -> Result<(), SourceError> {
        if self.head()?.starts_with(BYTE_ORDER_MARK) {
            self.start += BYTE_ORDER_MARK.len();
        }
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_compressed(&self) -> bool {
        self.compression != Compression::None
    }

    /// The number of lines or records taken: the last record's number, counted from one.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The next bytes without taking them: [`HEAD`] bytes, or fewer if the file ends.
    pub(crate) fn head(&mut self) -> Result<&[u8], SourceError> {
        while self.end - self.start < HEAD && !self.ended {
            self.fill()?;
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + HEAD)])
    }

    /// The next line without its end (`\n` or `\r\n`); `None` at the end of the file.
    #[inline]
    pub(crate) fn line(&mut self) -> Result<Option<&[u8]>, SourceError> {
        let mut searched = self.start;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                let (from, to) = (self.start, searched + at);
                self.start = to + 1;
                self.count += 1;
                return Ok(Some(without_return(&self.buffer[from..to])));
            }
            if self.ended {
                if self.start == self.end {
                    return Ok(None);
                }
                let from = self.start;
                self.start = self.end;
                self.count += 1;
                return Ok(Some(without_return(&self.buffer[from..self.end])));
            }
            let held = self.end - self.start;
            if held > LONGEST_LINE {
                return Err(SourceError::new(
                    format!("a line of more than {LONGEST_LINE} bytes: this is not a text trace"),
                    "name the format with --format",
                )
                .in_file(&self.path)
                .at_line(self.count + 1));
            }
            self.fill()?;
            searched = self.start + held;
        }
    }

    /// The next `bytes` bytes, at most [`HEAD`]; `None` at the end of the file.
    pub(crate) fn record(&mut self, bytes: usize) -> Result<Option<&[u8]>, SourceError> {
        if !self.want(bytes)? {
            return Ok(None);
        }
        let from = self.start;
        self.start += bytes;
        self.count += 1;
        Ok(Some(&self.buffer[from..from + bytes]))
    }

    /// Skips bytes that belong to the last record.
    pub(crate) fn pass_over(&mut self, bytes: usize) -> Result<(), SourceError> {
        if bytes > 0 && !self.want(bytes)? {
            return Err(self.cut(0, bytes));
        }
        self.start += bytes;
        Ok(())
    }

    /// True if this many bytes are in the buffer, false at the end of the file; an error if the file ends in between.
    fn want(&mut self, bytes: usize) -> Result<bool, SourceError> {
        while self.end - self.start < bytes && !self.ended {
            self.fill()?;
        }
        match self.end - self.start {
            held if held >= bytes => Ok(true),
            0 => Ok(false),
            held => Err(self.cut(held, bytes)),
        }
    }

    fn cut(&self, held: usize, bytes: usize) -> SourceError {
        SourceError::new(
            format!(
                "the file is cut short: after record {} only {held} bytes are left where {bytes} belong",
                self.count
            ),
            "fetch the file again",
        )
        .in_file(&self.path)
    }

    #[cold]
    fn fill(&mut self) -> Result<(), SourceError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() - self.end < CHUNK / 2 {
            self.buffer.resize(self.buffer.len() + CHUNK, 0);
        }
        loop {
            match self.plain.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(());
                }
                Ok(n) => {
                    self.end += n;
                    return Ok(());
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.unreadable(&e)),
            }
        }
    }

    fn unreadable(&self, e: &std::io::Error) -> SourceError {
        let (name, test) = self.compression.tool();
        let error = if self.is_compressed() {
            SourceError::new(
                format!("the {name} data is damaged or cut short ({e})"),
                format!("fetch the file again and test it with `{test} FILE`"),
            )
        } else {
            SourceError::new(format!("cannot be read: {e}"), "check the file and the disk it is on")
        };
        error.in_file(&self.path).at_line(self.count + 1)
    }
}

struct RemainingBytes<'a> {
    input: &'a mut Input,
    /// The error that ended the input. An I/O error could not carry its text.
    failed: Option<SourceError>,
}

impl Read for RemainingBytes<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let input = &mut *self.input;
        if input.start == input.end
            && !input.ended
            && let Err(error) = input.fill()
        {
            self.failed = Some(error);
            return Err(std::io::Error::other("the rest cannot be read"));
        }
        let count = into.len().min(input.end - input.start);
        into[..count].copy_from_slice(&input.buffer[input.start..input.start + count]);
        input.start += count;
        Ok(count)
    }
}

/// Opens a file for reading, with a clear message for each kind of failure.
pub(crate) fn open_file(path: &Path) -> Result<File, SourceError> {
    let (message, remedy) = match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => ("is a directory".into(), "name one trace file inside it".into()),
        Ok(_) => match File::open(path) {
            Ok(file) => return Ok(file),
            Err(e) => crate::unreadable(path, &e),
        },
        Err(e) => crate::unreadable(path, &e),
    };
    Err(SourceError::new(message, remedy).in_file(path))
}

#[inline]
fn without_return(line: &[u8]) -> &[u8] {
    match line {
        [rest @ .., b'\r'] => rest,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn compressed(kind: Compression, text: &[u8]) -> Vec<u8> {
        match kind {
            Compression::None => text.to_vec(),
            Compression::Gzip => {
                let mut w = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                w.write_all(text).unwrap();
                w.finish().unwrap()
            }
            Compression::Bzip2 => {
                let mut w = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                w.write_all(text).unwrap();
                w.finish().unwrap()
            }
            Compression::Xz => {
                let mut w = liblzma::write::XzEncoder::new(Vec::new(), 1);
                w.write_all(text).unwrap();
                w.finish().unwrap()
            }
            Compression::Zstd => zstd::encode_all(text, 1).unwrap(),
        }
    }

    const ALL: [Compression; 5] =
        [Compression::None, Compression::Gzip, Compression::Bzip2, Compression::Xz, Compression::Zstd];

    fn lines(path: &Path) -> Result<Vec<String>, SourceError> {
        let mut input = Input::open(path)?;
        let mut lines = Vec::new();
        while let Some(line) = input.line()? {
            lines.push(String::from_utf8_lossy(line).into_owned());
        }
        assert_eq!(input.count(), lines.len() as u64);
        Ok(lines)
    }

    #[test]
    fn every_compression_yields_whole_lines_across_members() {
        let text: String = (0..60_000).map(|n| format!("line {n}\r\n")).collect();
        let (first, second) = text.as_bytes().split_at(text.len() / 2);
        for kind in ALL {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(&compressed(kind, first)).unwrap();
            file.write_all(&compressed(kind, second)).unwrap();
            let lines = lines(file.path()).unwrap();
            assert_eq!(lines.len(), 60_000, "{kind:?}");
            assert_eq!(lines[59_999], "line 59999");
        }
    }

    #[test]
    fn damaged_compressed_data_is_an_error_and_not_an_end() {
        let text: String = (0..60_000).map(|n| format!("line {}\n", n * 7919 % 10_007)).collect();
        for kind in &ALL[1..] {
            let whole = compressed(*kind, text.as_bytes());
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(&whole[..whole.len() * 2 / 3]).unwrap();
            let error = lines(file.path()).unwrap_err();
            assert!(error.message().contains(kind.tool().0), "{kind:?}: {error}");
            assert!(error.remedy().contains(kind.tool().1), "{kind:?}: {error}");
        }
    }

    #[test]
    fn a_path_that_is_no_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let error = Input::open(dir.path()).err().unwrap();
        assert_eq!(error.message(), "is a directory");
        let error = Input::open(&dir.path().join("none")).err().unwrap();
        assert_eq!(error.message(), "cannot be read: there is no such file");
    }

    #[test]
    fn a_last_line_needs_no_end_and_an_endless_line_is_refused() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"a\n\nb").unwrap();
        assert_eq!(lines(file.path()).unwrap(), ["a", "", "b"]);
        file.write_all(&vec![b'x'; 1 << 20]).unwrap();
        assert_eq!(lines(file.path()).unwrap_err().line(), Some(3));
    }
}
