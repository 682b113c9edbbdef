//! The spread of a mean within one run, by batch means.
//!
//! Successive requests of one run are correlated: one collection delays many of them. To treat them as independent
//! would make every interval far too narrow. The method of batch means divides the run into batches, each long enough
//! for their means to be independent. The length follows from the data, by Fishman's rule ("Grouping observations in
//! digital simulation", Management Science 24(5), 1978): batches are joined in pairs until von Neumann's test finds
//! their means independent. Schmeiser ("Batch size effects in the analysis of simulation output", Operations Research
//! 30(3), 1982) shows that 10 to 30 batches are enough, and fewer than ten too few.

use super::{Interval, deviation, mean};

/// The number of batches at first.
pub const MOST: usize = 40;

/// The least number of batches from which an interval is computed.
pub const LEAST: usize = 10;

/// The quantile of the normal distribution beyond which von Neumann's test calls batch means correlated: one-sided, at 5 %.
const CORRELATED: f64 = 1.645;

/// The interval of the mean of consecutive parts of a run, in their order. `None` if there are fewer than [`LEAST`]
/// parts, or if even [`LEAST`] batches of them are correlated: the run is then too short, or drifts.
#[must_use]
pub fn interval(parts: &[f64]) -> Option<Interval> {
    let mut batches = parts.to_vec();
    while batches.len() >= LEAST {
        if is_independent(&batches) {
            return Interval::of(&batches);
        }
        batches = batches.chunks_exact(2).map(|pair| f64::midpoint(pair[0], pair[1])).collect();
    }
    None
}

/// Von Neumann's test: returns false if neighbours are more alike than independent values would be.
fn is_independent(values: &[f64]) -> bool {
    let (Some(mean), Some(deviation)) = (mean(values), deviation(values)) else { return false };
    // Values without spread count as independent.
    if deviation <= mean.abs() * 1e-12 {
        return true;
    }
    standardized(values, deviation) <= CORRELATED
}

/// Von Neumann's statistic of values with this sample deviation. For independent normal values it has the mean 0 and
/// the variance 1.
fn standardized(values: &[f64], deviation: f64) -> f64 {
    let n = values.len() as f64;
    let steps: f64 = values.windows(2).map(|pair| (pair[0] - pair[1]).powi(2)).sum();
    let squares = deviation.powi(2) * (n - 1.0);
    let correlation = 1.0 - steps / (2.0 * squares);
    correlation / ((n - 2.0) / (n * n - 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use base::engine::Rng;

    use super::*;

    /// A first-order autoregressive process with mean 10.
    fn series(rng: &mut Rng, length: usize, memory: f64) -> Vec<f64> {
        let mut state = 0.0;
        let mut next = || {
            // The sum of twelve uniform values is nearly normal.
            state = memory * state + (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
            10.0 + state
        };
        for _ in 0..100 {
            next();
        }
        (0..length).map(|_| next()).collect()
    }

    /// The means of [`MOST`] equal parts.
    fn parts(values: &[f64]) -> Vec<f64> {
        values.chunks(values.len() / MOST).map(|part| mean(part).expect("not empty")).collect()
    }

    #[test]
    fn intervals_of_correlated_values_contain_the_mean_about_as_often_as_they_say() {
        let mut rng = Rng::stream(7, "batches");
        for memory in [0.0, 0.5, 0.9] {
            let (mut inside, mut naive, mut known) = (0, 0, 0);
            for _ in 0..400 {
                let values = series(&mut rng, 4_000, memory);
                let Some(interval) = interval(&parts(&values)) else { continue };
                known += 1;
                inside += u32::from(interval.contains(10.0));
                naive += u32::from(Interval::of(&values).expect("many").contains(10.0));
            }
            assert!(known >= 380, "{memory}: {known} of 400 runs have an interval");
            let share = f64::from(inside) / f64::from(known);
            assert!((0.91..=0.98).contains(&share), "{memory}: {share}");
            // The interval for independent requests contains the mean far too rarely.
            assert!(memory < 0.9 || naive < known / 2, "{naive} of {known}");
        }
    }

    #[test]
    fn the_statistic_of_independent_values_has_the_mean_zero_and_the_variance_one() {
        let mut rng = Rng::stream(8, "batches");
        for n in [LEAST, 20, MOST] {
            let found: Vec<f64> = (0..4_000)
                .map(|_| {
                    let values = series(&mut rng, n, 0.0);
                    standardized(&values, deviation(&values).expect("many"))
                })
                .collect();
            let (mean, deviation) = (mean(&found).expect("many"), deviation(&found).expect("many"));
            // The limits are four standard errors.
            assert!(mean.abs() < 0.064, "{n} values: {mean}");
            assert!((deviation - 1.0).abs() < 0.045, "{n} values: {deviation}");
        }
    }

    #[test]
    fn a_run_that_drifts_has_no_interval() {
        let rising: Vec<f64> = (0..MOST).map(|i| i as f64).collect();
        assert_eq!(interval(&rising), None);
        assert_eq!(interval(&[1.0, 2.0, 1.0]), None, "too few parts");
        let steady = interval(&[2.0; MOST]).expect("no drift");
        assert_eq!((steady.mean, steady.half_width, steady.n), (2.0, 0.0, MOST as u32));
    }
}
