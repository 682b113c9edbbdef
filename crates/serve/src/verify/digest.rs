//! The digest of a sector: 64 bits instead of its 512 bytes.

use base::units::SECTOR;

/// The digest of zeros.
pub(super) const ZEROS: u64 = 0;
/// No digest: nobody knows the content.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// Bits without a pattern: of the golden ratio, and of pi.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
const START: u64 = 0x243f_6a88_85a3_08d3;

/// Both halves of a product, so that each bit of a factor changes bits everywhere.
const fn fold(a: u64, b: u64) -> u64 {
    let product = (a as u128) * (b as u128);
    (product as u64) ^ ((product >> 64) as u64)
}

/// The digest of one sector. Two contents share one with a probability of 2^-64.
pub(super) fn digest(sector: &[u8]) -> u64 {
    let mut state = START;
    let mut any = 0;
    let words = sector.as_chunks::<8>().0;
    for (place, word) in (1..).zip(words) {
        let word = u64::from_le_bytes(*word);
        any |= word;
        // The place counts, so that words which change places change the digest.
        state = fold(state ^ word, FACTOR ^ place).rotate_left(29) ^ word;
    }
    match any {
        0 => ZEROS,
        _ => fold(state, FACTOR).clamp(ZEROS + 1, UNKNOWN - 1),
    }
}

/// The digests of the sectors of a request.
pub(super) fn digests(bytes: &[u8]) -> Box<[u64]> {
    bytes.chunks(SECTOR.get() as usize).map(digest).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_bit_and_each_place_of_a_word_counts() {
        let mut seen = BTreeSet::from([digest(&[0; 512])]);
        assert_eq!(seen.first(), Some(&ZEROS));
        for bit in 0..4096 {
            let mut sector = [0_u8; 512];
            sector[bit / 8] |= 1 << (bit % 8);
            assert!(seen.insert(digest(&sector)), "bit {bit}");
        }
        for byte in 1..=255 {
            assert!(seen.insert(digest(&[byte; 512])), "byte {byte}");
            for at in (0..512).step_by(64) {
                let mut sector = [byte; 512];
                sector[at] ^= 1;
                assert!(seen.insert(digest(&sector)), "byte {byte}, changed at {at}");
            }
        }
        // As many bits differ as of two numbers that know nothing of each other.
        let ones: u32 = seen.iter().zip(seen.iter().skip(1)).map(|(a, b)| (a ^ b).count_ones()).sum();
        assert!(f64::from(ones) / seen.len() as f64 > 20.0);
    }
}
