//! The memory of collections.

/// Bytes of a vector that has grown to `count` elements: its capacity doubles.
#[must_use]
pub const fn growing(count: u64, size: usize) -> u64 {
    count.next_power_of_two() * size as u64
}
