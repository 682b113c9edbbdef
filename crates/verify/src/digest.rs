//! The digest of a sector: 64 bits instead of its 512 bytes.

use base::units::SECTOR;

/// The digest of zeros.
pub(crate) const ZEROS: u64 = 0;
/// No digest: the content is not known.
pub(crate) const UNKNOWN: u64 = u64::MAX;

/// Constants without a bit pattern: of the golden ratio, and of pi.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
const START: u64 = 0x243f_6a88_85a3_08d3;

/// Both halves of a product, so that each bit of a factor changes bits everywhere.
const fn fold(a: u64, b: u64) -> u64 {
    let product = (a as u128) * (b as u128);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Bytes of a sector.
const SIZE: usize = SECTOR.get() as usize;

/// Sectors whose digests are computed side by side. Each is a chain of multiplications, and a processor works on several
/// chains at once.
const LANES: usize = 4;

fn side_by_side<const N: usize>(sectors: &[[u8; SIZE]; N]) -> [u64; N] {
    let mut states = [START; N];
    let mut any = [0; N];
    let words = sectors.each_ref().map(|sector| sector.as_chunks::<8>().0);
    for place in 0..SIZE / 8 {
        for (words, (state, any)) in words.iter().zip(states.iter_mut().zip(&mut any)) {
            let word = u64::from_le_bytes(words[place]);
            *any |= word;
            // The place is part of the digest, so that exchanged words change the digest.
            let mixed = fold(*state ^ word, FACTOR ^ (place as u64 + 1));
            *state = mixed.rotate_left(29) ^ word;
        }
    }
    std::array::from_fn(|lane| match any[lane] {
        0 => ZEROS,
        _ => fold(states[lane], FACTOR).clamp(ZEROS + 1, UNKNOWN - 1),
    })
}

/// The digests of the sectors of a request. Two different contents have equal digests with a probability of 2^-64.
pub(crate) fn digests(bytes: &[u8]) -> Box<[u64]> {
    let (groups, rest) = bytes.as_chunks().0.as_chunks::<LANES>();
    groups.iter().flat_map(side_by_side).chain(rest.iter().flat_map(|one| side_by_side(&[*one]))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn digest(sector: &[u8; SIZE]) -> u64 {
        digests(sector)[0]
    }

    #[test]
    fn sectors_side_by_side_have_the_digests_of_each_alone() {
        let bytes: Vec<u8> = (0..9 * SIZE as u32).map(|i| ((i * i) >> 7) as u8).collect();
        for sectors in 0..=9 {
            let each = bytes.as_chunks::<SIZE>().0.iter().take(sectors).map(digest);
            assert_eq!(*digests(&bytes[..sectors * SIZE]), *each.collect::<Vec<_>>(), "{sectors} sectors");
        }
        assert_eq!(digests(&bytes)[0], 0xb320_9cff_286b_0304, "the files of kept drives have such digests");
    }

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
        // On average half of the bits differ, as between two random numbers.
        let ones: u32 = seen.iter().zip(seen.iter().skip(1)).map(|(a, b)| (a ^ b).count_ones()).sum();
        assert!(f64::from(ones) / seen.len() as f64 > 20.0);
    }
}
