//! Faults that a user injects into a served drive.

use std::fmt;

use base::units::DieId;
use flash::nand::FaultKind;

use super::core::Core;
use super::refused::CommandRefusal;

/// Operations of the flash that will fail: the next operations of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of operation that fails: program, erase or read.
    pub operation: FaultKind,
    /// Operations of this kind that succeed first.
    pub after: u64,
    /// The number of operations that fail after these, one after another.
    pub count: u64,
    /// The drive, which must be named if there are several.
    pub drive: Option<u32>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, after, count, drive } = self;
        let behind = if *after > 0 { format!(" behind the next {after}") } else { String::new() };
        let s = if *count == 1 { "" } else { "s" };
        let of = drive.map(|drive| format!(" of drive {drive}")).unwrap_or_default();
        write!(f, "{count} {}{s}{of}{behind} will fail", operation.name())
    }
}

impl Core {
    fn chosen(&self, drive: Option<u32>) -> Result<usize, CommandRefusal> {
        let drives = self.drive.drives().len() as u32;
        match drive {
            None if drives > 1 => Err(CommandRefusal::WhichDrive { drives }),
            Some(drive) if drive >= drives => Err(CommandRefusal::NoSuchDrive { drive, drives }),
            _ => Ok(drive.unwrap_or(0) as usize),
        }
    }

    /// Plans a fault of the main array of a drive. The plan outlives a power cut.
    ///
    /// # Errors
    /// If the drive does not exist, or there are several drives and the fault names none.
    pub fn plan(&mut self, fault: Fault) -> Result<(), CommandRefusal> {
        let drive = self.chosen(fault.drive)?;
        let faults = self.drive.drives_mut()[drive].media_mut().faults_mut();
        for number in 0..fault.count {
            faults.fail_soon(fault.operation, fault.after + number);
        }
        self.tally.faults += fault.count;
        Ok(())
    }

    /// Lets a die of the main array of a drive fail as a whole, for good.
    pub(super) fn fail_die(&mut self, die: u32, drive: Option<u32>) -> Result<(), CommandRefusal> {
        let drive = self.chosen(drive)?;
        let drive = &mut self.drive.drives_mut()[drive];
        let dies = drive.geometry().die_count();
        if die >= dies {
            return Err(CommandRefusal::NoSuchDie { die, dies });
        }
        if !drive.resolved().spec.ftl.parity {
            return Err(CommandRefusal::NoParity);
        }
        drive.media_mut().fail_die(DieId::new(die));
        self.tally.faults += 1;
        Ok(())
    }

    /// Lets a drive of a RAID fail as a whole, for good. Returns the spare that takes its place, if one does.
    pub(super) fn fail_drive(&mut self, drive: u32) -> Result<Option<u32>, CommandRefusal> {
        let Some(raid) = self.drive.raid_mut() else { return Err(CommandRefusal::NoRaid) };
        let drives = raid.drives().len() as u32;
        if drive >= drives {
            return Err(CommandRefusal::NoSuchDrive { drive, drives });
        }
        if raid.has_failed(drive) {
            return Err(CommandRefusal::HasFailed(drive));
        }
        let place = raid.places().iter().position(|place| place.drive == Some(drive));
        raid.fail(drive);
        self.tally.faults += 1;
        Ok(place.and_then(|place| raid.places()[place].drive))
    }
}
