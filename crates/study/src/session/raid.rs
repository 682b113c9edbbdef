//! Runs a session on a RAID of drives.

use base::units::{Bytes, SECTOR};
use flash::nand::{Sector, Stamp};
use raid::Raid;
use ssd::{Drive, Precondition, RaidSpec, Ssd};

use super::{Outcome, Session, SessionError};
use crate::oracle::{Blank, Oracle};
use crate::watch::{ObservedLayer, Watch};

impl Session<'_> {
    /// Returns an error for settings that only a drive without a layer above it supports.
    pub(super) fn refuse_layers(&self) -> Result<(), SessionError> {
        let Some(layer) = self.device.resolved.layer() else { return Ok(()) };
        let settings = &self.settings;
        let cannot = if self.watch.as_ref().is_some_and(Watch::has_timeline) {
            "be shown in a timeline (--timeline, --report with a timeline)"
        } else if settings.load.is_some() || settings.state.is_some() || self.save.is_some() || self.keep.is_some() {
            "be kept in a snapshot (--save-snapshot, --load-snapshot)"
        } else if self.life_round().is_some() {
            "run --until worn"
        } else {
            return Ok(());
        };
        Err(SessionError::Layer { layer, cannot })
    }

    pub(super) fn run_raid(&mut self, spec: &RaidSpec, watch: Option<Watch>) -> Result<Outcome, SessionError> {
        self.refuse_foresight()?;
        if !self.settings.verify {
            let mut raid = ObservedLayer::new(self.raid::<()>(spec, watch.is_some())?, watch);
            return self.run_stages(&mut raid, &mut Blank);
        }
        let mut raid = ObservedLayer::new(self.raid::<Stamp>(spec, watch.is_some())?, watch);
        let granularity = raid.discard_granularity();
        // Stamps of preconditioning have addresses of drives, not of the RAID, so the first read of a sector determines
        // its content.
        let is_new = self.settings.steps.is_empty();
        let mut oracle = if is_new { Oracle::blank(granularity) } else { Oracle::adopting(granularity) };
        self.run_stages(&mut raid, &mut oracle)
    }

    /// Creates and prepares a RAID without a run, for callers that drive it themselves.
    ///
    /// # Errors
    ///
    /// See [`Session::prepare`].
    ///
    /// # Panics
    ///
    /// If the device is not a RAID.
    pub fn prepare_raid<S: Sector>(mut self) -> Result<Raid<S>, SessionError> {
        self.refuse_foresight()?;
        self.check_content::<S>()?;
        let spec = self.device.resolved.spec.raid.clone().expect("a RAID");
        self.raid(&spec, false)
    }

    /// Creates the drives of a RAID and preconditions the drives of the stripes.
    fn raid<S: Sector>(&mut self, spec: &RaidSpec, is_observed: bool) -> Result<Raid<S>, SessionError> {
        let mut drives = Vec::new();
        for number in 0..spec.all_drives() {
            // These seeds differ from those of the workloads, which vary in higher bits.
            let seed = |number: u32| self.settings.seed ^ u64::from(number) << 24;
            let (own, first) = (seed(number), seed(spec.first_of_mirror(number)));
            let mut drive: Ssd<S> = Ssd::new(&self.device.resolved.of_drive(number), own).written_as(first);
            if is_observed {
                drive = drive.observed_by(ObservedLayer::<S, Raid<S>>::member());
            }
            for step in self.settings.steps.clone() {
                if number < spec.drives {
                    self.precondition_drive(&mut drive, on_each(step, spec), &mut |_| {})?;
                }
            }
            if let Some(storage) = self.settings.storage {
                let (age, temperature) = storage.conditions(self.settings.temperature);
                drive.age(age, temperature);
            }
            drives.push(drive);
        }
        Ok(Raid::new(spec, drives))
    }
}

/// The step for one of the drives by which the whole RAID is preconditioned.
fn on_each(step: Precondition, spec: &RaidSpec) -> Precondition {
    match step {
        Precondition::Preload { piece, extent } => {
            let stripe = spec.chunk * u64::from(spec.level.data_of(spec.drives));
            let stripes = extent.get().div_ceil(stripe.get());
            Precondition::Preload {
                piece: piece.min(spec.chunk).max(SECTOR),
                extent: Bytes::new(stripes * spec.chunk.get()),
            }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssd::RaidLevel;

    #[test]
    fn a_preload_of_a_raid_covers_its_rows_on_each_drive() {
        let spec = RaidSpec { chunk: Bytes::new(64 << 10), ..RaidSpec::new(RaidLevel::Raid5, 4) };
        let step = Precondition::Preload { piece: Bytes::new(26 << 10), extent: Bytes::new(1 << 20) };
        // 1 MiB is 5.3 stripes of 192 KiB.
        let expected = Precondition::Preload { piece: Bytes::new(26 << 10), extent: Bytes::new(6 * (64 << 10)) };
        assert_eq!(on_each(step, &spec), expected);
        assert_eq!(on_each(Precondition::Fill, &spec), Precondition::Fill);
    }
}
