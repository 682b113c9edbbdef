//! Snapshots: saves and loads the flash of a drive, and the history of preconditioning.

use std::io::{self, Read, Write};

use flash::backend::Observer;
use flash::nand::{Faults, Media, Sector, SnapshotError};
use ftl::Ftl;

use crate::device::slc_seed;
use crate::{History, Resolved, Ssd};

/// Versions that are read or written at once: a call of a compressing stream costs more than their four bytes.
const CHUNK: usize = 1 << 14;

impl<S: Sector, O: Observer, F: Ftl> Ssd<S, O, F> {
    /// Writes the state that the drive keeps without power. Planned faults are not part of it.
    ///
    /// # Errors
    /// If `to` cannot be written.
    pub fn save(&self, to: &mut impl Write) -> io::Result<()> {
        let versions = self.history.as_ref().map_or(&[][..], History::versions);
        to.write_all(&(versions.len() as u32).to_le_bytes())?;
        let mut before = 0;
        let mut bytes = Vec::with_capacity(4 * CHUNK);
        for chunk in versions.chunks(CHUNK) {
            bytes.clear();
            for version in chunk {
                // Neighbours mostly have the same version, or successive ones.
                bytes.extend_from_slice(&version.wrapping_sub(before).to_le_bytes());
                before = *version;
            }
            to.write_all(&bytes)?;
        }
        self.media().save(to)?;
        self.slc_media().map_or(Ok(()), |slc_array| slc_array.save(to))
    }
}

impl<S: Sector, O: Observer> Ssd<S, O> {
    /// Loads a drive, which `resolved` describes. It starts as after a power cycle: its FTL reads its state from the
    /// flash. It notes the history of preconditioning.
    ///
    /// # Errors
    /// If the snapshot cannot be read, was cut short or changed, or is of an array of another shape.
    pub fn load(resolved: &Resolved, seed: u64, from: &mut impl Read, observer: O) -> Result<Self, SnapshotError> {
        let mut bytes = [0; 4];
        from.read_exact(&mut bytes)?;
        let units = u32::from_le_bytes(bytes);
        if units != 0 && units != resolved.units {
            return Err(SnapshotError::Damaged);
        }
        let versions = versions(units as usize, from)?;
        let faults = |seed| Faults::new(&resolved.spec.flash.faults, seed);
        let timing = &resolved.backend.timing;
        let (endurance, one_shot) = (resolved.part.endurance, timing.one_shot);
        let media = Media::load(resolved.geometry.clone(), endurance, one_shot, faults(seed), from)?;
        let media = media.with_paired_pages(timing.paired);
        let slc_array = resolved.slc_array.as_ref().map(|part| {
            let faults = faults(slc_seed(seed));
            Media::load(part.geometry.clone(), part.part.endurance, 1, faults, from)
        });
        let history = History::new(resolved.geometry.sectors, versions);
        Ok(Self::with_media(resolved, seed, media, slc_array.transpose()?, observer).noting(Some(history)))
    }
}

/// Reads the history of `units` mapping units.
fn versions(units: usize, from: &mut impl Read) -> io::Result<Vec<u32>> {
    let (mut versions, mut before) = (Vec::with_capacity(units), 0_u32);
    let mut bytes = vec![0; 4 * CHUNK.min(units)];
    while versions.len() < units {
        let chunk = &mut bytes[..4 * CHUNK.min(units - versions.len())];
        from.read_exact(chunk)?;
        let (steps, _) = chunk.as_chunks();
        versions.extend(steps.iter().map(|step| {
            before = before.wrapping_add(u32::from_le_bytes(*step));
            before
        }));
    }
    Ok(versions)
}
