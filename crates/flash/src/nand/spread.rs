//! Deviations of blocks and layers from the mean. The deviation follows from the block's or layer's number, so it is
//! the same in every run.

/// A pseudo-random number from -1 to 1 for a key: SplitMix64.
pub(crate) fn spread(key: u64) -> f64 {
    let mut z = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    (z >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}
