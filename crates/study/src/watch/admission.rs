//! The times in which a power state or the throttle kept a drive from taking requests. They divide the wait of a request in its queue.

use std::collections::VecDeque;

use base::units::Time;
use flash::backend::AdmissionDelay;

use super::journey::{JourneyPart, Leg};

/// The most delays that are kept. Delays of the throttle without a gap between them count as one.
const KEPT: usize = 1 << 12;

/// The latest delays, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct AdmissionDelays(VecDeque<(Time, Time, AdmissionDelay)>);

impl AdmissionDelays {
    pub(super) fn push(&mut self, from: Time, until: Time, why: AdmissionDelay) {
        if let Some((_, end, last)) = self.0.back_mut()
            && (*end, *last) == (from, why)
        {
            *end = until;
            return;
        }
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back((from, until, why));
    }

    /// Calls `visit` with each delay within a request's wait, which lasts from its arrival until the drive takes it.
    pub(super) fn legs(&self, (arrival, taken): (Time, Time), mut visit: impl FnMut(Leg)) {
        let mut leg = |part, from, until| {
            if from < until {
                visit(Leg { part, from, until, at: None, drive: None });
            }
        };
        let first = self.0.partition_point(|(_, end, _)| *end <= arrival);
        let mut now = arrival;
        for (begin, end, why) in self.0.range(first..) {
            let (begin, end) = ((*begin).clamp(now, taken), (*end).clamp(now, taken));
            leg(JourneyPart::Queue, now, begin);
            leg(
                match why {
                    AdmissionDelay::PowerState => JourneyPart::PowerState,
                    AdmissionDelay::Throttle => JourneyPart::Throttle,
                },
                begin,
                end,
            );
            now = end;
        }
        leg(JourneyPart::Queue, now, taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Time {
        Time::from_ps(us * 1_000_000)
    }

    #[test]
    fn a_wait_is_divided_by_the_delays_without_a_gap() {
        let mut delays = AdmissionDelays::default();
        delays.push(us(10), us(20), AdmissionDelay::PowerState);
        delays.push(us(30), us(40), AdmissionDelay::Throttle);
        delays.push(us(40), us(50), AdmissionDelay::Throttle);
        let legs = |arrival, taken| {
            let mut legs = Vec::new();
            let us_of = |time: Time| time.as_ps() / 1_000_000;
            delays.legs((us(arrival), us(taken)), |leg| legs.push((leg.part, us_of(leg.from), us_of(leg.until))));
            legs
        };
        assert_eq!(
            legs(0, 60),
            [
                (JourneyPart::Queue, 0, 10),
                (JourneyPart::PowerState, 10, 20),
                (JourneyPart::Queue, 20, 30),
                (JourneyPart::Throttle, 30, 50),
                (JourneyPart::Queue, 50, 60),
            ]
        );
        assert_eq!(
            legs(15, 35),
            [(JourneyPart::PowerState, 15, 20), (JourneyPart::Queue, 20, 30), (JourneyPart::Throttle, 30, 35)]
        );
        assert_eq!((legs(50, 60), legs(12, 12)), (vec![(JourneyPart::Queue, 50, 60)], vec![]));
    }
}
