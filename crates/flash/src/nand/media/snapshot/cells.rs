//! The state on which bit errors depend, in a snapshot: a byte that says whether it follows, the cell clock, the programs
//! of the pages as runs, and the reads and the retry step of each block.

use std::io::{self, Read, Write};

use super::{Sink, SnapshotError, Tap};
use crate::nand::media::CellState;
use crate::nand::{Geometry, read_numbers, write_numbers};

pub(super) fn save<W: Write>(sink: &mut Sink<'_, W>, cells: Option<&CellState>) -> io::Result<()> {
    sink.put(&[u8::from(cells.is_some())])?;
    let Some(cells) = cells else { return Ok(()) };
    sink.small(cells.clock)?;
    write_numbers(cells.programmed.iter().map(|at| u64::from(*at)), &mut |bytes| sink.put(bytes))?;
    cells.reads.iter().try_for_each(|reads| sink.small(*reads))?;
    sink.put(&cells.steps)
}

/// Loads the state. An array without errors skips it. The pages of a snapshot without the state count as programmed at the
/// start of simulated time.
pub(super) fn load<R: Read>(
    tap: &mut Tap<'_, R>,
    geometry: &Geometry,
    cells: Option<&mut CellState>,
) -> Result<(), SnapshotError> {
    let mut held = [0];
    tap.get(&mut held)?;
    match held {
        [0] => return Ok(()),
        [1] => {}
        _ => return Err(SnapshotError::Damaged),
    }
    let clock = tap.small()?;
    let mut programmed = Vec::new();
    let pages = geometry.slot_count() / geometry.slots;
    read_numbers(pages.into(), &mut |bytes| tap.get(bytes), &mut |run| {
        programmed.extend(run.numbers().map(|at| at as u32));
        Ok(())
    })?;
    let reads = (0..geometry.block_count()).map(|_| tap.small()).collect::<Result<Vec<_>, _>>()?;
    let mut steps = vec![0; geometry.block_count() as usize];
    tap.get(&mut steps)?;
    let Some(cells) = cells else { return Ok(()) };
    // The part of this array may have a shorter retry table.
    let last = cells.model.last_step();
    steps.iter_mut().for_each(|step| *step = (*step).min(last));
    (cells.clock, cells.start) = (clock, clock.into());
    (cells.programmed, cells.reads, cells.steps) = (programmed, reads, steps);
    Ok(())
}
