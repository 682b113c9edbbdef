//! Times of arrival of requests.

use base::engine::Rng;
use base::units::{Span, Time};
use libm::{exp, floor, log};

/// The process of arrivals. Times are in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Process {
    /// No times: the host keeps `depth` requests outstanding.
    Closed { depth: u32 },
    /// Constant gaps.
    Fixed { gap: f64 },
    /// Exponential gaps with this mean.
    Poisson { gap: f64 },
    /// Bursts of 1 + floor(Exp(length)) requests.
    Bursts { length: f64, gap: f64, idle: f64 },
}

impl Process {
    /// Creates bursts with a mean of `rate` requests per second; `None` if the gaps inside the bursts are too long for
    /// that rate.
    ///
    /// A burst has N = 1 + floor(Exp(length)) requests, so E\[N\] = 1 + 1/(e^(1/length) - 1). N - 1 gaps and one idle
    /// time separate the first request of a burst from the first of the next; for the mean rate this span must be
    /// E\[N\]/rate on average.
    pub(super) fn bursts(length: f64, gap: Span, rate: f64) -> Option<Self> {
        let requests = mean_burst(length);
        let gap = gap.as_ps() as f64;
        let idle = requests * 1e12 / rate - (requests - 1.0) * gap;
        (idle > 0.0).then_some(Self::Bursts { length, gap, idle })
    }
}

/// The mean number of requests in a burst.
pub(super) fn mean_burst(length: f64) -> f64 {
    1.0 + 1.0 / (exp(1.0 / length) - 1.0)
}

/// The times of arrival of a workload.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    process: Process,
    rng: Rng,
    /// The number of requests that have arrived.
    count: u64,
    now: Time,
    /// The number of remaining requests of the current burst.
    burst: u64,
}

impl Arrivals {
    pub(super) const fn new(process: Process, rng: Rng) -> Self {
        Self { process, rng, count: 0, now: Time::ZERO, burst: 0 }
    }

    pub(super) const fn process(&self) -> Process {
        self.process
    }

    /// The next time of arrival; `None` if it is after the end of simulated time (213 days).
    #[inline]
    pub(super) fn next(&mut self) -> Option<Time> {
        let first = self.count == 0;
        let gap = match self.process {
            Process::Closed { .. } => return Some(Time::ZERO),
            // Computed from the number of requests and not from the last arrival, so that rounding errors do not add
            // up.
            Process::Fixed { gap } => {
                let at = gap * self.count as f64;
                self.count += 1;
                self.now = Time::from_ps(whole(at)?);
                return Some(self.now);
            }
            Process::Poisson { gap } => gap,
            Process::Bursts { length, gap, idle } => {
                if self.burst > 0 {
                    self.burst -= 1;
                    gap
                } else {
                    self.burst = floor(self.exponential(length)) as u64;
                    idle
                }
            }
        };
        self.count += 1;
        if !first {
            let ps = whole(self.exponential(gap))?;
            self.now = Time::from_ps(self.now.as_ps().checked_add(ps)?);
        }
        Some(self.now)
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * log(1.0 - self.rng.unit())
    }
}

/// Picoseconds, rounded to an integer; `None` if out of range.
fn whole(ps: f64) -> Option<u64> {
    (ps < u64::MAX as f64).then(|| floor(ps + 0.5) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(process: Process, n: usize) -> Vec<u64> {
        let mut arrivals = Arrivals::new(process, Rng::stream(21, "arrivals"));
        (0..n).map(|_| arrivals.next().unwrap().as_ps()).collect()
    }

    #[test]
    fn fixed_arrivals_do_not_drift() {
        // Three requests per second: a third of a second is not a whole number of picoseconds.
        let t = times(Process::Fixed { gap: 1e12 / 3.0 }, 3_000_001);
        assert_eq!(
            (t[0], t[1], t[3], t[3_000_000]),
            (0, 333_333_333_333, 1_000_000_000_000, 1_000_000_000_000_000_000)
        );
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        let mean = 1e9;
        let t = times(Process::Poisson { gap: mean }, 200_001);
        let mut gaps: Vec<f64> = t.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        gaps.sort_by(f64::total_cmp);
        // Kolmogorov-Smirnov test for 1 - e^(-x/mean); 1.95/sqrt(n) is the 0.1 % point.
        let n = gaps.len() as f64;
        let worst = gaps.iter().enumerate().fold(0.0f64, |worst, (i, gap)| {
            let p = 1.0 - exp(-gap / mean);
            worst.max((p - i as f64 / n).abs()).max((p - (i as f64 + 1.0) / n).abs())
        });
        assert!(worst < 1.95 / n.sqrt(), "KS distance {worst}");
    }

    #[test]
    fn bursts_have_their_length_gap_and_rate() {
        // dirik.md W-D.
        let process = Process::bursts(20.0, Span::from_ms(1), 14.0).unwrap();
        let n = 400_000;
        let t = times(process, n);
        assert_eq!(t[0], 0);
        let rate = (n - 1) as f64 / (t[n - 1] as f64 * 1e-12);
        // About 19,500 cycles. The standard deviation of an idle time is its mean, 1.44 s, as is that of N: 1.4 % of
        // the sum at most.
        assert!((rate / 14.0 - 1.0).abs() < 5.0 * 0.0102, "{rate} requests per second");
        // Gaps above 50 ms are idle times, except for e^-50 of the gaps inside bursts; 3.4 % of the idle times are
        // shorter.
        let inner: Vec<f64> =
            t.windows(2).map(|w| (w[1] - w[0]) as f64 * 1e-9).filter(|gap_ms| *gap_ms < 50.0).collect();
        let mean_gap = inner.iter().filter(|g| **g < 15.0).sum::<f64>() / inner.len() as f64;
        assert!((mean_gap - 1.0).abs() < 0.03, "{mean_gap} ms");
        let bursts = (n - inner.len()) as f64 / 0.966;
        let length = n as f64 / bursts;
        assert!((length / mean_burst(20.0) - 1.0).abs() < 0.05, "{length} requests per burst");
        assert!((mean_burst(20.0) - 20.504).abs() < 1e-3);
    }

    #[test]
    fn idle_times_fill_what_the_rate_leaves() {
        // 1 + 1/(e^0.05 - 1) = 20.504166 requests take 41.008332 ms at 500/s, less 19.504166 gaps.
        let Some(Process::Bursts { idle, .. }) = Process::bursts(20.0, Span::from_ms(1), 500.0) else {
            panic!("no bursts")
        };
        assert!((idle * 1e-9 - 21.504_166).abs() < 1e-5, "{idle} ps");
    }

    #[test]
    fn bursts_that_cannot_reach_the_rate_are_refused() {
        assert_eq!(Process::bursts(20.0, Span::from_ms(1), 2000.0), None);
    }

    #[test]
    fn arrivals_end_at_the_end_of_time() {
        let mut arrivals = Arrivals::new(Process::Fixed { gap: 1e19 }, Rng::stream(0, "a"));
        assert_eq!(arrivals.next(), Some(Time::ZERO));
        assert!(arrivals.next().is_some());
        assert_eq!(arrivals.next(), None);
    }
}
