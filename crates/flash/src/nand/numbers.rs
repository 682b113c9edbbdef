//! Numbers as runs of equal differences, for snapshots. Numbers in order take a few bytes, and numbers that were never
//! written take none of the reader's memory.
//!
//! A sequence consists of pieces. Each piece begins with a word of 32 bits: two bits for its kind, the others for the
//! count of its numbers. Then comes the difference of each number from the one before: one difference for all numbers
//! of a run; a period and the differences of one period if they repeat, as those of programs of several units do;
//! otherwise each difference. The first number differs from zero.

use std::io;

use super::SnapshotError;

/// The kinds of pieces.
const SINGLE: u32 = 0;
const RUN: u32 = 1 << 30;
const REPEATED: u32 = 2 << 30;
const KIND: u32 = 3 << 30;
/// The fewest numbers that are written as a run: a shorter run would take more bytes than its differences.
const FEWEST: u32 = 16;
/// The most differences of a piece that is no run, and the longest period of differences.
const MOST: usize = 1 << 12;
const LONGEST: usize = 64;

/// Successive numbers with equal differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The number that the run starts with.
    pub first: u64,
    /// The difference from each number to the next; sums wrap around.
    pub step: u64,
    /// The number of elements of the run.
    pub count: u32,
}

impl Run {
    /// Yields the `count` numbers of the run, from `first` on.
    pub fn numbers(self) -> impl Iterator<Item = u64> {
        (0..self.count).scan(self.first, move |next, _| {
            let number = *next;
            *next = number.wrapping_add(self.step);
            Some(number)
        })
    }
}

/// The differences that are not written yet.
struct NumberWriter<'a, P> {
    put: &'a mut P,
    single: Vec<u64>,
    step: u64,
    count: u32,
}

/// The shortest period of these differences; none if it is too long to save bytes.
fn period(steps: &[u64]) -> Option<usize> {
    (1..=LONGEST.min(steps.len() / 2)).find(|period| steps[*period..] == steps[..steps.len() - period])
}

impl<P: FnMut(&[u8]) -> io::Result<()>> NumberWriter<'_, P> {
    /// Adds the next difference.
    fn add(&mut self, step: u64) -> io::Result<()> {
        if step != self.step || self.count == !KIND {
            self.end_run()?;
            self.step = step;
        }
        self.count += 1;
        Ok(())
    }

    fn end_run(&mut self) -> io::Result<()> {
        let count = std::mem::take(&mut self.count);
        if count >= FEWEST {
            self.write_single()?;
            return self.write(RUN | count, &[self.step]);
        }
        for _ in 0..count {
            self.single.push(self.step);
            if self.single.len() == MOST {
                self.write_single()?;
            }
        }
        Ok(())
    }

    /// Writes the differences that are in no run.
    fn write_single(&mut self) -> io::Result<()> {
        let steps = std::mem::take(&mut self.single);
        let count = steps.len() as u32;
        if let Some(period) = period(&steps) {
            self.write(REPEATED | count, &[])?;
            (self.put)(&(period as u32).to_le_bytes())?;
            steps[..period].iter().try_for_each(|step| (self.put)(&step.to_le_bytes()))?;
        } else if count > 0 {
            self.write(SINGLE | count, &steps)?;
        }
        self.single = steps;
        self.single.clear();
        Ok(())
    }

    fn write(&mut self, piece: u32, steps: &[u64]) -> io::Result<()> {
        (self.put)(&piece.to_le_bytes())?;
        steps.iter().try_for_each(|step| (self.put)(&step.to_le_bytes()))
    }
}

/// Writes numbers. The bytes do not say how many they are, so the reader must know.
///
/// # Errors
///
/// Any error of `put`, which takes the bytes.
pub fn write_numbers(
    numbers: impl Iterator<Item = u64>,
    put: &mut impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut writer = NumberWriter { put, single: Vec::with_capacity(MOST), step: 0, count: 0 };
    let mut before = 0_u64;
    for number in numbers {
        writer.add(number.wrapping_sub(before))?;
        before = number;
    }
    writer.end_run()?;
    writer.write_single()
}

/// Reads `count` numbers. `get` fills a slice with the next bytes; `each` takes the numbers, in order.
///
/// # Errors
///
/// Any error of `get` and `each`, and an error if the bytes are damaged.
pub fn read_numbers(
    mut count: u64,
    get: &mut impl FnMut(&mut [u8]) -> Result<(), SnapshotError>,
    each: &mut impl FnMut(Run) -> Result<(), SnapshotError>,
) -> Result<(), SnapshotError> {
    let (mut before, mut bytes) = (0_u64, Vec::new());
    let word = |get: &mut dyn FnMut(&mut [u8]) -> Result<(), SnapshotError>| {
        let mut word = [0; 4];
        get(&mut word).map(|()| u32::from_le_bytes(word))
    };
    while count > 0 {
        let piece = word(get)?;
        let length = piece & !KIND;
        let steps = match piece & KIND {
            RUN => 1,
            SINGLE if length as usize <= MOST => length,
            REPEATED if length as usize <= MOST => word(get)?,
            _ => 0,
        };
        if length == 0 || u64::from(length) > count || steps == 0 || steps > length {
            return Err(SnapshotError::Damaged);
        }
        count -= u64::from(length);
        bytes.resize(8 * steps as usize, 0);
        get(&mut bytes)?;
        let (steps, _) = bytes.as_chunks();
        let mut steps = steps.iter().map(|step| u64::from_le_bytes(*step)).cycle();
        if piece & KIND == RUN {
            let step = steps.next().expect("one");
            each(Run { first: before.wrapping_add(step), step, count: length })?;
            before = before.wrapping_add(step.wrapping_mul(length.into()));
        } else {
            for step in steps.take(length as usize) {
                before = before.wrapping_add(step);
                each(Run { first: before, step: 0, count: 1 })?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(numbers: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |more: &[u8]| {
            bytes.extend_from_slice(more);
            Ok(())
        };
        write_numbers(numbers.iter().copied(), &mut put).expect("memory can be written");
        bytes
    }

    fn read(count: usize, bytes: &[u8]) -> Result<(Vec<u64>, usize), SnapshotError> {
        let (mut from, mut numbers) = (bytes, Vec::new());
        let mut get = |into: &mut [u8]| {
            let (now, later) = from.split_at_checked(into.len()).ok_or(SnapshotError::Damaged)?;
            into.copy_from_slice(now);
            from = later;
            Ok(())
        };
        read_numbers(count as u64, &mut get, &mut |run| {
            numbers.extend(run.numbers());
            Ok(())
        })?;
        Ok((numbers, from.len()))
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(runs in prop::collection::vec((any::<u64>(), prop_oneof![0..3_u64, any::<u64>()], 1..40_u32, 1..9_usize), 0..40)) {
            // A few numbers, and then the same differences again.
            let repeated = |(first, step, count, times): &(u64, u64, u32, usize)| {
                let run = Run { first: *first, step: *step, count: *count };
                std::iter::repeat_n(run, *times).flat_map(Run::numbers).collect::<Vec<_>>()
            };
            let numbers: Vec<u64> = runs.iter().flat_map(repeated).collect();
            let bytes = written(&numbers);
            prop_assert_eq!(read(numbers.len(), &bytes).expect("numbers"), (numbers, 0));
        }
    }

    #[test]
    fn many_differences_and_long_runs_are_read() {
        let numbers: Vec<u64> = (0..20_000).map(|i| i * i).chain((0..100_000).map(|i| 7 + 3 * i)).collect();
        let bytes = written(&numbers);
        assert_eq!(bytes.len(), 8 * 20_001 + 4 * 5 + 12, "five pieces, the last with the way back to 7, and one run");
        assert_eq!(read(numbers.len(), &bytes).expect("numbers"), (numbers, 0));
    }

    #[test]
    fn the_units_of_programs_repeat_their_differences() {
        // Four units with one version each, as spare areas have them.
        let numbers: Vec<u64> = (0..8192).map(|i| (i + 1) << 32 | (i / 4 + 1)).collect();
        let bytes = written(&numbers);
        assert!(bytes.len() < 200, "{} bytes", bytes.len());
        assert_eq!(read(numbers.len(), &bytes).expect("numbers"), (numbers, 0));
    }

    #[test]
    fn numbers_that_were_never_written_take_twelve_bytes() {
        assert_eq!(written(&[0; 1 << 20]).len(), 12);
    }

    #[test]
    fn pieces_that_are_empty_too_long_or_cut_short_are_damaged() {
        let damaged =
            |count, bytes: &[u8]| assert!(matches!(read(count, bytes), Err(SnapshotError::Damaged)), "{bytes:?}");
        let bytes = written(&[1, 5, 2]);
        assert_eq!(read(3, &bytes).expect("numbers").0, [1, 5, 2]);
        damaged(2, &bytes);
        damaged(4, &bytes);
        damaged(3, &bytes[..bytes.len() - 1]);
        damaged(1, &[0; 12]);
        damaged(1, &RUN.to_le_bytes());
        damaged(1, &[KIND.to_le_bytes(), [1; 4], [0; 4]].concat());
        let repeated = |period: u32| [(REPEATED | 4).to_le_bytes(), period.to_le_bytes(), [0; 4], [0; 4]].concat();
        assert_eq!(read(4, &repeated(1)).expect("numbers").0, [0; 4]);
        damaged(4, &repeated(0));
        damaged(4, &repeated(5));
        damaged(usize::MAX, &[vec![1, 16, 0, 0], vec![0; 8 * 4097]].concat());
    }
}
