//! Numbers as runs of equal differences, for snapshots: what was written in order takes a few bytes, and what was never
//! written takes none of the reader's memory.
//!
//! A sequence is a sequence of pieces. Each begins with a word of 32 bits. If its highest bit is set, the others count
//! numbers that have one difference each from the number before, which follows. Otherwise it counts the differences that
//! follow. The first number differs from zero.

use std::io;

use super::SnapshotError;

/// The flag of a piece whose numbers have one difference.
const RUN: u32 = 1 << 31;
/// The fewest numbers that are written as a run: its difference and its count take less than theirs.
const FEWEST: u32 = 3;
/// The most differences of a piece.
const MOST: usize = 1 << 12;

/// Some successive numbers with equal differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first of them.
    pub first: u64,
    /// The difference from one to the next; sums wrap around.
    pub step: u64,
    /// How many they are.
    pub count: u32,
}

impl Run {
    /// The numbers.
    pub fn numbers(self) -> impl Iterator<Item = u64> {
        (0..self.count).scan(self.first, move |next, _| {
            let number = *next;
            *next = number.wrapping_add(self.step);
            Some(number)
        })
    }
}

/// The differences that are not written yet.
struct Writer<'a, P> {
    put: &'a mut P,
    single: Vec<u8>,
    step: u64,
    count: u32,
}

impl<P: FnMut(&[u8]) -> io::Result<()>> Writer<'_, P> {
    /// Adds the next difference.
    fn add(&mut self, step: u64) -> io::Result<()> {
        if step != self.step || self.count == RUN - 1 {
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
            (self.put)(&(RUN | count).to_le_bytes())?;
            return (self.put)(&self.step.to_le_bytes());
        }
        for _ in 0..count {
            self.single.extend_from_slice(&self.step.to_le_bytes());
            if self.single.len() == 8 * MOST {
                self.write_single()?;
            }
        }
        Ok(())
    }

    fn write_single(&mut self) -> io::Result<()> {
        if !self.single.is_empty() {
            (self.put)(&(self.single.len() as u32 / 8).to_le_bytes())?;
            (self.put)(&self.single)?;
            self.single.clear();
        }
        Ok(())
    }
}

/// Writes numbers. Nothing tells how many they are.
///
/// # Errors
/// Those of `put`, which takes the bytes.
pub fn write_numbers(
    numbers: impl Iterator<Item = u64>,
    put: &mut impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut writer = Writer { put, single: Vec::with_capacity(8 * MOST), step: 0, count: 0 };
    let mut before = 0_u64;
    for number in numbers {
        writer.add(number.wrapping_sub(before))?;
        before = number;
    }
    writer.end_run()?;
    writer.write_single()
}

/// Reads so many numbers. `get` fills a slice with the next bytes; `each` takes the numbers, in order.
///
/// # Errors
/// Those of `get` and `each`, and if the bytes are damaged.
pub fn read_numbers(
    mut count: u64,
    get: &mut impl FnMut(&mut [u8]) -> Result<(), SnapshotError>,
    each: &mut impl FnMut(Run) -> Result<(), SnapshotError>,
) -> Result<(), SnapshotError> {
    let (mut before, mut single) = (0_u64, Vec::new());
    while count > 0 {
        let mut word = [0; 4];
        get(&mut word)?;
        let piece = u32::from_le_bytes(word);
        let length = piece & !RUN;
        if length == 0 || u64::from(length) > count || (piece & RUN == 0 && length as usize > MOST) {
            return Err(SnapshotError::Damaged);
        }
        count -= u64::from(length);
        if piece & RUN != 0 {
            let mut step = [0; 8];
            get(&mut step)?;
            let step = u64::from_le_bytes(step);
            each(Run { first: before.wrapping_add(step), step, count: length })?;
            before = before.wrapping_add(step.wrapping_mul(length.into()));
        } else {
            single.resize(8 * length as usize, 0);
            get(&mut single)?;
            let (steps, _) = single.as_chunks();
            for step in steps {
                before = before.wrapping_add(u64::from_le_bytes(*step));
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
        fn what_is_written_is_read(runs in prop::collection::vec((any::<u64>(), prop_oneof![0..3_u64, any::<u64>()], 1..9_u32), 0..40)) {
            let numbers: Vec<u64> = runs.iter().flat_map(|(first, step, count)| Run { first: *first, step: *step, count: *count }.numbers()).collect();
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
    fn numbers_that_were_never_written_take_twelve_bytes() {
        assert_eq!(written(&[0; 1 << 20]).len(), 12);
    }

    #[test]
    fn pieces_that_are_empty_too_long_or_cut_short_are_damaged() {
        let damaged = |count, bytes: &[u8]| assert!(matches!(read(count, bytes), Err(SnapshotError::Damaged)), "{bytes:?}");
        let bytes = written(&[1, 5, 2]);
        assert_eq!(read(3, &bytes).expect("numbers").0, [1, 5, 2]);
        damaged(2, &bytes);
        damaged(4, &bytes);
        damaged(3, &bytes[..bytes.len() - 1]);
        damaged(1, &[0; 12]);
        damaged(1, &RUN.to_le_bytes());
        damaged(usize::MAX, &[vec![1, 16, 0, 0], vec![0; 8 * 4097]].concat());
    }
}
