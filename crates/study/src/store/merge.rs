//! Takes over the results of other stores: those that the shards of a study have filled.
//!
//! A result comes over whole or not at all, under its own name, so a merge that is killed is done again, and one that is
//! done twice changes nothing. A result that this version of Flashloom cannot use stays where it is: it is damaged, or of
//! another version of the model. States stay, too. They take much room, and whoever needs one makes it again.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::error::{StoreError, Unused};
use super::{Digest, POINTS, Store, row};

/// What a merge has done.
#[derive(Debug, Default)]
pub struct Merged {
    /// Results that came over.
    pub taken: u64,
    /// Results that were there.
    pub there: u64,
    /// Files that cannot be used, and why.
    pub left: Vec<Unused>,
}

impl Store {
    /// Takes over the results of another store.
    ///
    /// # Errors
    /// If this store cannot be written.
    pub fn merge(&self, from: &Self, merged: &mut Merged) -> Result<(), StoreError> {
        let mut points = from.contents().points;
        // In an order that does not depend on times, for messages.
        points.sort_by_key(|point| point.digest);
        for point in points {
            // A file that is damaged here is replaced.
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

    /// Takes over which results belong to a study, for the studies that are not here.
    fn merge_studies(&self, from: &Self) -> Result<(), StoreError> {
        let here: Vec<String> = self.studies().into_iter().map(|study| study.study).collect();
        from.studies().iter().filter(|study| !here.contains(&study.study)).try_for_each(|study| self.put_study(study))
    }

    /// True if the other one is in the same folder.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let real = |store: &Self| -> io::Result<_> { store.folder.join(POINTS).canonicalize() };
        matches!((real(self), real(other)), (Ok(one), Ok(two)) if one == two)
    }
}

/// The bytes of a result that can be used.
fn sound(path: &Path, digest: Digest) -> Result<Vec<u8>, Unused> {
    let unreadable = |error| Unused::unreadable(path, error);
    let found = row::read(File::open(path).map_err(unreadable)?).map_err(|error| Unused::of(path, error))?;
    if found.key.digest() != digest {
        return Err(Unused::misplaced(path));
    }
    fs::read(path).map_err(unreadable)
}
