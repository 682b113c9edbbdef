//! Erases the blocks that recovery found without valid pages.

use base::units::SuperblockId;
use flash::backend::{Cause, Class};

use super::disk::Disk;
use super::next::{ArrayKind, Next, TaskOutcome, Wakeup};
use crate::port::Flash;

/// The task of one list of erases.
#[derive(Clone, Debug)]
pub(super) struct Scrub;

impl Scrub {
    pub(super) fn step(&mut self, disk: &mut Disk, flash: &mut Flash<'_>, wakeup: Wakeup) -> Next {
        if let Wakeup::List(list) = wakeup {
            disk.mlc.blocks_erased(flash.backend, list);
            return Next::Ended(TaskOutcome::Done);
        }
        let list = flash.backend.open_list(Class::Other, 0);
        for block in disk.mlc.useless.drain(..) {
            flash.backend.add_erase(list, Cause::Recovery, SuperblockId::new(block));
        }
        Next::List(ArrayKind::Mlc, list)
    }
}
