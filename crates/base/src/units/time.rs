//! Simulated time in integer picoseconds.
//!
//! The unit is the picosecond because one byte at 667 MB/s takes 1,499.25 ps: with whole nanoseconds, 667 MT/s and 1
//! GT/s would be the same bus. 2^64 ps are 213 days. Longer sums saturate at [`Time::MAX`] and [`Span::MAX`], so that
//! every time beyond the end has one value, and a run that reaches it can report it.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A point in simulated time, counted from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// A time later than any event; it stands for every time beyond the end.
    pub const MAX: Self = Self(u64::MAX);
    /// The last instant of simulated time.
    pub const END: Self = Self(u64::MAX - 1);

    /// The time `ps` picoseconds after the start.
    #[must_use]
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Picoseconds since the start.
    #[must_use]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Seconds since the start.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-12
    }

    /// The span since `earlier`, zero if `earlier` is later.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// A span of zero picoseconds.
    pub const ZERO: Self = Self(0);
    /// The longest span: 2^64 - 1 picoseconds, about 213 days.
    pub const MAX: Self = Self(u64::MAX);

    /// `ps` picoseconds.
    #[must_use]
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// `ns` nanoseconds.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1_000)
    }

    /// `us` microseconds.
    #[must_use]
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }

    /// `ms` milliseconds.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000_000)
    }

    /// `s` seconds.
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000_000)
    }

    /// The nearest span to `s` seconds.
    ///
    /// # Panics
    /// If `s` is negative, not a number, or longer than 213 days.
    #[must_use]
    pub fn from_secs_f64(s: f64) -> Self {
        let ps = (s * 1e12).round();
        assert!((0.0..u64::MAX as f64).contains(&ps), "{s} s is not a span of simulated time");
        Self(ps as u64)
    }

    /// Picoseconds.
    #[must_use]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds, rounded down.
    #[must_use]
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }

    /// Microseconds.
    #[must_use]
    pub fn as_us_f64(self) -> f64 {
        self.0 as f64 * 1e-6
    }

    /// Seconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-12
    }

    /// The difference, zero if `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// True for the empty span.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

/// The sum of two times, at most the largest 64-bit number. A branch that is never taken costs less than a saturating
/// sum, because every event waits for its result.
#[inline]
const fn sum(a: u64, b: u64) -> u64 {
    match a.overflowing_add(b) {
        (sum, false) => sum,
        (_, true) => beyond(),
    }
}

#[cold]
const fn beyond() -> u64 {
    u64::MAX
}

impl Add<Span> for Time {
    type Output = Self;
    #[inline]
    fn add(self, rhs: Span) -> Self {
        Self(sum(self.0, rhs.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, rhs: Span) {
        *self = *self + rhs;
    }
}

impl Sub for Time {
    type Output = Span;
    #[inline]
    fn sub(self, rhs: Self) -> Span {
        assert!(self.0 >= rhs.0, "time runs backwards: {self} is before {rhs}");
        Span(self.0 - rhs.0)
    }
}

impl Add for Span {
    type Output = Self;
    #[inline]
    fn add(self, rhs: Self) -> Self {
        Self(sum(self.0, rhs.0))
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        assert!(self.0 >= rhs.0, "negative span: {self} - {rhs}");
        Self(self.0 - rhs.0)
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, rhs: Self) {
        *self = *self - rhs;
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    #[inline]
    fn mul(self, rhs: u64) -> Self {
        Self(self.0.saturating_mul(rhs))
    }
}

impl Div<u64> for Span {
    type Output = Self;
    fn div(self, rhs: u64) -> Self {
        Self(self.0 / rhs)
    }
}

impl Sum for Span {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Span {
    /// Writes the largest unit that leaves at least one whole, and at most three decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 5] =
            [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns"), (1, "ps")];
        let (size, name) = UNITS.into_iter().find(|(size, _)| self.0 >= *size).unwrap_or((1, "ps"));
        let text = format!("{:.3}", self.0 as f64 / size as f64);
        write!(f, "{}{name}", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t={}", Span(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_print_in_their_natural_unit() {
        assert_eq!(Span::from_us(25).to_string(), "25us");
        assert_eq!(Span::from_ps(6_716_642).to_string(), "6.717us");
        assert_eq!(Span::ZERO.to_string(), "0ps");
        assert_eq!(Span::from_ms(1500).to_string(), "1.5s");
    }

    #[test]
    fn time_saturates_at_its_maximum() {
        let day = Span::from_secs(86_400);
        assert_eq!(Time::ZERO + day * 213, Time::from_ps(213 * 86_400 * 1_000_000_000_000));
        assert_eq!(Time::ZERO + day * 213 + day, Time::MAX);
        assert_eq!(Time::MAX + day, Time::MAX);
        assert_eq!((day * 300, day * 200 + day * 200), (Span::MAX, Span::MAX));
        assert_eq!([day * 150, day * 150].into_iter().sum::<Span>(), Span::MAX);
        let mut span = day * 213;
        span += day;
        assert_eq!(span, Span::MAX);
    }

    #[test]
    #[should_panic(expected = "time runs backwards")]
    fn time_never_runs_backwards() {
        let _ = Time::from_ps(1) - Time::from_ps(2);
    }
}
