//! The history of preconditioning: the newest write of every mapping unit.
//!
//! The device notes the writes as it hands them to the FTL, so the history does not depend on the FTL. An oracle
//! begins with it, and a snapshot contains it.

use std::sync::Arc;

use base::prefetch::prefetch;
use base::units::{Lba, Lpn, Sectors};
use flash::nand::Sector;

/// The version of the newest write of each mapping unit; 0 if there was none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    sectors: u32,
    versions: Arc<Vec<u32>>,
}

/// The version of a unit whose last write was refused: flash may hold that write or the write before. No write has this
/// version.
const UNKNOWN: u32 = u32::MAX;

impl History {
    /// A history with mapping units of `sectors` sectors. `versions` holds the versions of the first units; no unit
    /// behind them has been written.
    #[must_use]
    pub fn new(sectors: u32, versions: Vec<u32>) -> Self {
        Self { sectors, versions: Arc::new(versions) }
    }

    /// The size of a mapping unit.
    #[must_use]
    pub const fn unit(&self) -> Sectors {
        Sectors::new(self.sectors as u64)
    }

    /// The content that a sector must have after preconditioning; `None` if the content is not known.
    #[must_use]
    #[inline]
    pub fn content<S: Sector>(&self, sector: Lba) -> Option<S> {
        match self.versions.get((sector.get() / u64::from(self.sectors)) as usize) {
            None | Some(0) => Some(S::default()),
            Some(&UNKNOWN) => None,
            Some(version) => Some(S::preconditioned(sector, *version)),
        }
    }

    /// Prefetches the version of a sector, for [`Self::content`].
    #[inline]
    pub fn prefetch(&self, sector: Lba) {
        prefetch(self.versions.get((sector.get() / u64::from(self.sectors)) as usize));
    }

    /// The version of each unit, as [`History::new`] takes them.
    #[must_use]
    pub fn versions(&self) -> &[u32] {
        &self.versions
    }

    /// Notes that each unit of a batch has been written, on a drive of `units` mapping units.
    pub(crate) fn note(&mut self, units: u32, batch: &[Lpn], version: u32) {
        let versions = Arc::make_mut(&mut self.versions);
        if versions.is_empty() {
            // Fresh zero pages: the system provides their memory at the first write.
            *versions = vec![0; units as usize];
        }
        batch.iter().for_each(|lpn| versions[lpn.index()] = version);
    }

    /// Notes that some units of a batch have been refused: their content is not known any more.
    pub(crate) fn doubt(&mut self, units: u32, batch: &[Lpn]) {
        self.note(units, batch, UNKNOWN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flash::nand::Stamp;

    #[test]
    fn the_history_holds_the_newest_write_of_a_mapping_unit() {
        let mut history = History::new(4, Vec::new());
        let held = |history: &History, sector| history.content::<Stamp>(Lba::new(sector));
        assert_eq!(held(&history, 9), Some(Stamp(0)), "nothing has been written");
        history.note(3, &[Lpn::new(0), Lpn::new(2)], 1);
        history.note(3, &[Lpn::new(2)], 5);
        assert_eq!(held(&history, 3), Some(Stamp::preconditioned(Lba::new(3), 1)));
        assert_eq!(held(&history, 4), Some(Stamp(0)));
        assert_eq!(held(&history, 8), Some(Stamp::preconditioned(Lba::new(8), 5)));
        history.doubt(3, &[Lpn::new(2)]);
        assert_eq!(held(&history, 8), None, "refused");
        assert_eq!(History::new(4, history.versions().to_vec()), history);
    }
}
