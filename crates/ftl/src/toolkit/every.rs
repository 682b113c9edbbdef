//! A periodic trigger: due after every `period` events.

/// The number of events since the trigger was last due, and its period.
#[derive(Clone, Debug)]
pub(crate) struct PeriodicTrigger {
    period: u32,
    since: u32,
}

impl PeriodicTrigger {
    pub(crate) const fn new(period: u32) -> Self {
        Self { period, since: 0 }
    }

    pub(crate) const fn count(&mut self) {
        self.since += 1;
    }

    /// True if the trigger is due. The count then starts again.
    pub(crate) const fn take_due(&mut self) -> bool {
        let is_due = self.since >= self.period;
        if is_due {
            self.since = 0;
        }
        is_due
    }

    /// Counts an event. Returns true if the trigger is due; the count then starts again.
    pub(crate) const fn tick(&mut self) -> bool {
        self.count();
        self.take_due()
    }
}

#[cfg(test)]
mod tests {
    use super::PeriodicTrigger;

    #[test]
    fn a_trigger_is_due_once_per_period() {
        let mut every = PeriodicTrigger::new(3);
        let due: Vec<bool> = (0..7).map(|_| every.tick()).collect();
        assert_eq!(due, [false, false, true, false, false, true, false]);
        // A due trigger stays due until `take_due`.
        (0..5).for_each(|_| every.count());
        assert!(every.take_due() && !every.take_due());
    }
}
