//! Checks that differences are larger than the spread over the seeds.

use base::fault::Fault;

use super::values::Group;
use super::{Condition, DifferenceExpectation, ExpectSpec, RatioExpectation, Values};
use crate::spread;

/// Two numbers that an expectation compares, with the names of their points.
struct Pair {
    place: String,
    a: f64,
    b: f64,
}

impl ExpectSpec {
    /// Checks that the condition can be compared with the spread. Returns the fault, if any.
    pub(crate) fn spread_fault(&self, seeds: usize) -> Option<Fault> {
        let fault = |message: &str, remedy: &str| Some(Fault::new("beyond-spread", message, remedy));
        if !self.beyond_spread {
            return None;
        }
        match self.condition() {
            Some(Condition::Ratio(_) | Condition::Difference(_) | Condition::Order(_) | Condition::Monotonic(_)) => {}
            _ => {
                let remedy = "use it with ratio, difference, order or monotonic, or leave it out";
                return fault("the condition compares no two points", remedy);
            }
        }
        if seeds < 2 {
            return fault("one seed says nothing of the spread", "write e.g. seeds = 5 at the top of the study");
        }
        None
    }

    /// The differences that are not larger than the spread, one sentence for each. `seeds` are the values of the metric
    /// with each seed.
    pub(crate) fn within_spread(&self, seeds: &[Values<'_>]) -> Vec<String> {
        if !self.beyond_spread {
            return Vec::new();
        }
        let runs: Vec<Vec<Pair>> = seeds.iter().map(|values| self.pairs(values)).collect();
        let Some(first) = runs.first() else { return Vec::new() };
        if runs.iter().any(|run| run.len() != first.len()) {
            return vec!["there is no such number with every seed".to_owned()];
        }
        let unit = self.dimension();
        let judge = |(i, pair): (usize, &Pair)| {
            let of = |side: fn(&Pair) -> f64| runs.iter().map(|run| side(&run[i])).collect::<Vec<f64>>();
            let (a, b) = (of(|pair| pair.a), of(|pair| pair.b));
            if spread::differs(&a, &b) == Some(true) {
                return None;
            }
            let place = if pair.place.is_empty() { String::new() } else { format!("{}: ", pair.place) };
            let difference = spread::difference(&a, &b)?.show(unit);
            Some(format!("{place}a difference of {difference} over {} seeds is not beyond the spread", a.len()))
        };
        first.iter().enumerate().filter_map(judge).collect()
    }

    /// The pairs of numbers that the condition compares, in a fixed order.
    fn pairs(&self, values: &Values<'_>) -> Vec<Pair> {
        let mut values = values.select(&self.filter, self.per.as_ref());
        if let Some(axis) = &self.geomean {
            values = values.geometric_mean(axis);
        }
        let neighbours = |group: &Group| {
            let pair = |pair: &[f64]| Pair { place: group.name.clone(), a: pair[0], b: pair[1] };
            group.values.windows(2).map(pair).collect::<Vec<Pair>>()
        };
        let ends = |group: &Group| {
            let (a, b) = group.values.first().copied().zip(group.values.last().copied())?;
            Some(Pair { place: group.name.clone(), a, b })
        };
        match self.condition() {
            Some(
                Condition::Ratio(RatioExpectation { at, to, .. })
                | Condition::Difference(DifferenceExpectation { at, to, .. }),
            ) => values.tuples(&[to, at]).iter().flat_map(neighbours).collect(),
            Some(Condition::Order(order)) => {
                values.tuples(&order.of.iter().collect::<Vec<_>>()).iter().flat_map(neighbours).collect()
            }
            Some(Condition::Monotonic(monotonic)) => values.along(&monotonic.along).iter().filter_map(ends).collect(),
            _ => Vec::new(),
        }
    }
}
