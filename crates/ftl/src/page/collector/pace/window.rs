//! The pace by windows of time: a drive collects only in its own windows. A host that gives the drives of an array
//! different windows knows which of them may be busy (time windows of IODA, Li et al., SOSP 2021; the NVM sets with
//! predictable latency of NVM Express are of this kind).

use base::fault::Faults;
use base::units::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CollectionPolicy, CollectionPool};

/// Windows of equal length that follow each other: of each `of` successive windows, the drive collects in the one with
/// the number `turn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CollectionWindow {
    /// The simulated length of each window.
    #[schemars(extend("examples" = ["100ms"]))]
    pub length: Span,
    /// The number of windows in a round, of which one is the drive's: 2 to 1000.
    pub of: u32,
    /// The number of the drive's window in a round, from 0.
    pub turn: u32,
}

impl CollectionWindow {
    pub(super) fn check(&self, faults: &mut Faults) {
        if self.length.is_zero() {
            faults.add("ftl.gc.pace.length", "is zero", "use a length above zero, e.g. \"100ms\"");
        }
        faults.within("ftl.gc.pace.of", self.of, 2..=1000);
        if self.turn >= self.of {
            let message = format!("there is no window {} of {}", self.turn, self.of);
            faults.add("ftl.gc.pace.turn", message, format!("use 0 to {}", self.of.saturating_sub(1)));
        }
    }

    /// True if the drive may collect at this time.
    #[must_use]
    pub const fn is_open(&self, now: Time) -> bool {
        now.as_ps() / self.length.as_ps() % self.of as u64 == self.turn as u64
    }

    /// The beginning of the drive's next window.
    #[must_use]
    pub fn next(&self, now: Time) -> Time {
        let round = self.length.as_ps() * u64::from(self.of);
        let begin = self.length.as_ps() * u64::from(self.turn);
        let rounds = (now.as_ps() + round - begin) / round;
        Time::from_ps(rounds * round + begin)
    }
}

impl CollectionPolicy for CollectionWindow {
    fn copies(&self, pool: &CollectionPool<'_>) -> u32 {
        if self.is_open(pool.now()) { pool.parallel() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_take_turns_and_each_knows_its_next_window() {
        let windows = [0, 1, 2].map(|turn| CollectionWindow { length: Span::from_ms(10), of: 3, turn });
        for ms in 0..120 {
            let now = Time::ZERO + Span::from_ms(ms) + Span::from_us(500);
            let open = windows.map(|window| window.is_open(now));
            assert_eq!(open.iter().filter(|open| **open).count(), 1, "{ms} ms");
            assert!(open[(ms / 10 % 3) as usize], "{ms} ms");
            for window in windows {
                let next = window.next(now);
                assert!(next > now && next - now <= Span::from_ms(30), "{ms} ms: {next}");
                assert!(window.is_open(next) && !window.is_open(Time::from_ps(next.as_ps() - 1)), "{ms} ms: {next}");
            }
        }
    }
}
