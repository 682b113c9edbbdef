//! Prefetches memory that will be looked at soon.
//!
//! A load of data that no cache holds keeps the processor waiting as soon as it has begun some hundred instructions
//! behind it, even if nothing needs the data yet. A prefetch does not.

/// Brings the memory of `data` into the caches; nothing if there is none.
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
        assert_eq!(data, [1, 2, 3]);
    }
}
