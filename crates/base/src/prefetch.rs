//! Prefetches memory that will be needed soon.
//!
//! A load that misses all caches stalls retirement once the reorder buffer is full, even if nothing uses its result
//! yet. A prefetch does not.

use std::sync::Arc;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Brings all cache lines of `data` into the caches; without effect for `None`.
#[inline]
pub fn prefetch_whole<T>(data: Option<&T>) {
    prefetch_all(data.map(std::slice::from_ref));
}

/// Brings all cache lines of adjacent items into the caches; without effect for `None`.
#[inline]
pub fn prefetch_all<T>(data: Option<&[T]>) {
    let Some(data) = data else { return };
    let start = data.as_ptr().cast::<u8>();
    for line in (0..size_of_val(data)).step_by(LINE) {
        branches::prefetch_read_data::<u8, 0>(start.wrapping_add(line));
    }
    // The items may begin inside a line, so the last byte may be in a further one.
    branches::prefetch_read_data::<u8, 0>(start.wrapping_add(size_of_val(data).saturating_sub(1)));
}

/// Brings the content of an [`Arc`] into the caches, with the count of its owners, which lies before it.
#[inline]
pub fn prefetch_shared<T>(data: &Arc<T>) {
    branches::prefetch_read_data::<u8, 0>(Arc::as_ptr(data).cast::<u8>().wrapping_sub(2 * size_of::<usize>()));
    prefetch_whole(Some(&**data));
}

/// Brings the first cache line of `data` into the caches; without effect for `None`.
#[inline]
pub fn prefetch<T>(data: Option<&T>) {
    if let Some(data) = data {
        branches::prefetch_read_data::<T, 0>(data);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_prefetch_changes_nothing() {
        let data = vec![1, 2, 3];
        super::prefetch(data.get(1));
        super::prefetch(data.get(3));
        super::prefetch_whole(data.first_chunk::<3>());
        super::prefetch_whole(Some(&()));
        super::prefetch_all(data.get(1..));
        super::prefetch_all(data.get(3..));
        super::prefetch_all(data.get(4..));
        let shared = super::Arc::new(data.clone());
        super::prefetch_shared(&shared);
        assert_eq!((shared.as_ref(), super::Arc::strong_count(&shared)), (&vec![1, 2, 3], 1));
        assert_eq!(data, [1, 2, 3]);
    }
}
