//! Snapshots: saves and loads the flash of a drive, and the history of preconditioning.

use std::io::{self, Read, Write};

use flash::nand::{FaultSpec, Faults, Media, Sector, SnapshotError, read_numbers, write_numbers};

use crate::device::slc_seed;
use crate::{History, ResolvedDevice, Ssd};

impl<S: Sector> Ssd<S> {
    /// Writes the state that the drive keeps without power. Planned faults are not part of it; neither is a
    /// [new](Ssd::is_slc_array_new) SLC array.
    ///
    /// # Errors
    ///
    /// If `to` cannot be written.
    pub fn save(&self, to: &mut impl Write) -> io::Result<()> {
        let versions = self.history.as_ref().map_or(&[][..], History::versions);
        to.write_all(&(versions.len() as u32).to_le_bytes())?;
        write_numbers(versions.iter().map(|version| u64::from(*version)), &mut |bytes| to.write_all(bytes))?;
        self.media().save(to)?;
        let used = self.slc_media().filter(|_| !self.is_slc_array_new());
        to.write_all(&[u8::from(used.is_some())])?;
        used.map_or(Ok(()), |slc_array| slc_array.save(to))
    }
}

impl<S: Sector> Ssd<S> {
    /// True if there is no SLC array, or nothing has been written to it or erased. A drive with any other SLC array, or
    /// with none, can then load the snapshot.
    #[must_use]
    pub fn is_slc_array_new(&self) -> bool {
        self.slc_media().is_none_or(Media::is_new)
    }
}

impl<S: Sector> Ssd<S> {
    /// Loads a drive, which `resolved` describes. It starts as after a power cycle: its FTL reads its state from the
    /// flash. It notes the history of preconditioning.
    ///
    /// # Errors
    /// If the snapshot cannot be read, was cut short or changed, or is of an array of another shape.
    pub fn load(resolved: &ResolvedDevice, seed: u64, from: &mut impl Read) -> Result<Self, SnapshotError> {
        let mut bytes = [0; 4];
        from.read_exact(&mut bytes)?;
        let units = u32::from_le_bytes(bytes);
        if units != 0 && units != resolved.units {
            return Err(SnapshotError::Damaged);
        }
        let versions = versions(units as usize, from)?;
        let faults = |seed| Faults::new(&resolved.spec.flash.faults, seed);
        let timing = &resolved.backend.timing;
        let errors = resolved.backend.errors.as_ref().map(|errors| (errors, seed));
        let (endurance, one_shot) = (resolved.part.endurance, timing.one_shot);
        let media = Media::load(S::KIND, resolved.geometry.clone(), endurance, one_shot, faults(seed), errors, from)?;
        let media = timing.of_media(media).with_endurance_spread(resolved.part.endurance_spread, seed);
        let mut used = [0];
        from.read_exact(&mut used)?;
        let slc_array = match (used, &resolved.slc_array) {
            ([0], None) => None,
            ([kept @ (0 | 1)], Some(part)) => {
                let (geometry, endurance) = (part.geometry.clone(), part.part.endurance);
                let faults = faults(slc_seed(seed));
                Some(if kept == 1 {
                    Media::load(S::KIND, geometry, endurance, 1, faults, None, from)?
                } else {
                    // The faults would mark blocks as bad in a new array; the saved one says itself which are bad.
                    let new = Media::new(geometry, endurance, 1, Faults::new(&FaultSpec::default(), seed));
                    let mut media = new.with_content(S::KIND);
                    *media.faults_mut() = faults;
                    media
                })
            }
            _ => return Err(SnapshotError::Damaged),
        };
        let history = History::new(resolved.geometry.sectors, versions);
        Ok(Self::with_media(resolved, seed, media, slc_array).noting(Some(history)))
    }
}

/// Reads the history of `units` mapping units.
fn versions(units: usize, from: &mut impl Read) -> Result<Vec<u32>, SnapshotError> {
    // Units without a version stay fresh zero pages, which take no memory until they are written.
    let (mut versions, mut begin) = (vec![0; units], 0);
    let mut get = |bytes: &mut [u8]| from.read_exact(bytes).map_err(SnapshotError::from);
    read_numbers(units as u64, &mut get, &mut |run| {
        let end = begin + run.count as usize;
        if (run.first, run.step) != (0, 0) {
            versions[begin..end].iter_mut().zip(run.numbers()).for_each(|(version, number)| *version = number as u32);
        }
        begin = end;
        Ok(())
    })?;
    Ok(versions)
}
