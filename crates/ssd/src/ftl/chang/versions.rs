//! The version counter: a write request has the next number, which the spare areas of its pages keep.

/// The latest version that was given to a write, or found at mount.
#[derive(Clone, Debug, Default)]
pub(super) struct Versions {
    latest: u32,
}

impl Versions {
    pub(super) const fn latest(&self) -> u32 {
        self.latest
    }

    /// The version for the next request: all its units share it.
    ///
    /// # Panics
    /// After 2^32 - 1 writes.
    pub(super) fn next(&mut self) -> u32 {
        self.latest = self.latest.checked_add(1).expect("2^32 writes: versions in the spare areas are used up");
        self.latest
    }

    /// A spare area has this version.
    pub(super) fn found(&mut self, version: u32) {
        self.latest = self.latest.max(version);
    }
}

#[cfg(test)]
mod tests {
    use super::Versions;

    #[test]
    fn the_next_is_above_all_that_were_found() {
        let mut versions = Versions::default();
        [3, 7, 5].into_iter().for_each(|version| versions.found(version));
        assert_eq!((versions.next(), versions.latest()), (8, 8));
    }

    #[test]
    #[should_panic(expected = "versions in the spare areas are used up")]
    fn they_do_not_begin_anew() {
        Versions { latest: u32::MAX }.next();
    }
}
