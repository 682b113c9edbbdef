//! Runs a session twice, so that the FTL knows future writes in the second run.

use std::sync::Arc;

use ftl::{Foresight, NextWrites, WriteLog};

use super::flow::Flow;
use super::settings::Settings;
use super::{Session, SessionError};
use crate::catalogue::Device;

impl Session<'_> {
    /// Runs the session once to record its writes, and returns the device with an FTL that knows them; `None` if the
    /// FTL does not use them.
    pub(super) fn with_foresight(&mut self) -> Result<Option<Device>, SessionError> {
        let (resolved, log) = (&self.device.resolved, Arc::new(WriteLog::default()));
        let Some(noting) = resolved.with_foresight(&Foresight::Log(Arc::clone(&log))) else { return Ok(None) };
        if self.settings.fairness {
            return Err(SessionError::Foresight { cannot: "a flow alone makes other writes than beside others" });
        }
        let device = Device { resolved: noting, ..self.device.clone() };
        let settings = Settings { verify: false, check_drive: false, course: None, ..self.settings.clone() };
        let flows = self.flows.iter().map(Flow::repeated).collect::<Result<_, _>>()?;
        Session { device: &device, ..self.part(settings, flows) }.run()?;
        let known = Foresight::NextWrites(Arc::new(NextWrites::of(&log, resolved.units)));
        Ok(resolved.with_foresight(&known).map(|resolved| Device { resolved, ..self.device.clone() }))
    }

    /// Returns an error unless the session is a run that can be made twice.
    pub(super) fn refuse_foresight(&self) -> Result<(), SessionError> {
        match self.device.resolved.with_foresight(&Foresight::None) {
            None => Ok(()),
            Some(_) => Err(SessionError::Foresight { cannot: "nobody knows what a client will write" }),
        }
    }
}
