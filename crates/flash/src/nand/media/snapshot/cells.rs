//! The state on which bit errors depend, as a part of a snapshot: a byte that says whether the state follows, the cell
//! clock, the programs of the pages as runs, and the reads and the retry step of each block.

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

/// Loads the state. An array without errors skips it. If the snapshot lacks the state, all pages count as programmed at
/// the start of simulated time.
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use base::units::{Age, Lpn, Psn, SuperblockId, Temperature, Time};

    use super::*;
    use crate::nand::{
        Attempt, Decoding, ErrorModel, ErrorSettings, FaultSpec, Faults, Media, Mode, Part, SectorKind, Spare, Stream,
        Target,
    };

    fn geometry() -> Geometry {
        Geometry::new(1, 1, 1, 2, 2, 4, 6, 2, 2).expect("a small array")
    }

    fn errors() -> Arc<ErrorModel> {
        let table = Part::preset("tlc-72l").expect("a preset").errors.expect("its errors");
        let settings = ErrorSettings { temperature: table.temperature, remember: true, cycles: 0 };
        let decoding = Decoding { bits: 8192, sectors: 2, limit: 40, soft: None };
        Arc::new(ErrorModel::new(&table, settings, decoding, 6))
    }

    fn used() -> Media {
        let faults = Faults::new(&FaultSpec::default(), 1);
        let mut media = Media::new(geometry(), 10, 1, faults).with_errors(Some(&errors()), 1);
        let spare = |i: usize| (Spare::Data { lpn: Lpn::new(i as u32), version: 7 }, false);
        for (row, seconds) in [(0, 5), (1, 70)] {
            media.set_clock(Time::from_ps(seconds * 1_000_000_000_000));
            let target = Target { superblock: SuperblockId::new(1), offset: 4 * row };
            assert!(media.program(target, 4, (Stream::HOST, Mode::Full), spare, &[]));
        }
        media.age(Age::from_days(3), Temperature::from_celsius(30));
        let psns = || [Psn::new(24), Psn::new(26)].into_iter();
        media.note_attempts(psns(), (2, Attempt::Step(2)));
        media.remember_step(psns(), 2);
        media
    }

    fn load(bytes: &[u8], errors: Option<&Arc<ErrorModel>>) -> Media {
        let faults = Faults::new(&FaultSpec::default(), 1);
        let errors = errors.map(|errors| (errors, 1));
        Media::load(SectorKind::Nothing, geometry(), 10, 1, faults, errors, &mut &*bytes).expect("a snapshot")
    }

    fn saved(media: &Media) -> Vec<u8> {
        let mut bytes = Vec::new();
        media.save(&mut bytes).expect("memory can be written");
        bytes
    }

    #[test]
    fn data_that_was_saved_is_as_old_when_it_is_loaded() {
        let media = used();
        let bytes = saved(&media);
        let loaded = load(&bytes, Some(&errors()));
        let [before, after] = [&media, &loaded].map(|media| media.cells.as_ref().expect("errors"));
        assert_eq!((&before.programmed, &before.reads, &before.steps), (&after.programmed, &after.reads, &after.steps));
        // The clock goes on where it stopped: three days and 70 seconds.
        assert_eq!(
            (before.clock, after.clock, after.start),
            (3 * 86_400 + 70, 3 * 86_400 + 70, f64::from(after.clock))
        );
        assert_eq!(loaded.first_step(Psn::new(25)), 2);
        assert_eq!(saved(&loaded), bytes);
    }

    #[test]
    fn arrays_without_errors_and_snapshots_without_their_state_fit_together() {
        let without = load(&saved(&used()), None);
        assert!(!without.has_errors());
        let with = load(&saved(&without), Some(&errors()));
        let cells = with.cells.as_ref().expect("errors");
        assert!(cells.clock == 0 && cells.programmed.iter().all(|at| *at == 0));
    }
}
