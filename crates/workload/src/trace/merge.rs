//! Several files of one recording, merged by time: the CPUs of blktrace, or the members of an archive.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};

use super::record::{Context, Records, TraceRecord};
use crate::{Pacing, SourceError};

pub(crate) struct MergeInput {
    pub(crate) path: PathBuf,
    /// The name of the file's volume, in formats without volumes.
    pub(crate) volume: Vec<u8>,
    pub(crate) records: Box<dyn Records>,
}

/// The files, each with its next record.
pub(crate) struct MergeReader {
    parts: Vec<MergeInput>,
    /// The time of the next record of each part that has one; the first part wins a tie.
    next: BinaryHeap<Reverse<(i128, usize)>>,
    heads: Vec<Option<TraceRecord>>,
    begun: bool,
    /// The error of a part. It is reported after the record before it, so that a limit before the damage causes no
    /// error.
    failed: Option<SourceError>,
}

impl MergeReader {
    pub(crate) fn new(parts: Vec<MergeInput>) -> Self {
        let heads = parts.iter().map(|_| None).collect();
        Self { parts, next: BinaryHeap::new(), heads, begun: false, failed: None }
    }

    fn pull(&mut self, n: usize, context: &mut Context) -> Result<(), SourceError> {
        let part = &mut self.parts[n];
        context.volumes.call_unnamed(&part.volume);
        if let Some(record) = part.records.next(context)? {
            self.next.push(Reverse((record.at, n)));
            self.heads[n] = Some(TraceRecord { part: n as u16, ..record });
        }
        Ok(())
    }
}

impl Records for MergeReader {
    fn next(&mut self, context: &mut Context) -> Result<Option<TraceRecord>, SourceError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if !self.begun {
            self.begun = true;
            for n in 0..self.parts.len() {
                self.pull(n, context)?;
            }
        }
        let Some(Reverse((_, n))) = self.next.pop() else { return Ok(None) };
        let record = self.heads[n].take();
        self.failed = self.pull(n, context).err();
        Ok(record)
    }

    fn pacing(&self) -> Pacing {
        self.parts.first().map_or(Pacing::Open, |part| part.records.pacing())
    }

    fn len_hint(&self) -> Option<u64> {
        self.parts.iter().map(|part| part.records.len_hint()).sum()
    }

    fn is_binary(&self) -> bool {
        self.parts.first().is_some_and(|part| part.records.is_binary())
    }

    fn path_of(&self, part: u16) -> Option<&Path> {
        self.parts.get(usize::from(part)).map(|part| part.path.as_path())
    }
}
