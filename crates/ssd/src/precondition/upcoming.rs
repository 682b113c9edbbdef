//! The units that a step of preconditioning writes, one after another.

use std::collections::VecDeque;

use base::engine::Rng;
use base::units::Lpn;

/// Random units are drawn this many writes ahead, so that their map entries are prefetched.
const AHEAD: usize = 8;

pub(super) enum NextUnits {
    InOrder(u32),
    /// In random order, with repetitions.
    Drawn {
        rng: Rng,
        units: u64,
        drawn: VecDeque<Lpn>,
    },
}

impl NextUnits {
    /// Creates the order of all addresses, from the first unit on.
    pub(super) const fn in_order() -> Self {
        Self::InOrder(0)
    }

    /// Creates a random order of units below `units`.
    pub(super) fn random(rng: Rng, units: u64) -> Self {
        Self::Drawn { rng, units, drawn: VecDeque::with_capacity(AHEAD + 1) }
    }

    /// True if no unit occurs twice.
    pub(super) const fn is_in_order(&self) -> bool {
        matches!(self, Self::InOrder(_))
    }

    /// The next unit. `prefetch` prefetches the map entry of a unit that will come later.
    #[inline]
    pub(super) fn next(&mut self, fetch: impl Fn(Lpn)) -> Lpn {
        match self {
            Self::InOrder(next) => {
                *next += 1;
                Lpn::new(*next - 1)
            }
            Self::Drawn { rng, units, drawn } => loop {
                let later = Lpn::new(rng.below(*units) as u32);
                fetch(later);
                drawn.push_back(later);
                if drawn.len() > AHEAD
                    && let Some(next) = drawn.pop_front()
                {
                    return next;
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn units_are_written_in_the_order_in_which_they_are_drawn() {
        let fetched = RefCell::new(Vec::new());
        let mut upcoming = NextUnits::random(Rng::stream(7, "upcoming"), 1_000);
        let written: Vec<_> = (0..100).map(|_| upcoming.next(|lpn| fetched.borrow_mut().push(lpn))).collect();
        let mut rng = Rng::stream(7, "upcoming");
        let drawn: Vec<_> = (0..100 + AHEAD).map(|_| Lpn::new(rng.below(1_000) as u32)).collect();
        assert_eq!((written.as_slice(), fetched.into_inner()), (&drawn[..100], drawn.clone()));
    }

    #[test]
    fn a_step_in_order_begins_at_the_first_unit() {
        let mut upcoming = NextUnits::in_order();
        assert_eq!([(); 3].map(|()| upcoming.next(|_| ()).get()), [0, 1, 2]);
        assert!(upcoming.is_in_order());
    }
}
