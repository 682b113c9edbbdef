//! Prepares the drive of a session, before its first request.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use flash::nand::Sector;
use ssd::{Precondition, Ssd};

use super::state::Snapshot;
use super::{Progress, Session, SessionError, WornOutError};
use crate::snapshot;
use crate::watch::Watch;

impl Session<'_> {
    /// Creates the drive or loads its snapshot, and preconditions it.
    pub(super) fn prepared<S: Sector>(&mut self, watch: Option<Watch>) -> Result<Ssd<S>, SessionError> {
        let resolved = &self.device.resolved;
        let seed = self.settings.seed;
        let mut drive = match (&self.settings.load, &self.settings.state) {
            (Some(path), _) => {
                let load = if self.settings.as_preconditioned { snapshot::load_preconditioned } else { snapshot::load };
                load(path, resolved, seed).map_err(SessionError::Load)?
            }
            (None, Some(state)) => state.load(resolved, seed).map_err(SessionError::Load)?,
            (None, None) => Ssd::new(resolved, seed),
        };
        if let Some(watch) = watch {
            drive = drive.observed_by(watch);
        }
        if self.save.is_some() || self.keep.is_some() {
            drive = drive.noting(None);
        }
        let (mut keep, mut kept) = (self.keep.take(), Ok(()));
        for (step, behind) in self.settings.steps.clone().into_iter().zip((0..self.settings.steps.len()).rev()) {
            let mut at_rest = |drive: &Ssd<S>| {
                if let Some(keep) = keep.take_if(|_| behind == 0 && drive.cannot_fail()) {
                    let save = |to: &mut dyn Write| snapshot::save(drive, to);
                    kept = keep(&Snapshot { save: &save, is_exact: true });
                }
            };
            self.precondition_drive(&mut drive, step, &mut at_rest)?;
        }
        kept.map_err(SessionError::Save)?;
        // The state that runs share has not aged; a snapshot that the user saves has.
        for (keep, ages) in [(keep, false), (self.save.take(), true)] {
            if ages && let Some(storage) = self.settings.storage {
                let (age, temperature) = storage.conditions(self.settings.temperature);
                drive.age(age, temperature);
            }
            let Some(keep) = keep else { continue };
            let save = |to: &mut dyn Write| snapshot::save(&drive, to);
            keep(&Snapshot { save: &save, is_exact: drive.is_as_mounted() }).map_err(SessionError::Save)?;
        }
        Ok(drive)
    }

    /// Carries out one step of preconditioning.
    pub(super) fn precondition_drive<S: Sector>(
        &mut self,
        drive: &mut Ssd<S>,
        step: Precondition,
        at_rest: &mut impl FnMut(&Ssd<S>),
    ) -> Result<(), SessionError> {
        let (progress, interrupt) = (&mut self.progress, self.interrupt);
        let is_interrupted = || interrupt.is_some_and(|interrupt| interrupt.load(Ordering::Relaxed));
        let mut go_on = |done, total| {
            if let Some(progress) = progress {
                progress(Progress::Preconditioning { step, done, total });
            }
            if is_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let done = drive.precondition_to_rest(step, &mut go_on, at_rest);
        let done = done.filter(|_| !is_interrupted()).ok_or_else(SessionError::interrupted)?;
        WornOutError::check(step, &done, &self.device.resolved).map_err(SessionError::WornOut)
    }
}
