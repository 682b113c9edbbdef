//! The pace of simulated time, and the map between the wall clock and simulated time.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use base::units::{Span, Time};

/// The latest simulated time to which a served drive advances: sums of device times that start here stay within 64 bits.
pub(crate) const END: Time = Time::from_ps(u64::MAX - (1 << 59));

/// Parts of a factor: simulated nanoseconds in this many nanoseconds of the wall clock.
const PARTS: u128 = 1_000_000_000;
const PS_PER_NS: u128 = 1_000;

/// The pace at which simulated time passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// Simulated time passes as fast as the wall clock: a request takes as long as the drive would take.
    #[default]
    Real,
    /// Simulated time passes this many times as fast as the wall clock.
    Factor(Factor),
    /// Simulated time passes as fast as the machine can simulate: it jumps to the next event.
    Max,
}

/// A positive factor, exact to a thousand-millionth: simulated time over wall time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor(u64);

impl Factor {
    /// The factor: simulated time over wall time.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0 as f64 / PARTS as f64
    }
}

/// A text that names no pace. The field is the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsePaceError(String);

impl fmt::Display for ParsePaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = self;
        write!(f, "`{text}` is no pace; write real, max, or a factor from 0.000001 to 1000, e.g. 0.1")
    }
}

impl std::error::Error for ParsePaceError {}

impl FromStr for Pace {
    type Err = ParsePaceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "real" => return Ok(Self::Real),
            "max" => return Ok(Self::Max),
            _ => {}
        }
        let factor = text.parse::<f64>().ok().filter(|factor| (1e-6..=1e3).contains(factor));
        let factor = factor.ok_or_else(|| ParsePaceError(text.to_owned()))?;
        match (factor * PARTS as f64).round() as u64 {
            parts if u128::from(parts) == PARTS => Ok(Self::Real),
            parts => Ok(Self::Factor(Factor(parts))),
        }
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Real => f.write_str("real"),
            Self::Factor(factor) => write!(f, "{}", factor.get()),
            Self::Max => f.write_str("max"),
        }
    }
}

impl Pace {
    /// The pace in parts of the wall clock's speed; `None` for [`Pace::Max`].
    const fn parts(self) -> Option<u128> {
        match self {
            Self::Real => Some(PARTS),
            Self::Factor(Factor(parts)) => Some(parts as u128),
            Self::Max => None,
        }
    }

    /// The time on the wall clock that a span of simulated time takes; `None` for [`Pace::Max`].
    #[must_use]
    pub fn on_the_wall(self, span: Span) -> Option<Duration> {
        Some(Duration::from_nanos(wall_ns(span, self.parts()?)))
    }
}

/// Nanoseconds of the wall clock, rounded up.
fn wall_ns(span: Span, parts: u128) -> u64 {
    let ns = (u128::from(span.as_ps()) * PARTS).div_ceil(parts * PS_PER_NS);
    u64::try_from(ns).unwrap_or(u64::MAX)
}

/// Maps the wall clock to simulated time and back. It reads no clock: the caller passes wall times, counted from any moment.
#[derive(Clone, Copy, Debug)]
pub struct Timeline {
    pace: Pace,
    /// A moment on the wall clock, and the simulated time at it.
    wall: Duration,
    simulated: Time,
}

impl Timeline {
    /// The timeline that has the simulated time `simulated` at the wall time `wall`.
    #[must_use]
    pub const fn new(pace: Pace, wall: Duration, simulated: Time) -> Self {
        Self { pace, wall, simulated }
    }

    /// The present pace, see [`Timeline::go_on`].
    #[must_use]
    pub const fn pace(&self) -> Pace {
        self.pace
    }

    /// The simulated time at the wall time `wall`; at least the time of the start. `None` for [`Pace::Max`].
    #[must_use]
    pub fn simulated(&self, wall: Duration) -> Option<Time> {
        let ps = wall.saturating_sub(self.wall).as_nanos().saturating_mul(PS_PER_NS * self.pace.parts()?) / PARTS;
        let span = Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX));
        Some((self.simulated + span).min(END))
    }

    /// The first nanosecond on the wall clock at which the simulated time is at least `at`. `None` for [`Pace::Max`].
    #[must_use]
    pub fn wall(&self, at: Time) -> Option<Duration> {
        let after = wall_ns(at.saturating_since(self.simulated), self.pace.parts()?);
        Some(self.wall.saturating_add(Duration::from_nanos(after)))
    }

    /// Changes the pace at the wall time `wall`, which has the simulated time `now`.
    pub fn go_on(&mut self, pace: Pace, wall: Duration, now: Time) {
        *self = Self::new(pace, wall, now);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pace(text: &str) -> Pace {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_pace_prints_as_it_parses() {
        for text in ["real", "max", "0.1", "10", "0.000001", "1000"] {
            assert_eq!(pace(text).to_string(), text);
        }
        assert_eq!((pace("1"), pace("1.0")), (Pace::Real, Pace::Real));
        for text in ["", "0", "-1", "fast", "NaN", "inf", "1001", "0.0000001"] {
            let error = text.parse::<Pace>().expect_err(text).to_string();
            assert!(error.contains("write real, max, or a factor"), "{error}");
        }
    }

    #[test]
    fn a_tenth_of_the_speed_takes_ten_times_as_long() {
        let line = Timeline::new(pace("0.1"), Duration::from_secs(5), Time::from_ps(7));
        assert_eq!(line.simulated(Duration::from_secs(15)), Some(Time::from_ps(7 + 1_000_000_000_000)));
        assert_eq!(line.wall(Time::from_ps(7 + 1_000_000_000_000)), Some(Duration::from_secs(15)));
        assert_eq!(line.simulated(Duration::from_secs(1)), Some(Time::from_ps(7)), "before the start");
        assert_eq!(line.pace().on_the_wall(Span::from_us(3)), Some(Duration::from_micros(30)));
    }

    #[test]
    fn the_pace_without_a_clock_has_no_times() {
        let line = Timeline::new(Pace::Max, Duration::ZERO, Time::ZERO);
        assert_eq!((line.simulated(Duration::from_secs(1)), line.wall(Time::from_ps(1))), (None, None));
        assert_eq!(Pace::Max.on_the_wall(Span::from_us(1)), None);
    }

    #[test]
    fn another_pace_goes_on_from_the_present() {
        let mut line = Timeline::new(Pace::Real, Duration::ZERO, Time::ZERO);
        let now = line.simulated(Duration::from_secs(2)).expect("it has a clock");
        line.go_on(pace("10"), Duration::from_secs(2), now);
        assert_eq!(line.simulated(Duration::from_secs(2)), Some(now));
        assert_eq!(line.simulated(Duration::from_secs(3)), Some(now + Span::from_secs(10)));
    }

    #[test]
    fn time_ends_and_does_not_wrap() {
        let line = Timeline::new(pace("1000"), Duration::ZERO, Time::ZERO);
        assert_eq!(line.simulated(Duration::MAX), Some(END));
        assert!(line.wall(Time::MAX).is_some());
    }

    proptest! {
        /// An event is due at the first nanosecond at which simulated time has reached it: the server that sleeps until
        /// then finds it due, and a nanosecond earlier it would not.
        #[test]
        fn an_event_is_due_when_the_wall_clock_reaches_it(
            factor in prop_oneof![Just(1.0), 1e-6..1e3_f64], start in 0..1_u64 << 40, at in 0..1_u64 << 50,
        ) {
            let line = Timeline::new(pace(&factor.to_string()), Duration::from_nanos(start), Time::from_ps(start));
            let at = Time::from_ps(start + at);
            let wall = line.wall(at).expect("it has a clock");
            prop_assert!(line.simulated(wall).expect("it has a clock") >= at);
            if wall > Duration::from_nanos(start) {
                let before = wall - Duration::from_nanos(1);
                prop_assert!(line.simulated(before).expect("it has a clock") < at);
            }
        }
    }
}
