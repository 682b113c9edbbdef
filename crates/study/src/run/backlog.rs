//! The requests outstanding at the arrivals of an open loop, in bounded memory.

/// The most stretches that are kept. When there are more, neighbours are joined, which halves their number.
const STRETCHES: usize = 80;

/// The number of parts of a run whose backlogs are compared.
pub(super) const PARTS: usize = 5;

/// The range of the number of outstanding requests at the arrivals of a part of a run. An arrival counts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The least number of outstanding requests.
    pub least: u64,
    /// The most outstanding requests.
    pub most: u64,
}

impl Level {
    fn with(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most) }
    }
}

/// The levels of stretches with equally many arrivals. When there are too many stretches, neighbours are joined.
#[derive(Clone, Debug)]
pub(super) struct Backlog {
    stretches: Vec<Level>,
    /// The number of arrivals in a full stretch.
    length: u64,
    /// The number of arrivals in the last stretch.
    filled: u64,
}

impl Default for Backlog {
    fn default() -> Self {
        Self { stretches: Vec::with_capacity(STRETCHES), length: 1, filled: 0 }
    }
}

impl Backlog {
    /// Records an arrival after which this many requests are outstanding.
    #[inline]
    pub(super) fn arrived(&mut self, outstanding: u64) {
        let level = Level { least: outstanding, most: outstanding };
        match self.stretches.last_mut() {
            Some(last) if self.filled < self.length => {
                *last = last.with(level);
                self.filled += 1;
            }
            _ => self.begin(level),
        }
    }

    #[cold]
    fn begin(&mut self, level: Level) {
        if self.stretches.len() == STRETCHES {
            for i in 0..STRETCHES / 2 {
                self.stretches[i] = self.stretches[2 * i].with(self.stretches[2 * i + 1]);
            }
            self.stretches.truncate(STRETCHES / 2);
            self.length *= 2;
        }
        self.stretches.push(level);
        self.filled = 1;
    }

    /// The levels of the parts of the run, each with about equally many arrivals; `None` if there are too few.
    pub(super) fn parts(&self) -> Option<[Level; PARTS]> {
        let all = self.stretches.len();
        if all < STRETCHES / 2 {
            return None;
        }
        let part = |i: usize| {
            let stretches = &self.stretches[i * all / PARTS..(i + 1) * all / PARTS];
            stretches.iter().copied().reduce(Level::with).expect("each part has several stretches")
        };
        Some(std::array::from_fn(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(levels: impl IntoIterator<Item = u64>) -> Option<[Level; PARTS]> {
        let mut backlog = Backlog::default();
        levels.into_iter().for_each(|outstanding| backlog.arrived(outstanding));
        backlog.parts()
    }

    #[test]
    fn every_part_has_the_extremes_of_its_arrivals() {
        for count in [40, 1_000, 12_345, 1_000_000] {
            let found = parts(1..=count).expect("enough arrivals");
            // A stretch is at most a fortieth of the run.
            let slack = count as f64 / 40.0 + 1.0;
            for (i, level) in found.iter().enumerate() {
                let wanted = [i, i + 1].map(|edge| edge as f64 * count as f64 / PARTS as f64);
                assert!((level.least as f64 - wanted[0]).abs() <= slack, "{count}: {found:?}");
                assert!((level.most as f64 - wanted[1]).abs() <= slack, "{count}: {found:?}");
                assert_eq!(level.least, if i == 0 { 1 } else { found[i - 1].most + 1 }, "no arrival is lost");
            }
            assert_eq!(found[PARTS - 1].most, count);
        }
        assert_eq!(parts(1..40), None);
    }

    #[test]
    fn stretches_are_joined_in_place() {
        let mut backlog = Backlog::default();
        let room = backlog.stretches.capacity();
        (0..1_000_000).for_each(|outstanding| backlog.arrived(outstanding));
        assert!(backlog.stretches.len() <= STRETCHES && backlog.stretches.capacity() == room);
    }
}
