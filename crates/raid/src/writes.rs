//! Counts the writes that a power cut may leave incomplete.

/// Writes and discards of the host, and the steps of rebuilds and repairs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writes {
    under_way: u32,
    pub(crate) ended: u64,
    /// The number of writes that a flush has made durable.
    durable: u64,
    /// True if a discard has been carried out, which each drive may forget on its own without power.
    pub(crate) has_discarded: bool,
}

impl Writes {
    pub(crate) const fn begin(&mut self) {
        self.under_way += 1;
    }

    pub(crate) const fn end(&mut self) {
        self.under_way -= 1;
        self.ended += 1;
    }

    /// Notes the end of a flush that began after `writes` writes.
    pub(crate) fn flushed(&mut self, writes: u64) {
        self.durable = self.durable.max(writes);
    }

    /// True if every drive would have all writes after a power cut.
    pub(crate) const fn are_durable(&self) -> bool {
        self.under_way == 0 && self.ended == self.durable && !self.has_discarded
    }

    /// Forgets the writes before the power cut: only later writes count.
    pub(crate) const fn lose_power(&mut self) {
        (self.under_way, self.durable) = (0, self.ended);
    }
}
