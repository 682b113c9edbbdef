//! The part of a run that is measured, from the settings of the run and of its workload.

use workload::measure::{MeasureKeys, TargetState};

use super::rules::{Steady, Stop, WarmUp};

/// The part of a run that is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Window {
    pub(crate) warm_up: WarmUp,
    pub(crate) stop: Stop,
    /// True if the run or the workload states the end; false if the end follows from the warm-up.
    is_stop_given: bool,
    /// True if no part of the window is open any more.
    is_fixed: bool,
}

impl Window {
    pub(crate) fn warmed_up_by(self, warm_up: WarmUp) -> Self {
        Self { warm_up, ..self }
    }

    /// Replaces the end of the window.
    pub(crate) fn stopped_by(self, stop: Stop) -> Self {
        Self { stop, is_stop_given: true, ..self }
    }

    /// Closes all open parts of the window with their defaults.
    pub(crate) fn fixed(self) -> Self {
        Self { is_fixed: true, ..self }
    }

    /// Fills the open parts of the window from `other`.
    pub(crate) fn or(self, other: &MeasureKeys) -> Self {
        if self.is_fixed {
            return self;
        }
        let is_open = self.warm_up == WarmUp::None && !self.is_stop_given;
        if is_open && other.until == Some(TargetState::Worn) {
            return Self { stop: Stop::Worn(other.round), is_stop_given: true, is_fixed: true, ..self };
        }
        let plain = Steady::default();
        let steady = |metric| Steady { metric, round: other.round.unwrap_or(plain.round), ..plain };
        let warm_up = match (self.warm_up, other.until, other.warm_up) {
            (WarmUp::None, Some(TargetState::Steady(metric)), _) => WarmUp::Steady(steady(metric)),
            (WarmUp::None, None | Some(TargetState::Worn), Some(amount)) => amount.into(),
            (own, ..) => own,
        };
        match (self.is_stop_given, other.measure, warm_up) {
            (true, ..) => Self { warm_up, ..self },
            (false, Some(measure), _) => Self { warm_up, stop: measure.into(), is_stop_given: true, ..self },
            (false, None, WarmUp::Steady(steady)) => Self { warm_up, stop: steady.window(), ..self },
            (false, None, _) => Self { warm_up, ..self },
        }
    }

    /// The window of a later stage. The session's warm-up is over, and `left` is the rest of its end; parts that the
    /// session leaves open come from the stage's description.
    pub(crate) fn next(self, left: Stop, stage: &MeasureKeys) -> Self {
        let own = if self.warm_up == WarmUp::None {
            *stage
        } else {
            MeasureKeys { measure: stage.measure, ..MeasureKeys::default() }
        };
        let plain = Self::default();
        if self.stop == Stop::AtEnd { plain } else { plain.stopped_by(left) }.or(&own)
    }

    /// The number of requests up to which the run extends its first described workload, if that workload has fewer.
    pub(crate) const fn extends_to(&self) -> Option<u64> {
        match (self.is_fixed, self.warm_up, self.stop) {
            (false, WarmUp::None, Stop::Requests(requests)) => Some(requests),
            _ => None,
        }
    }

    /// The number of requests that ends a run without a warm-up.
    pub(crate) const fn stop_requests(&self) -> Option<u64> {
        match (self.warm_up, self.stop) {
            (WarmUp::None, Stop::Requests(requests)) => Some(requests),
            _ => None,
        }
    }

    /// True if the run lasts until the drive is worn.
    pub(crate) const fn is_life(&self) -> bool {
        matches!(self.stop, Stop::Worn(_))
    }

    /// True if described workloads end with the run, and not at their own limits.
    pub(crate) const fn ends_workloads(&self) -> bool {
        !matches!((self.warm_up, self.stop), (_, Stop::AtEnd) | (WarmUp::None, Stop::Requests(_)))
    }
}

#[cfg(test)]
mod tests {
    use workload::measure::{Amount, Metric};

    use super::*;

    fn measured(warm_up: Option<u64>, until: bool, measure: Option<u64>) -> MeasureKeys {
        let until = until.then_some(TargetState::Steady(Metric::Waf));
        let [warm_up, measure] = [warm_up, measure].map(|amount| amount.map(Amount::Requests));
        MeasureKeys { warm_up, until, round: None, measure }
    }

    #[test]
    fn what_the_run_says_comes_before_what_the_workload_says() {
        let run = |said: MeasureKeys| Window::default().or(&said);
        let of = |window: Window| (window.warm_up, window.stop);
        let workload = measured(Some(10), false, Some(20));
        let requests = |warm_up, stop| (WarmUp::Requests(warm_up), Stop::Requests(stop));
        assert_eq!(of(run(measured(None, false, None)).or(&workload)), requests(10, 20));
        assert_eq!(of(run(measured(Some(1), false, None)).or(&workload)), requests(1, 20));
        assert_eq!(of(run(measured(None, false, Some(2))).or(&workload)), requests(10, 2));
        assert_eq!(of(Window::default().stopped_by(Stop::Requests(3)).or(&workload)), requests(10, 3));
        let next = Window::default().next(Stop::Requests(0), &workload);
        assert_eq!(of(next), requests(10, 20), "a stage has a warm-up and an end of its own");
        let next = run(measured(Some(1), false, Some(9))).next(Stop::Requests(4), &workload);
        assert_eq!(of(next), (WarmUp::None, Stop::Requests(4)), "what the session says is for all stages together");
        // A run that waits for steady state still measures as much as the workload states, or else as much as follows
        // from the rule.
        let steady = Steady { metric: Metric::Waf, ..Steady::default() };
        let waits = run(measured(None, true, None));
        assert_eq!(of(waits.or(&workload)), (WarmUp::Steady(steady), Stop::Requests(20)));
        assert_eq!(of(waits.or(&MeasureKeys::default())), (WarmUp::Steady(steady), steady.window()));
        // A run to the end of the drive's life takes no other setting from the workload.
        let worn = |round| MeasureKeys { until: Some(TargetState::Worn), round, ..MeasureKeys::default() };
        let round = Some(Amount::Requests(7));
        assert_eq!(of(run(worn(round)).or(&workload)), (WarmUp::None, Stop::Worn(round)));
        assert_eq!(
            of(Window::default().stopped_by(Stop::Requests(3)).or(&worn(round))),
            (WarmUp::None, Stop::Requests(3))
        );
        // A fixed warm-up of the run takes the place of the workload's steady state.
        let workload = measured(None, true, None);
        assert_eq!(of(run(measured(Some(1), false, None)).or(&workload)), (WarmUp::Requests(1), Stop::AtEnd));
        assert_eq!(of(run(MeasureKeys::default()).or(&workload)), (WarmUp::Steady(steady), steady.window()));
    }
}
