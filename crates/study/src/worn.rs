//! The error of a drive that preconditioning wore out.

use std::fmt;

use ssd::{Precondition, PreconditioningResult, ResolvedDevice};

/// The error for a drive that refused a write of preconditioning.
#[derive(Clone, Debug, PartialEq)]
pub struct WornOutError {
    step: Precondition,
    written: u64,
    units: u32,
}

impl WornOutError {
    /// Checks the result of a preconditioning step.
    ///
    /// # Errors
    /// If the drive refused a write.
    pub fn check(step: Precondition, done: &PreconditioningResult, disk: &ResolvedDevice) -> Result<(), Self> {
        let written = done.units.saturating_sub(done.refused);
        if done.refused == 0 { Ok(()) } else { Err(Self { step, written, units: disk.units }) }
    }
}

impl fmt::Display for WornOutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, written, units } = self;
        write!(
            f,
            "precondition {step}: so many blocks failed that the drive is read-only after {written} writes to its \
             {units} mapping units; lower the shares in flash.faults, raise ftl.over-provisioning, or write less"
        )
    }
}

impl std::error::Error for WornOutError {}
