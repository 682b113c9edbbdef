//! A file that grows, and is complete under its name at every moment.
//!
//! There are two files. One has the name; the other gets the pieces that it lacks, and then takes over the name. So
//! each byte is written twice, and a program that ends at any moment leaves the file as it was after one of its pieces.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::error::OutputError;
use super::kind::Kind;
use super::place::{ReplacedFile, permit, unwritable};
use super::staged::{StagedFile, naming};
use super::{Destination, OutFile};

/// A file that grows by pieces. It has its name from the first piece on.
#[derive(Debug)]
pub struct AppendFile {
    path: PathBuf,
    to: PathBuf,
    kind: Kind,
    force: bool,
    /// The file that has the name, and the length of its pieces in bytes.
    named: Option<File>,
    length: u64,
    /// The file that will have the name next, and the length of the pieces that it has.
    twin: Option<(StagedFile, u64)>,
    /// The bytes of the pieces that the twin lacks.
    lacks: Vec<u8>,
}

impl OutFile {
    /// Makes the file a growing one.
    ///
    /// # Errors
    ///
    /// If the file is a device or a pipe.
    pub fn growing(self) -> Result<AppendFile, OutputError> {
        match self.to {
            Destination::Stream(_) => {
                Err(OutputError::new(&self.path, "is a device or a pipe", "give the name of a file, which can grow"))
            }
            Destination::File { to, kind, force, .. } => Ok(AppendFile {
                path: self.path,
                to,
                kind,
                force,
                named: None,
                length: 0,
                twin: None,
                lacks: Vec::new(),
            }),
        }
    }
}

impl AppendFile {
    /// The error of a failed operation on the file, with the file's name.
    #[must_use]
    pub fn failed(&self, error: &io::Error) -> OutputError {
        unwritable(&self.path, error)
    }

    /// Appends a piece, and writes `end` after it, which the next piece overwrites. Returns a note if another file had
    /// the name.
    ///
    /// # Errors
    ///
    /// If the piece cannot be written, or another file got the name meanwhile. The file keeps its earlier pieces.
    pub fn grow(&mut self, piece: &[u8], end: &[u8]) -> Result<Option<String>, OutputError> {
        let before = match self.named {
            Some(_) => ReplacedFile::Nothing,
            None => permit(&self.to, &self.path, self.kind, self.force)?,
        };
        self.write(piece, end, before != ReplacedFile::Nothing).map_err(|error| unwritable(&self.path, &error))?;
        Ok(before.note(&self.path))
    }

    fn write(&mut self, piece: &[u8], end: &[u8], replace: bool) -> io::Result<()> {
        let (staged, has) = match self.twin.take() {
            Some(twin) => twin,
            None => self.copy()?,
        };
        let mut file = staged.file();
        file.seek(SeekFrom::Start(has))?;
        file.write_all(&self.lacks)?;
        file.write_all(piece)?;
        file.write_all(end)?;
        file.set_len(file.stream_position()?)?;
        file.sync_all()?;
        let _until_it_is_named = naming();
        match self.named.take() {
            Some(named) => {
                let before = self.length;
                let (named, twin) = staged.exchange(&self.to, named)?;
                self.named = Some(named);
                self.twin = twin.map(|twin| (twin, before));
            }
            None => {
                self.named = Some(staged.file().try_clone()?);
                staged.publish(&self.to, replace)?;
            }
        }
        self.length += piece.len() as u64;
        self.lacks.clear();
        self.lacks.extend_from_slice(piece);
        Ok(())
    }

    /// Copies all pieces into a new twin.
    fn copy(&mut self) -> io::Result<(StagedFile, u64)> {
        let staged = StagedFile::named(self.to.parent().unwrap_or(Path::new(".")))?;
        if let Some(mut named) = self.named.as_ref() {
            named.seek(SeekFrom::Start(0))?;
            io::copy(&mut named.take(self.length), &mut staged.file())?;
        }
        self.lacks.clear();
        Ok((staged, self.length))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use testkit::names;

    use super::super::Outputs;
    use super::*;

    #[test]
    fn a_growing_file_is_whole_after_every_piece() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a.parquet");
        let grown = || Outputs::new([""; 0], false).file("--record", &path, Kind::Trace);
        let mut growing = grown().expect("writable").growing().expect("a file");
        assert!(names(dir.path()).is_empty(), "no name before the first piece");
        let mut wanted = Vec::new();
        for n in 0..6_u8 {
            let (piece, end) = (vec![n; 100 + usize::from(n)], vec![b'e'; 90 - usize::from(n) * 10]);
            assert_eq!(growing.grow(&piece, &end).expect("written"), None);
            wanted.extend(piece);
            assert_eq!(fs::read(&path).expect("there"), [&wanted[..], &end].concat(), "piece {n}");
        }
        assert_eq!(names(dir.path()).len(), 2);
        drop(growing);
        assert_eq!(names(dir.path()), ["a.parquet"], "the twin goes with the program");
        // Another program's file is not replaced.
        assert!(grown().is_err());
        fs::remove_file(&path).expect("there");
        let mut growing = grown().expect("writable").growing().expect("a file");
        fs::write(&path, "mine").expect("written");
        assert!(growing.grow(b"piece", b"end").is_err());
        assert_eq!((fs::read(&path).expect("there"), names(dir.path()).len()), (b"mine".to_vec(), 1));
    }
}
