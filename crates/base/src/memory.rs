//! How much memory collections take.

/// Bytes of a vector that has grown to so many elements: its room doubles.
#[must_use]
pub const fn growing(count: u64, size: usize) -> u64 {
    count.next_power_of_two() * size as u64
}
