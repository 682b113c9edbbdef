//! Masks of the sectors of a mapping unit, with one bit for each sector.

use std::ops::Range;

use super::sector::{decode, encode};
use super::{Sector, Stamp};

/// A set of sectors of a mapping unit, one bit each; a unit has at most 128 sectors (64 KiB).
pub type SectorMask = u128;

/// The ranges of adjacent sectors in a mask, of a mapping unit with this many sectors. Most masks have one.
#[inline]
pub fn ranges(mask: SectorMask, sectors: usize) -> impl Iterator<Item = Range<usize>> {
    let mut left = if sectors < 128 { mask & ((1 << sectors) - 1) } else { mask };
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let start = left.trailing_zeros();
        let end = start + (left >> start).trailing_ones();
        left = if end < 128 { left >> end << end } else { 0 };
        Some(start as usize..end as usize)
    })
}

/// Converts a range of sectors of a mapping unit to one of a list in which the unit begins at index `at`.
#[inline]
fn shifted(range: &Range<usize>, at: i32) -> Range<usize> {
    let begin = (at + range.start as i32) as usize;
    begin..begin + range.len()
}

/// True if a mask has all sectors of a mapping unit.
#[inline]
pub const fn is_whole_unit(mask: SectorMask, sectors: usize) -> bool {
    mask.trailing_ones() as usize >= sectors
}

/// Copies the sectors of a mask into the bytes of a mapping unit, from a list of sectors in which the mapping unit
/// begins at index `at`. `at` is negative if the list begins inside the mapping unit.
#[inline]
pub fn copy_into_unit<S: Sector>(mask: SectorMask, (list, at): (&[S], i32), unit: &mut [u8]) {
    let bytes = S::KIND.bytes().max(1);
    let sectors = unit.len() / bytes;
    if is_whole_unit(mask, sectors) {
        return encode(&list[at as usize..][..sectors], unit);
    }
    for range in ranges(mask, sectors) {
        encode(&list[shifted(&range, at)], &mut unit[range.start * bytes..range.end * bytes]);
    }
}

/// Copies the sectors of a mask from the bytes of a mapping unit into a list: the reverse of [`copy_into_unit`].
#[inline]
pub fn copy_from_unit<S: Sector>(mask: SectorMask, unit: &[u8], (list, at): (&mut [S], i32)) {
    let bytes = S::KIND.bytes().max(1);
    let sectors = unit.len() / bytes;
    if is_whole_unit(mask, sectors) {
        return decode(unit, &mut list[at as usize..][..sectors]);
    }
    for range in ranges(mask, sectors) {
        decode(&unit[range.start * bytes..range.end * bytes], &mut list[shifted(&range, at)]);
    }
}

/// Copies the sectors of a mask from one mapping unit to another; a sector has `bytes` bytes.
#[inline]
pub(crate) fn copy_between_units(mask: SectorMask, from: &[u8], into: &mut [u8], bytes: usize) {
    for Range { start, end } in ranges(mask, into.len() / bytes.max(1)) {
        into[start * bytes..end * bytes].copy_from_slice(&from[start * bytes..end * bytes]);
    }
}

/// Writes the sectors of a mask of a mapping unit into a list in which the unit begins at index `at`. All sectors of
/// the unit follow from its `first` one.
#[inline(always)]
#[allow(clippy::inline_always)] // Every unit of a verified read passes it.
pub fn run_into_list<S: Sector>(mask: SectorMask, (first, sectors): (Stamp, usize), (list, at): (&mut [S], i32)) {
    let fill = |first: Stamp, into: &mut [S]| {
        (0..).zip(into).for_each(|(i, into)| *into = S::decode(&first.following(i).0.to_le_bytes()));
    };
    if is_whole_unit(mask, sectors) {
        return fill(first, &mut list[at as usize..][..sectors]);
    }
    for range in ranges(mask, sectors) {
        fill(first.following(range.start as u32), &mut list[shifted(&range, at)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::Stamp;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_sectors_of_a_mask_are_copied_and_no_others(
            mask in any::<SectorMask>(), whole in any::<bool>(), sectors in 1..=128_usize, from in 0..128_usize, behind in 0..9_usize,
        ) {
            // The list begins inside the mapping unit, or some sectors before it.
            let from = from.min(sectors - 1);
            for (at, first) in [(-(from as i32), from), (from as i32, 0)] {
                let mask = (if whole { SectorMask::MAX } else { mask }) >> first << first;
                let of = |i: usize| (i as i32 + at) as usize;
                let mut list: Vec<Stamp> = (0..of(sectors) + behind).map(|i| Stamp(i as u64)).collect();
                let encoded = |unit: &[Stamp]| {
                    let mut bytes = vec![0; unit.len() * 8];
                    encode(unit, &mut bytes);
                    bytes
                };
                let mut unit = encoded(&vec![Stamp(1000); sectors]);
                copy_into_unit(mask, (&list, at), &mut unit);
                let is_in = |i: &usize| mask >> i & 1 != 0;
                let wanted = |i| if is_in(&i) { Stamp(of(i) as u64) } else { Stamp(1000) };
                prop_assert_eq!(&unit, &encoded(&(0..sectors).map(wanted).collect::<Vec<_>>()));
                let mut wanted = list.clone();
                let other: Vec<Stamp> = (0..sectors).map(|i| Stamp(7000 + i as u64)).collect();
                (0..sectors).filter(is_in).for_each(|i| wanted[of(i)] = other[i]);
                copy_from_unit(mask, &encoded(&other), (&mut list, at));
                prop_assert_eq!(&list, &wanted);
                // The sectors of one mapping unit are copied to another.
                let mut into = encoded(&vec![Stamp(5); sectors]);
                copy_between_units(mask, &encoded(&other), &mut into, 8);
                let merged = |i| if is_in(&i) { other[i] } else { Stamp(5) };
                prop_assert_eq!(&into, &encoded(&(0..sectors).map(merged).collect::<Vec<_>>()));
                // All sectors of this mapping unit follow from the first one.
                let run: Vec<Stamp> = (0..sectors as u64).map(|i| Stamp(500 + i)).collect();
                let mut lists = [vec![Stamp(9); list.len()], vec![Stamp(9); list.len()]];
                copy_from_unit(mask, &encoded(&run), (&mut lists[0], at));
                run_into_list(mask, (run[0], sectors), (&mut lists[1], at));
                prop_assert_eq!(&lists[0], &lists[1]);
            }
        }

        #[test]
        fn the_ranges_have_the_sectors_of_the_mask(mask in any::<SectorMask>(), sparse in any::<SectorMask>(), sectors in 0..=128_usize) {
            for mask in [mask, mask & sparse, mask | sparse, 0, SectorMask::MAX] {
                let ranges: Vec<_> = ranges(mask, sectors).collect();
                let wanted: Vec<usize> = (0..sectors).filter(|i| mask >> i & 1 != 0).collect();
                prop_assert_eq!(ranges.iter().cloned().flatten().collect::<Vec<_>>(), wanted);
                prop_assert!(ranges.windows(2).all(|two| two[0].end < two[1].start), "adjacent ones are one");
            }
        }
    }
}
