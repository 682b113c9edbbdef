//! Runs a session on a translation over a drive with zones.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use flash::nand::{Sector, Stamp};
use ssd::{Drive, Precondition, PreconditioningResult, Ssd};
use translation::{Translation, UsedZones};

use super::{Outcome, Progress, Session, SessionError, WornOutError};
use crate::oracle::{Blank, Oracle};
use crate::watch::{ObservedLayer, Watch};

impl Session<'_> {
    /// Runs the workloads on a translation over zones.
    pub(super) fn run_translation(&mut self, watch: Option<Watch>) -> Result<Outcome, SessionError> {
        self.refuse_foresight()?;
        if !self.settings.verify {
            let mut translation = ObservedLayer::new(self.translation::<()>(watch.is_some())?, watch);
            return self.run_stages(&mut translation, &mut Blank);
        }
        let mut translation = ObservedLayer::new(self.translation::<Stamp>(watch.is_some())?, watch);
        let granularity = translation.discard_granularity();
        // Stamps of preconditioning have addresses of the drive, so the first read of a sector determines its content.
        let is_new = self.settings.steps.is_empty();
        let mut oracle = if is_new { Oracle::blank(granularity) } else { Oracle::adopting(granularity) };
        self.run_stages(&mut translation, &mut oracle)
    }

    /// Creates and prepares a translation over zones without a run, for callers that drive it themselves.
    ///
    /// # Errors
    ///
    /// See [`Session::prepare`].
    ///
    /// # Panics
    ///
    /// If the device has no translation.
    pub fn prepare_translation<S: Sector>(mut self) -> Result<Translation<S>, SessionError> {
        self.refuse_foresight()?;
        self.check_content::<S>()?;
        self.translation(false)
    }

    fn translation<S: Sector>(&mut self, is_observed: bool) -> Result<Translation<S>, SessionError> {
        let (resolved, seed) = (&self.device.resolved, self.settings.seed);
        let mut used = UsedZones::new(resolved, seed);
        let (progress, interrupt) = (&mut self.progress, self.interrupt);
        let mut tell = |step: Precondition, done: u64, total: u64| {
            if let Some(progress) = progress {
                progress(Progress::Preconditioning { step, done, total });
            }
            match interrupt.is_some_and(|interrupt| interrupt.load(Ordering::Relaxed)) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let mut last = None;
        for step in &self.settings.steps {
            let done = used.precondition(*step, &mut |done, total| tell(*step, done, total));
            last = Some((*step, done.ok_or_else(SessionError::interrupted)?));
        }
        let mut drive: Ssd<S> = Ssd::new(&resolved.of_drive(0), seed);
        if is_observed {
            drive = drive.observed_by(ObservedLayer::<S, Translation<S>>::member());
        }
        let mut lay_out = |done, total| tell(Precondition::Fill, done, total);
        let (mut translation, refused) =
            Translation::over(resolved, drive, used, &mut lay_out).ok_or_else(SessionError::interrupted)?;
        if let Some((step, done)) = last {
            let done = PreconditioningResult { refused, ..done };
            WornOutError::check(step, &done, resolved).map_err(SessionError::WornOut)?;
        }
        if let Some(storage) = self.settings.storage {
            let (age, temperature) = storage.conditions(self.settings.temperature);
            translation.drive_mut().age(age, temperature);
        }
        Ok(translation)
    }
}
