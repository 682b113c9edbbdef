//! What a power cut may have left half done: writes of the host, counted.

/// Writes and discards of the host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writes {
    pub(crate) under_way: u64,
    pub(crate) ended: u64,
    /// Those that a flush has made durable.
    pub(crate) durable: u64,
    /// A discard has been carried out: drives may forget it without power, each for itself.
    pub(crate) has_discarded: bool,
}

impl Writes {
    /// Notes that some have ended.
    pub(crate) const fn end(&mut self, count: u64) {
        self.under_way -= count;
        self.ended += count;
    }

    /// True if every drive holds all of them after a power cut.
    pub(crate) const fn are_durable(&self) -> bool {
        self.under_way == 0 && self.ended == self.durable && !self.has_discarded
    }

    /// After the repair that follows a power cut, only later writes count.
    pub(crate) const fn lose_power(&mut self) {
        (self.under_way, self.durable) = (0, self.ended);
    }
}
