//! A drive whose power was cut and came back, and the content of its sectors.

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors};
use flash::nand::Stamp;
use ssd::{Completion, Drive, QueueId, Recovery, Request, Ssd, Status};

use crate::extents::Extents;

/// The sectors of one read.
const READ: u64 = 256;

/// The content of a drive after a power cut.
#[derive(Clone, Debug)]
pub struct RecoveredDrive {
    /// The drive's recovery after the cut.
    pub recovery: Recovery,
    /// The content of each sector that the journal writes; `None` if it cannot be read.
    stamps: Vec<Option<Stamp>>,
}

impl RecoveredDrive {
    /// Cuts the power of a drive, switches it on, and reads the sectors. `None` if it does not answer all reads.
    pub(crate) fn after_cut(mut drive: Ssd<Stamp>, extents: &Extents) -> Option<Self> {
        drive.cut_power();
        let recovery = drive.power_on(drive.now());
        let mut recovered = Self { recovery, stamps: vec![None; extents.len()] };
        let pieces = extents.runs().iter().flat_map(|run| {
            (run.start..run.end).step_by(READ as usize).map(move |start| (start, READ.min(run.end - start)))
        });
        let mut unreadable = recovered.read(&mut drive, extents, pieces)?;
        // A sector that cannot be read fails its whole read, so the sectors of a failed read are read one by one.
        let singles = std::mem::take(&mut unreadable)
            .into_iter()
            .flat_map(|io| (io.start.get()..io.end().get()).map(|sector| (sector, 1)));
        recovered.read(&mut drive, extents, singles)?;
        Some(recovered)
    }

    /// Reads the ranges in `pieces`. Returns the ranges that cannot be read; `None` if the drive left a read
    /// unanswered.
    fn read(
        &mut self,
        drive: &mut Ssd<Stamp>,
        extents: &Extents,
        pieces: impl Iterator<Item = (u64, u64)>,
    ) -> Option<Vec<Io>> {
        let mut unreadable = Vec::new();
        let mut left = 0;
        for (tag, (start, sectors)) in (0..).zip(pieces) {
            let io = Io::new(IoKind::Read, Lba::new(start), Sectors::new(sectors));
            drive.submit(drive.now(), Request { tag, queue: QueueId::default(), io, data: Vec::new() });
            left += 1;
        }
        let mut completions: Vec<Completion<Stamp>> = Vec::new();
        // A read of sectors without data on the flash completes at once.
        while left > 0 {
            let next = drive.next_event()?;
            drive.advance(next, &mut completions);
            left -= completions.len();
            for read in completions.drain(..) {
                if read.status != Status::Done {
                    unreadable.push(read.io);
                    continue;
                }
                let first = extents.index(read.io.start.get()).expect("it is a piece of a run");
                let into = &mut self.stamps[first..first + read.data.len()];
                into.iter_mut().zip(read.data).for_each(|(into, stamp)| *into = Some(stamp));
            }
        }
        Some(unreadable)
    }

    /// The content of each sector that the journal writes, in the order of addresses; `None` if it cannot be read.
    #[must_use]
    pub fn stamps(&self) -> &[Option<Stamp>] {
        &self.stamps
    }
}

#[cfg(test)]
impl RecoveredDrive {
    /// A drive that holds these stamps.
    pub(crate) fn holding(stamps: Vec<Option<Stamp>>) -> Self {
        let recovery = Recovery { time: base::units::Span::ZERO, translation_pages: 0, units: 0 };
        Self { recovery, stamps }
    }
}
