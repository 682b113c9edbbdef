//! Array times of blocks in SLC mode.

use crate::nand::{Mode, Sector};
use base::engine::Handle;
use base::units::{Span, SuperblockId};

use super::{Backend, Command, Observer};

/// Array times in one mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeTimes {
    /// Page read.
    pub read: Span,
    /// Page program.
    pub program: Span,
}

impl<S: Sector, O: Observer> Backend<S, O> {
    /// Lets a program open its block in SLC mode, or continue one that is in SLC mode. Its page takes the time of
    /// that mode.
    ///
    /// # Panics
    /// If the flash has no SLC mode.
    pub fn in_slc_mode(&mut self, program: Handle<Command>) {
        assert!(self.timing.slc_mode.is_some(), "a program in SLC mode, which the flash does not have");
        self.commands[program].mode = Mode::Slc;
    }

    /// Array time of reading a page of a superblock, by the superblock's mode.
    #[inline]
    pub(super) fn read_time(&self, superblock: SuperblockId, page: u32) -> Span {
        match self.timing.slc_mode {
            Some(times) if self.media.mode(superblock) == Mode::Slc => times.read,
            _ => self.timing.read_time(page),
        }
    }

    /// Array time of a program.
    #[inline]
    pub(super) fn program_time(&self, command: &Command, page: u32) -> Span {
        match self.timing.slc_mode {
            Some(times) if command.mode == Mode::Slc => times.program,
            _ => self.timing.program_time(page),
        }
    }
}
