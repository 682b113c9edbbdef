//! The versions of writes that spare areas store.

/// A counter of writes over the life of a drive, which gives each write its version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Versions {
    latest: u32,
}

impl Versions {
    /// The counter of a drive whose latest write had this version.
    pub(crate) const fn after(latest: u32) -> Self {
        Self { latest }
    }

    /// The version of the latest write; 0 before the first.
    pub(crate) const fn latest(self) -> u32 {
        self.latest
    }

    /// The version for the next request: all its mapping units share it.
    ///
    /// # Panics
    /// After 2^32 - 1 writes.
    pub(crate) const fn next(&mut self) -> u32 {
        self.latest = self.latest.checked_add(1).expect("2^32 writes: versions in the spare areas are used up");
        self.latest
    }

    /// Notes a version that a mount has found, so that new versions are higher.
    #[inline]
    pub(crate) fn note(&mut self, found: u32) {
        self.latest = self.latest.max(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_continues_after_the_latest_version_it_finds() {
        let mut versions = Versions::default();
        [3, 7, 5].into_iter().for_each(|found| versions.note(found));
        assert_eq!((versions.latest(), versions.next(), versions.next(), versions.latest()), (7, 8, 9, 9));
        assert_eq!(Versions::after(4).next(), 5);
    }

    #[test]
    #[should_panic(expected = "are used up")]
    fn the_versions_run_out_after_the_last() {
        let mut versions = Versions::after(u32::MAX - 1);
        assert_eq!(versions.next(), u32::MAX);
        let _ = versions.next();
    }
}
