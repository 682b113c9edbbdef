//! The hash of the buffer's tables.

use std::hash::Hasher;

/// Hashes by multiplication; the keys are small numbers, which no attacker chooses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Multiply(u64);

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, n: u32) {
        self.0 = (self.0 ^ u64::from(n)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }
}
