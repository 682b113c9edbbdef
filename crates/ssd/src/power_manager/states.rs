//! The power state of an idle drive as a function of the time for which the drive has been idle: no event marks a transition.

use base::units::Span;

use crate::spec::PowerState;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdlePhase {
    /// The drive is in no power state.
    Operational,
    /// The drive enters the power state of this number.
    Entry(usize),
    /// The drive is in the power state of this number.
    State(usize),
}

/// The phase of an idle drive at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdleMoment {
    pub(super) phase: IdlePhase,
    /// Time until the end of an entry; zero in other phases.
    pub(super) entry_left: Span,
}

impl IdleMoment {
    /// Time until the drive takes a request that arrives at this moment.
    pub(super) fn wake_time(self, states: &[PowerState]) -> Span {
        match self.phase {
            IdlePhase::Operational => Span::ZERO,
            IdlePhase::Entry(state) | IdlePhase::State(state) => self.entry_left + states[state].exit,
        }
    }
}

/// Calls `visit` with each phase of a drive that has been idle for `idle`, and with the length of the phase so far. Returns the present
/// phase.
pub(super) fn visit_phases(states: &[PowerState], idle: Span, mut visit: impl FnMut(IdlePhase, Span)) -> IdleMoment {
    let (mut phase, mut at) = (IdlePhase::Operational, Span::ZERO);
    for (number, state) in states.iter().enumerate() {
        // An entry ends before the next one begins, even if the next threshold comes earlier.
        let begin = state.idle_after.max(at);
        if idle < begin {
            break;
        }
        visit(phase, begin - at);
        let end = begin + state.entry;
        if idle < end {
            visit(IdlePhase::Entry(number), idle - begin);
            return IdleMoment { phase: IdlePhase::Entry(number), entry_left: end - idle };
        }
        visit(IdlePhase::Entry(number), state.entry);
        (phase, at) = (IdlePhase::State(number), end);
    }
    visit(phase, idle - at);
    IdleMoment { phase, entry_left: Span::ZERO }
}

#[cfg(test)]
mod tests {
    use base::units::Power;
    use proptest::prelude::*;

    use super::*;

    const fn state(idle_after: u64, entry: u64, exit: u64) -> PowerState {
        let [idle_after, entry, exit] = [Span::from_ms(idle_after), Span::from_ms(entry), Span::from_ms(exit)];
        PowerState { power: Power::from_uw(5_000), idle_after, entry, exit }
    }

    #[test]
    fn a_request_waits_for_the_rest_of_the_entry_and_for_the_exit() {
        let states = [state(100, 2, 8), state(2000, 15, 65)];
        let wait = |ms| visit_phases(&states, Span::from_ms(ms), |_, _| {}).wake_time(&states);
        assert_eq!([0, 99].map(wait), [Span::ZERO; 2]);
        assert_eq!([100, 101, 102, 1999].map(wait), [10, 9, 8, 8].map(Span::from_ms));
        assert_eq!([2000, 2005, 2015, 9999].map(wait), [80, 75, 65, 65].map(Span::from_ms));
    }

    #[test]
    fn an_entry_that_is_longer_than_the_next_threshold_ends_first() {
        let states = [state(10, 50, 1), state(20, 5, 2)];
        let wait = |ms| visit_phases(&states, Span::from_ms(ms), |_, _| {}).wake_time(&states);
        assert_eq!([30, 59, 60, 62, 65].map(wait), [31, 2, 7, 5, 2].map(Span::from_ms));
    }

    proptest! {
        /// Compares the sum of the phases with the idle time.
        #[test]
        fn the_phases_add_up(
            gaps in prop::collection::vec((1u64..50, 0u64..80, 0u64..50), 0..4),
            idle in 0u64..400,
        ) {
            let mut after = 0;
            let states: Vec<_> = gaps.into_iter().map(|(gap, entry, exit)| {
                after += gap;
                state(after, entry, exit)
            }).collect();
            let (mut sum, mut last) = (Span::ZERO, IdlePhase::Operational);
            let moment = visit_phases(&states, Span::from_ms(idle), |phase, span| {
                sum += span;
                last = phase;
            });
            prop_assert_eq!((sum, last), (Span::from_ms(idle), moment.phase));
        }
    }
}
