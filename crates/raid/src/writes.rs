//! Counts the writes that a power cut may leave half done.

/// Writes and discards of the host, and the steps of rebuilds and repairs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writes {
    under_way: u32,
    pub(crate) ended: u64,
    /// Those that a flush has made durable.
    durable: u64,
    /// A discard has been carried out: drives may forget it without power, each for itself.
    pub(crate) has_discarded: bool,
}

impl Writes {
    /// Notes that one has begun.
    pub(crate) const fn begin(&mut self) {
        self.under_way += 1;
    }

    /// Notes that one has ended.
    pub(crate) const fn end(&mut self) {
        self.under_way -= 1;
        self.ended += 1;
    }

    /// Notes that a flush has ended that began after so many writes.
    pub(crate) fn flushed(&mut self, writes: u64) {
        self.durable = self.durable.max(writes);
    }

    /// True if every drive holds all of them after a power cut.
    pub(crate) const fn are_durable(&self) -> bool {
        self.under_way == 0 && self.ended == self.durable && !self.has_discarded
    }

    /// Forgets the writes before the power cut: only later ones count.
    pub(crate) const fn lose_power(&mut self) {
        (self.under_way, self.durable) = (0, self.ended);
    }
}
