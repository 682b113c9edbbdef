//! Zipf-distributed ranks in constant time and memory.
//!
//! Rejection-inversion: W. Hoermann and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", ACM TOMACS 6(3), 1996. The method is exact for every exponent above zero, one included. It needs
//! neither a table nor a sum over the ranks, so a drive of a billion mapping units costs no setup.

use base::engine::Rng;
use libm::{exp, expm1, log, log1p};

/// Draws rank k of 0..n with probability proportional to (k + 1)^-theta.
#[derive(Clone, Debug)]
pub(super) struct Zipf {
    n: f64,
    theta: f64,
    /// The integral of the density up to 1.5, less the mass of rank one; and the integral up to n + 0.5.
    ends: (f64, f64),
    /// A point that is closer than this to its rank is accepted at once.
    shortcut: f64,
}

impl Zipf {
    /// Creates a distribution over `n` ranks with skew `theta`.
    pub(super) fn new(n: u64, theta: f64) -> Self {
        assert!(n > 0 && theta > 0.0 && theta.is_finite(), "zipf over {n} ranks with theta {theta}");
        let mut zipf = Self { n: n as f64, theta, ends: (0.0, 0.0), shortcut: 0.0 };
        zipf.ends = (zipf.integral(1.5) - 1.0, zipf.integral(n as f64 + 0.5));
        zipf.shortcut = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// Draws the next rank; zero is the hottest.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let u = self.ends.1 + rng.unit() * (self.ends.0 - self.ends.1);
            let x = self.inverse(u);
            let k = libm::floor(x + 0.5).clamp(1.0, self.n);
            if k - x <= self.shortcut || u >= self.integral(k + 0.5) - self.density(k) {
                return k as u64 - 1;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        exp(-self.theta * log(x))
    }

    /// The integral of the density from one to `x`: (x^(1-theta) - 1) / (1 - theta), without cancellation near theta =
    /// 1.
    fn integral(&self, x: f64) -> f64 {
        let log_x = log(x);
        expm1_over((1.0 - self.theta) * log_x) * log_x
    }

    fn inverse(&self, y: f64) -> f64 {
        let t = (y * (1.0 - self.theta)).max(-1.0);
        exp(log1p_over(t) * y)
    }
}

/// Computes (e^x - 1) / x.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { expm1(x) / x } else { 1.0 + x * 0.5 }
}

/// Computes ln(1 + x) / x.
fn log1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { log1p(x) / x } else { 1.0 - x * 0.5 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares counts over `n` ranks with the exact probabilities. Each rank with an expected count of at least 25
    /// must lie within five standard deviations; a chi-squared test covers all of those.
    fn check(n: u64, theta: f64) {
        const DRAWS: u32 = 400_000;
        let zipf = Zipf::new(n, theta);
        let mut rng = Rng::stream(11, "zipf");
        let mut counts = vec![0u32; n as usize];
        for _ in 0..DRAWS {
            counts[zipf.draw(&mut rng) as usize] += 1;
        }
        let zeta: f64 = (1..=n).map(|k| (k as f64).powf(-theta)).sum();
        let (mut chi, mut cells) = (0.0, 0);
        for (rank, count) in counts.iter().enumerate() {
            let expected = f64::from(DRAWS) * ((rank + 1) as f64).powf(-theta) / zeta;
            if expected >= 25.0 {
                let z = (f64::from(*count) - expected) / expected.sqrt();
                assert!(z.abs() < 5.0, "n {n} theta {theta}: rank {rank} {count} times, expected {expected}");
                chi += z * z;
                cells += 1;
            }
        }
        // Chi-squared with c cells has mean about c and standard deviation sqrt(2c).
        let c = f64::from(cells);
        assert!((chi - c).abs() < 5.0 * (2.0 * c).sqrt() + 2.0, "n {n} theta {theta}: chi2 {chi} over {cells} cells");
    }

    #[test]
    fn ranks_follow_the_exact_distribution() {
        for theta in [0.2, 0.5, 0.99, 1.0, 1.000_000_001, 1.2, 3.0] {
            for n in [1, 2, 10, 1000] {
                check(n, theta);
            }
        }
    }

    #[test]
    fn a_billion_ranks_have_the_right_head() {
        // zeta(n, 1) = ln n + gamma + O(1/n): rank zero has probability 1/21.3 for 2^30 ranks.
        let n = 1u64 << 30;
        let p = 1.0 / ((n as f64).ln() + 0.577_215_664_9);
        let zipf = Zipf::new(n, 1.0);
        let mut rng = Rng::stream(5, "zipf");
        let draws = 200_000;
        let hits = (0..draws).filter(|_| zipf.draw(&mut rng) == 0).count() as f64;
        let (mean, sd) = (f64::from(draws) * p, (f64::from(draws) * p * (1.0 - p)).sqrt());
        assert!((hits - mean).abs() < 5.0 * sd, "{hits} of {mean}");
    }
}
