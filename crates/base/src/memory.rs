//! The memory of collections.

/// The bytes of a vector that has grown to `count` elements of `size` bytes: its capacity doubles.
#[must_use]
pub const fn growing(count: u64, size: usize) -> u64 {
    count.next_power_of_two() * size as u64
}
