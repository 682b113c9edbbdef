//! Sectors of a mapping unit, one bit of a mask each.

use std::ops::Range;

use super::Sector;

/// The ranges of adjacent sectors in a mask, of a mapping unit with this many sectors. Most masks have one.
#[inline]
pub fn ranges(mask: u64, sectors: usize) -> impl Iterator<Item = Range<usize>> {
    let mut left = if sectors < 64 { mask & ((1 << sectors) - 1) } else { mask };
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let start = left.trailing_zeros();
        let end = start + (left >> start).trailing_ones();
        left = if end < 64 { left >> end << end } else { 0 };
        Some(start as usize..end as usize)
    })
}

/// Sectors of a mapping unit as sectors of a list in which it begins at `at`.
#[inline]
fn shifted(range: &Range<usize>, at: i32) -> Range<usize> {
    let begin = (at + range.start as i32) as usize;
    begin..begin + range.len()
}

/// True if a mask has all sectors of a mapping unit.
#[inline]
pub const fn is_whole_unit(mask: u64, sectors: usize) -> bool {
    mask.trailing_ones() as usize >= sectors
}

/// Copies the sectors of a mask into a mapping unit, from a list of sectors in which the mapping unit begins at `at`. That
/// is negative if the list begins inside it.
#[inline]
pub fn copy_into_unit<S: Copy>(mask: u64, (list, at): (&[S], i32), unit: &mut [S]) {
    if is_whole_unit(mask, unit.len()) {
        return unit.copy_from_slice(&list[at as usize..][..unit.len()]);
    }
    for range in ranges(mask, unit.len()) {
        unit[range.clone()].copy_from_slice(&list[shifted(&range, at)]);
    }
}

/// Copies the sectors of a mask from a mapping unit into a list, as [`copy_into_unit`] copies them out of it.
#[inline]
pub fn copy_from_unit<S: Copy>(mask: u64, unit: &[S], (list, at): (&mut [S], i32)) {
    if is_whole_unit(mask, unit.len()) {
        return list[at as usize..][..unit.len()].copy_from_slice(unit);
    }
    for range in ranges(mask, unit.len()) {
        list[shifted(&range, at)].copy_from_slice(&unit[range]);
    }
}

/// Puts the sectors of a mask of a mapping unit into a list in which it begins at `at`. Its first sector determines all.
#[inline(always)]
#[allow(clippy::inline_always)] // Every unit of a verified read passes it.
pub fn run_into_list<S: Sector>(mask: u64, (first, sectors): (S, usize), (list, at): (&mut [S], i32)) {
    if is_whole_unit(mask, sectors) {
        return first.fill_run(&mut list[at as usize..][..sectors]);
    }
    for range in ranges(mask, sectors) {
        first.following(range.start as u32).fill_run(&mut list[shifted(&range, at)]);
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
            mask in any::<u64>(), whole in any::<bool>(), sectors in 1..=64_usize, from in 0..64_usize, behind in 0..9_usize,
        ) {
            // A list that begins inside the mapping unit, or some sectors before it.
            let from = from.min(sectors - 1);
            for (at, first) in [(-(from as i32), from), (from as i32, 0)] {
                let mask = (if whole { u64::MAX } else { mask }) >> first << first;
                let of = |i: usize| (i as i32 + at) as usize;
                let mut list: Vec<u32> = (0..of(sectors) + behind).map(|i| i as u32).collect();
                let mut unit = vec![1000; sectors];
                copy_into_unit(mask, (&list, at), &mut unit);
                let is_in = |i: &usize| mask >> i & 1 != 0;
                let wanted = |i| if is_in(&i) { of(i) as u32 } else { 1000 };
                prop_assert_eq!(&unit, &(0..sectors).map(wanted).collect::<Vec<_>>());
                let mut wanted = list.clone();
                unit.iter_mut().for_each(|sector| *sector += 7000);
                (0..sectors).filter(is_in).for_each(|i| wanted[of(i)] = unit[i]);
                copy_from_unit(mask, &unit, (&mut list, at));
                prop_assert_eq!(&list, &wanted);
                // A mapping unit that its first sector determines.
                let run: Vec<Stamp> = (0..sectors as u64).map(|i| Stamp(500 + i)).collect();
                let mut lists = [vec![Stamp(9); list.len()], vec![Stamp(9); list.len()]];
                copy_from_unit(mask, &run, (&mut lists[0], at));
                run_into_list(mask, (run[0], sectors), (&mut lists[1], at));
                prop_assert_eq!(&lists[0], &lists[1]);
            }
        }

        #[test]
        fn the_ranges_have_the_sectors_of_the_mask(mask in any::<u64>(), sparse in any::<u64>(), sectors in 0..=64_usize) {
            for mask in [mask, mask & sparse, mask | sparse, 0, u64::MAX] {
                let ranges: Vec<_> = ranges(mask, sectors).collect();
                let wanted: Vec<usize> = (0..sectors).filter(|i| mask >> i & 1 != 0).collect();
                prop_assert_eq!(ranges.iter().cloned().flatten().collect::<Vec<_>>(), wanted);
                prop_assert!(ranges.windows(2).all(|two| two[0].end < two[1].start), "adjacent ones are one");
            }
        }
    }
}
