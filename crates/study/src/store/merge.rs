//! Copies the results of other stores into this store, e.g. from the stores of a study's shards.
//!
//! A result is copied completely or not at all, under its own name, so a merge that was killed can be repeated, and a
//! repeated merge changes nothing. Results that this version of Flashloom cannot use are not copied: they are damaged,
//! or of another version of the model. States are not copied either, because they are large and can be made again.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::error::{StoreError, UnusableFile};
use super::{Digest, POINTS, Store, row};

/// The files that merges have copied or left out.
#[derive(Debug, Default)]
pub struct MergeReport {
    /// The number of results that were copied.
    pub taken: u64,
    /// The number of results that this store had already.
    pub there: u64,
    /// Files that cannot be used, with the reasons.
    pub left: Vec<UnusableFile>,
}

impl Store {
    /// Copies the results of another store into this store.
    ///
    /// # Errors
    ///
    /// If this store cannot be written.
    pub fn merge(&self, from: &Self, merged: &mut MergeReport) -> Result<(), StoreError> {
        let mut points = from.contents().points;
        // Sorted by digest, so that messages do not depend on times.
        points.sort_by_key(|point| point.digest);
        for point in points {
            // A damaged file in this store is replaced.
            if matches!(self.row(point.digest), Ok(Some(_))) {
                merged.there += 1;
                continue;
            }
            match sound(&point.path, point.digest) {
                Ok(bytes) => {
                    self.keep(&self.path(point.digest), &bytes)?;
                    merged.taken += 1;
                }
                Err(unused) => merged.left.push(unused),
            }
        }
        self.merge_studies(from)?;
        self.merge_timings(from)
    }

    /// Copies the lists of studies that this store does not have.
    fn merge_studies(&self, from: &Self) -> Result<(), StoreError> {
        let here: Vec<String> = self.studies().into_iter().map(|study| study.study).collect();
        from.studies().iter().filter(|study| !here.contains(&study.study)).try_for_each(|study| self.put_study(study))
    }

    /// True if the other store is in the same folder.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let real = |store: &Self| -> io::Result<_> { store.folder.join(POINTS).canonicalize() };
        matches!((real(self), real(other)), (Ok(one), Ok(two)) if one == two)
    }
}

/// The bytes of a result's file, if the result can be used.
fn sound(path: &Path, digest: Digest) -> Result<Vec<u8>, UnusableFile> {
    let unreadable = |error| UnusableFile::unreadable(path, error);
    let found = row::read(File::open(path).map_err(unreadable)?).map_err(|error| UnusableFile::of(path, error))?;
    if found.key.digest() != digest {
        return Err(UnusableFile::misplaced(path));
    }
    fs::read(path).map_err(unreadable)
}
