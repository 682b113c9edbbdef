//! The origin of a trace's bytes: a file, which can be read again, or a pipe, which cannot unless its bytes are kept.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::cpus;
use super::input::{Input, open_file};
use crate::SourceError;

/// The path that means standard input.
const STDIN: &str = "-";
/// The name of standard input in messages.
const STDIN_NAME: &str = "<stdin>";

/// A piece of a file. Several threads may read pieces of one file in any order; each piece has its own position.
#[derive(Clone, Debug)]
pub(crate) struct FilePiece {
    file: Arc<Mutex<File>>,
    from: u64,
    len: u64,
    at: u64,
}

impl FilePiece {
    /// Takes the whole file as a piece.
    pub(crate) fn of(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self { file: Arc::new(Mutex::new(file)), from: 0, len, at: 0 })
    }

    /// The remaining bytes of a stream, in an anonymous file that vanishes with its last reader.
    pub(crate) fn spool(stream: &mut dyn Read) -> io::Result<Self> {
        Self::of(spool(stream)?)
    }

    pub(crate) fn piece(&self, from: u64, len: u64) -> Self {
        let from = from.min(self.len);
        Self { file: Arc::clone(&self.file), from: self.from + from, len: len.min(self.len - from), at: 0 }
    }

    /// True if the piece has this many bytes from `from` on.
    pub(crate) fn holds(&self, from: u64, len: u64) -> bool {
        from.checked_add(len).is_some_and(|end| end <= self.len)
    }

    /// A copy of the piece, positioned at its beginning.
    pub(crate) fn again(&self) -> Self {
        Self { at: 0, ..self.clone() }
    }
}

impl Read for FilePiece {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.len.saturating_sub(self.at);
        let most = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        if most == 0 {
            return Ok(0);
        }
        // The file is valid even after a panic of another reader, because every read seeks first.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.from + self.at))?;
        let got = file.read(&mut into[..most])?;
        self.at += got as u64;
        Ok(got)
    }
}

impl Seek for FilePiece {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}

/// The remaining bytes of a stream in an anonymous file, positioned at its beginning.
pub(crate) fn spool(stream: &mut dyn Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(stream, &mut file)?;
    file.flush()?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// The error for a stream whose bytes could not be kept.
pub(crate) fn unkept(path: &Path, error: &io::Error) -> SourceError {
    SourceError::new(
        format!("cannot be stored for a second pass: {error}"),
        format!("free space in {}, choose another folder with TMPDIR, or give a file", std::env::temp_dir().display()),
    )
    .in_file(path)
}

/// A trace that is named but not opened.
#[derive(Clone, Debug)]
pub struct TraceFile {
    path: PathBuf,
    kept: Option<FilePiece>,
    name: Option<String>,
}

impl TraceFile {
    /// Names the trace at this path; `-` is standard input.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), kept: None, name: None }
    }

    /// The path of the trace, as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the trace another name in results than that of its file.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The name of the trace in results.
    #[must_use]
    pub fn name(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        if self.is_stdin() {
            return "stdin".to_owned();
        }
        self.path.file_stem().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }

    /// True if no file exists at the path. A file that exists and cannot be read is not missing.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        let is_there = |path: &Path| path.symlink_metadata().is_ok() || path.try_exists().is_err();
        self.kept.is_none() && !self.is_stdin() && !cpus::files(&self.path).iter().any(|file| is_there(file))
    }

    fn is_stdin(&self) -> bool {
        self.path.as_os_str() == STDIN
    }

    /// True for a pipe whose bytes are not kept, so that it can be read only once.
    #[must_use]
    pub fn is_once(&self) -> bool {
        let pipe = || std::fs::metadata(&self.path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
        self.kept.is_none() && (self.is_stdin() || pipe())
    }

    /// Reads a pipe to its end into an anonymous temporary file, so that it can be read again. Files are left alone.
    ///
    /// # Errors
    /// If the pipe cannot be read, or there is no room for its bytes.
    pub fn keep(&mut self) -> Result<(), SourceError> {
        if self.is_once() {
            let mut stream = self.stream()?;
            self.kept = Some(FilePiece::spool(&mut stream).map_err(|error| unkept(&self.shown(), &error))?);
        }
        Ok(())
    }

    /// The bytes of each of the trace's files, compressed or not, as they are on disk. The bytes of a pipe that is not
    /// kept are lost afterwards.
    ///
    /// # Errors
    ///
    /// If a file cannot be opened.
    pub fn bytes(&self) -> Result<Vec<Box<dyn Read + Send>>, SourceError> {
        if let Some(kept) = &self.kept {
            return Ok(vec![Box::new(kept.again())]);
        }
        if self.is_once() {
            return Ok(vec![self.stream()?]);
        }
        let open = |path: &PathBuf| -> Result<Box<dyn Read + Send>, SourceError> { Ok(Box::new(open_file(path)?)) };
        cpus::files(&self.path).iter().map(open).collect()
    }

    /// The files of the trace, each positioned at its beginning: a single file, or those of the CPUs of a recording.
    pub(crate) fn inputs(&self) -> Result<Inputs, SourceError> {
        if let Some(kept) = &self.kept {
            return Input::stream(self.shown(), Box::new(kept.again())).map(Inputs::One);
        }
        if self.is_once() {
            return Input::stream(self.shown(), self.stream()?).map(Inputs::One);
        }
        match &cpus::cpus_of(&self.path)?[..] {
            [] => Input::open(&self.path).map(Inputs::One),
            cpus => cpus.iter().map(|cpu| Input::open(cpu)).collect::<Result<_, _>>().map(Inputs::Cpus),
        }
    }

    /// The path as it appears in messages.
    #[must_use]
    pub fn shown(&self) -> PathBuf {
        if self.is_stdin() { PathBuf::from(STDIN_NAME) } else { self.path.clone() }
    }

    fn stream(&self) -> Result<Box<dyn Read + Send>, SourceError> {
        if self.is_stdin() { Ok(Box::new(io::stdin())) } else { Ok(Box::new(open_file(&self.path)?)) }
    }
}

pub(crate) enum Inputs {
    One(Input),
    Cpus(Vec<Input>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_stored_file_are_read_independently() {
        let whole = FilePiece::spool(&mut &b"abcdefghij"[..]).unwrap();
        let (mut first, mut second) = (whole.piece(1, 4), whole.piece(5, 99));
        let mut two = [0; 2];
        first.read_exact(&mut two).unwrap();
        assert_eq!(&two, b"bc");
        second.read_exact(&mut two).unwrap();
        assert_eq!(&two, b"fg");
        let mut rest = String::new();
        first.read_to_string(&mut rest).unwrap();
        second.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "dehij");
        assert_eq!(whole.piece(10, 1).read(&mut two).unwrap(), 0);
        first.seek(SeekFrom::Start(1)).unwrap();
        first.read_exact(&mut two).unwrap();
        assert_eq!(&two, b"cd");
        assert!(first.seek(SeekFrom::Current(-9)).is_err());
    }

    #[test]
    fn a_file_can_be_read_again_and_standard_input_once() {
        let file = super::super::testing::file(b"x");
        assert!(!TraceFile::at(file.path()).is_once());
        let stdin = TraceFile::at(Path::new("-"));
        assert!(stdin.is_once());
        assert_eq!((stdin.name().as_str(), stdin.shown()), ("stdin", PathBuf::from("<stdin>")));
        assert!(!TraceFile::at(Path::new("no/such/file")).is_once());
    }
}
