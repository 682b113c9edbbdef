//! Sectors of a mapping unit, one bit of a mask each.

use std::ops::Range;

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
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
