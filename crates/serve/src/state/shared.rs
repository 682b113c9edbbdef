//! The failures and the damage of the files, for the owner of the drive.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::error::StateError;

/// The most findings that are kept until the owner takes them.
const KEPT: usize = 64;

#[derive(Debug, Default)]
pub(super) struct StateHealth {
    has_failed: AtomicBool,
    failure: Mutex<Option<StateError>>,
    /// Damage that the drive reported as uncorrectable reads.
    damage: Mutex<Vec<StateError>>,
}

impl StateHealth {
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// Notes the first failure. Nothing is written after it, as if the power had been cut.
    pub(super) fn fail(&self, error: StateError) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.has_failed.store(true, Ordering::Release);
    }

    pub(super) fn check(&self) -> Result<(), StateError> {
        if !self.has_failed() {
            return Ok(());
        }
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
    }

    pub(super) fn note(&self, damage: StateError) {
        let mut all = self.damage.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < KEPT {
            all.push(damage);
        }
    }

    pub(super) fn take_damage(&self) -> Vec<StateError> {
        std::mem::take(&mut self.damage.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
