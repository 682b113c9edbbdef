//! The distribution of valid units over the superblocks of one pool under uniform random writes, as a fixed point.
//!
//! Known from P. Desnoyers, "Analytic Modeling of SSD Write Performance" (SYSTOR 2012; ACM TOS 10(2), 2014), for FIFO
//! and greedy, and from B. Van Houdt, "A Mean Field Model for a Class of Garbage Collection Algorithms in Flash-based
//! Solid State Drives" (SIGMETRICS 2013), for d choices; derived here for pools with open superblocks.
//!
//! A pool has `c` closed superblocks of `b` slots and `l` valid units in all. Time counts the host's writes to the
//! pool. Each write invalidates one of the `l` units, all with equal chances, so a unit lives `l` writes on average and
//! its age does not matter: a superblock with `i` valid units loses one at the rate `i / l`. Each victim with `j` valid
//! units gives `b - j` slots to the host; `h` is the mean of `b - j`, and so the time from one victim to the next. In
//! that time one superblock closes. With probability `h / b` it is a superblock of the host, which took `b` writes to
//! fill, else one of copies, which took `b * h / (b - h)`. With a shared log one superblock of both kinds closes, which
//! took `h` writes. Some of its units are invalid by then: `q_i` is the probability that it closes with `i` valid.
//!
//! Let `m_i` closed superblocks have `i` valid units, and the next victim have `i` with probability `p_i`. A superblock
//! that closes with `i` valid units or more leaves these levels as a victim, or by a step from `i` to `i - 1`:
//!
//! ```text
//! sum_{k >= i} q_k = sum_{k >= i} p_k + (h / l) * i * m_i
//! ```
//!
//! With M_i the share of closed superblocks with at least `i`, the best of `d` random ones has at least `i` valid units
//! with probability `M_i^d` (superblocks without garbage are no candidates and leave both sides). So
//!
//! ```text
//! M_i + y / i * M_i^d = M_{i+1} + y / i * sum_{k >= i} q_k,  y = l / (c * h)
//! ```
//!
//! gives M from `b` down, with one positive root each, because the left side rises. Random choice is `d = 1`, greedy is
//! `d` = all candidates. FIFO needs no recursion: the victim has had `c * h` writes since it closed. One unknown is
//! left, `h`, and one condition, that the mean victim has `b - h` valid units; the difference rises through zero once.
//! The total of valid units is then `l` without a further condition.

use super::math::{binomial, decay, power};
use crate::page::victim::Choice;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PoolModel {
    pub(super) slots: u32,
    /// Mean number of closed superblocks.
    pub(super) closed: u32,
    /// Valid units in the closed superblocks together.
    pub(super) live: f64,
    pub(super) choice: Choice,
    pub(super) shared_log: bool,
}

/// The steady state of a pool, as solved.
#[derive(Clone, Debug)]
pub(super) struct FixedPoint {
    model: PoolModel,
    /// Host writes from one victim to the next: `h` of the derivation.
    pub(super) host: f64,
    /// For each number of valid units, the share of the closed superblocks with at most this number; empty for FIFO.
    at_most: Vec<f64>,
    /// For each number of valid units, the mean and the variance of the host writes since the superblock was full; empty
    /// for FIFO.
    ages: Vec<(f64, f64)>,
}

/// Halvings of the interval that holds `h`: the result is exact to a hundredth of a unit and less.
const HALVINGS: u32 = 36;

impl PoolModel {
    /// The share of a superblock's units that are still valid `time` host writes after their writes.
    pub(super) fn survivors(&self, time: f64) -> f64 {
        let x = time / self.live;
        if x < 1e-9 { 1.0 } else { (1.0 - decay(x)) / x }
    }

    /// The time, in host writes, to fill one slot of a superblock of the host, and of one of copies, if a victim gives
    /// `host` slots to the host.
    pub(super) fn paces(&self, host: f64) -> (f64, f64) {
        let slots = f64::from(self.slots);
        if self.shared_log { (host / slots, host / slots) } else { (1.0, host / (slots - host).max(1.0)) }
    }

    /// The share of closed superblocks that were filled with copies.
    pub(super) fn share_of_copies(&self, host: f64) -> f64 {
        if self.shared_log { 0.0 } else { 1.0 - host / f64::from(self.slots) }
    }

    /// Finds the fixed point by bisection. The pool must have spare space: `live` below `closed * slots`.
    pub(super) fn solve(&self) -> FixedPoint {
        let (mut low, mut high) = (0.0, f64::from(self.slots));
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            let valid = match self.choice {
                Choice::Oldest => self.oldest(middle),
                _ => self.levels(middle).1,
            };
            // Below the root a victim gives more than `h` slots to the host.
            if f64::from(self.slots) - valid > middle {
                low = middle;
            } else {
                high = middle;
            }
        }
        let host = (low + high) / 2.0;
        if self.choice == Choice::Oldest {
            return FixedPoint { model: *self, host, at_most: Vec::new(), ages: Vec::new() };
        }
        let (at_least, _) = self.levels(host);
        let ages = self.ages(host, &at_least);
        let at_most = (1..=at_least.len()).map(|i| 1.0 - at_least.get(i).copied().unwrap_or(0.0)).collect();
        FixedPoint { model: *self, host, at_most, ages }
    }

    /// The mean number of valid units of a superblock when it closes.
    fn at_close(&self, host: f64) -> f64 {
        let slots = f64::from(self.slots);
        let (of_host, of_copies) = self.paces(host);
        let copies = self.share_of_copies(host);
        slots * ((1.0 - copies) * self.survivors(slots * of_host) + copies * self.survivors(slots * of_copies))
    }

    /// The valid units of the oldest closed superblock, the victim of FIFO.
    fn oldest(&self, host: f64) -> f64 {
        self.at_close(host) * decay(f64::from(self.closed) * host / self.live)
    }

    /// The number of superblocks among which a victim is the best: `d` of the derivation.
    const fn choices(&self) -> u32 {
        match self.choice {
            Choice::EmptiestOf(d) => d,
            Choice::Emptiest | Choice::Oldest => self.closed,
        }
    }

    /// The share of closed superblocks with at least `i` valid units, for every `i`, and the mean number of valid units
    /// of a victim.
    fn levels(&self, host: f64) -> (Vec<f64>, f64) {
        let entering = self.entering(host);
        let slots = self.slots as usize;
        let y = self.live / (f64::from(self.closed) * host.max(1e-6));
        let mut at_least = vec![1.0; slots + 1];
        // Superblocks without garbage are never victims.
        let full = (y / slots as f64 * entering[slots]).min(1.0);
        at_least[slots] = full;
        let (mut entered, mut valid) = (entering[slots], 0.0);
        // With few full superblocks a greedy victim is the best of all others.
        let choices = match self.choice {
            Choice::Emptiest => ((f64::from(self.closed) * (1.0 - full)) as u32).max(1),
            _ => self.choices(),
        };
        for i in (1..slots).rev() {
            entered += entering[i];
            let c = y / i as f64;
            let candidates = 1.0 - full;
            let right = at_least[i + 1] - full + c * entered;
            let share = root(candidates, c, choices, right);
            at_least[i] = full + candidates * share;
            // The victim has at least `i` valid units.
            valid += power(share, choices);
            if share >= 1.0 {
                valid += (i - 1) as f64;
                break;
            }
        }
        (at_least, valid)
    }

    /// For each number of valid units, the probability that a superblock closes with that number.
    fn entering(&self, host: f64) -> Vec<f64> {
        let slots = f64::from(self.slots);
        let (of_host, of_copies) = self.paces(host);
        let copies = self.share_of_copies(host);
        let mut entering = binomial(self.slots, self.survivors(slots * of_host));
        entering.iter_mut().for_each(|share| *share *= 1.0 - copies);
        if copies > 0.0 {
            let of_copies = binomial(self.slots, self.survivors(slots * of_copies));
            entering.iter_mut().zip(of_copies).for_each(|(share, more)| *share += copies * more);
        }
        entering
    }

    /// The mean and variance of the time since a superblock with `i` valid units was full, for every `i`. The
    /// superblock has passed the levels above, and stayed at each for an exponentially distributed time, which ended
    /// with a step to the next level or would have ended as a victim.
    fn ages(&self, host: f64, at_least: &[f64]) -> Vec<(f64, f64)> {
        let slots = self.slots as usize;
        let mut ages = vec![(0.0, 0.0); slots + 1];
        let full = at_least[slots];
        let victim = |i: usize| power(((at_least[i] - full) / (1.0 - full).max(1e-12)).clamp(0.0, 1.0), self.choices());
        let (mut mean, mut variance) = (0.0, 0.0);
        for i in (0..=slots).rev() {
            let here = (at_least[i] - at_least.get(i + 1).copied().unwrap_or(0.0)) * f64::from(self.closed);
            let chosen = if i == slots { 0.0 } else { (victim(i) - victim(i + 1)).max(0.0) };
            let rate = i as f64 / self.live + if here > 1e-9 { chosen / (here * host) } else { 0.0 };
            if rate > 0.0 {
                mean += 1.0 / rate;
                variance += 1.0 / (rate * rate);
            }
            ages[i] = (mean, variance);
        }
        ages
    }
}

/// The root of `a * x + c * x^d = right` in [0, 1]; 1 if there is none.
fn root(a: f64, c: f64, d: u32, right: f64) -> f64 {
    if right >= a + c {
        return 1.0;
    }
    // The left side is convex and rises: Newton's method comes down from above the root and does not pass it.
    let mut x = if a > 0.0 { (right / a).min(1.0) } else { 1.0 };
    for _ in 0..200 {
        let below = power(x, d - 1);
        let excess = (a + c * below) * x - right;
        let step = excess / (a + c * f64::from(d) * below);
        x -= step;
        if step.abs() <= 1e-13 {
            break;
        }
    }
    x.clamp(0.0, 1.0)
}

impl FixedPoint {
    /// Writes to the flash for each write of the host.
    pub(super) fn write_amplification(&self) -> f64 {
        f64::from(self.model.slots) / self.host
    }

    /// The valid units of the closed superblock at position `share` of the order by valid units, fewest first, and the
    /// mean and variance of its age. Under FIFO the order is by age, the oldest first; the number of units is then a
    /// mean, and the variance of the age is zero.
    pub(super) fn closed_at(&self, share: f64) -> (f64, (f64, f64)) {
        let PoolModel { closed, live, .. } = self.model;
        if self.at_most.is_empty() {
            let age = f64::from(closed) * (1.0 - share) * self.host;
            return (self.model.at_close(self.host) * decay(age / live), (age, 0.0));
        }
        let valid = self.at_most.partition_point(|at_most| *at_most < share).min(self.at_most.len() - 1);
        (valid as f64, self.ages[valid])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(choice: Choice, slots: u32, closed: u32, spare: f64) -> PoolModel {
        let live = f64::from(slots) * f64::from(closed) * (1.0 - spare);
        PoolModel { slots, closed, live, choice, shared_log: false }
    }

    /// The root x < 1 of x e^-x = a e^-a, which is -W(-a e^-a).
    fn root_of(a: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle: f64 = (low + high) / 2.0;
            if middle * (-middle).exp() < a * (-a).exp() { low = middle } else { high = middle }
        }
        low
    }

    #[test]
    fn fifo_and_greedy_follow_the_closed_form_where_open_superblocks_do_not_count() {
        for spare in [0.07, 0.15, 0.28, 0.5] {
            let a = 1.0 / (1.0 - spare);
            let formula = a / (a - root_of(a));
            let found = |choice, slots| model(choice, slots, 100_000, spare).solve().write_amplification() / formula;
            let fifo = found(Choice::Oldest, 256);
            assert!((fifo - 1.0).abs() < 1e-3, "{spare}: {fifo}");
            // Greedy finds superblocks emptier than the oldest one, and the difference shrinks as superblocks have more
            // slots.
            let greedy = [64, 512, 4096].map(|slots| found(Choice::Emptiest, slots));
            assert!(
                greedy.is_sorted() && greedy[2] < 1.0 && greedy[2] > 0.98 && greedy[0] > 0.88,
                "{spare}: {greedy:?}"
            );
        }
    }

    #[test]
    fn random_choice_has_the_write_amplification_of_equal_chances() {
        // The victim has the mean share of valid units of all superblocks except the full ones, which are a share f.
        for spare in [0.1, 0.3] {
            let found = model(Choice::EmptiestOf(1), 512, 100_000, spare).solve().write_amplification();
            // One superblock becomes full for each victim, and stays full for l / b writes.
            let full = (1.0 - spare) * found / 512.0;
            let expected = 1.0 / (1.0 - (1.0 - spare - full) / (1.0 - full));
            assert!((found / expected - 1.0).abs() < 1e-3, "{spare}: {found} against {expected}");
        }
    }

    #[test]
    fn more_choices_amplify_less_down_to_greedy() {
        let of = |choice| model(choice, 64, 1000, 0.15).solve().write_amplification();
        let found: Vec<f64> = [1, 2, 5, 20, 200].map(|d| of(Choice::EmptiestOf(d))).to_vec();
        assert!(found.is_sorted_by(|a, b| a > b), "{found:?}");
        assert!((found[0] / of(Choice::EmptiestOf(1)) - 1.0).abs() < 1e-9);
        assert!(of(Choice::Emptiest) < found[4] && of(Choice::Emptiest) > 0.98 * found[4]);
    }

    #[test]
    fn the_levels_hold_all_valid_units_that_are_not_in_open_superblocks() {
        for (choice, shared_log) in
            [(Choice::Emptiest, false), (Choice::Emptiest, true), (Choice::EmptiestOf(4), false)]
        {
            let model = PoolModel { shared_log, ..model(choice, 128, 60, 0.2) };
            let found = model.solve();
            let closed: f64 =
                (0..6000).map(|k| found.closed_at((f64::from(k) + 0.5) / 6000.0).0).sum::<f64>() / 6000.0 * 60.0;
            let (of_host, of_copies) = model.paces(found.host);
            let copies = model.share_of_copies(found.host);
            // Open superblocks are filled to each degree with equal chances.
            let mean = |pace: f64| {
                (0..1000).map(|k| (f64::from(k) + 0.5) * 0.128).map(|n| n * model.survivors(n * pace)).sum::<f64>()
                    / 1000.0
            };
            let open = mean(of_host) + if copies > 0.0 { mean(of_copies) } else { 0.0 };
            assert!(
                ((closed + open) / model.live - 1.0).abs() < 2e-3,
                "{choice:?}: {closed} and {open} of {}",
                model.live
            );
        }
    }

    #[test]
    fn ages_rise_as_valid_units_fall() {
        let found = model(Choice::Emptiest, 64, 200, 0.2).solve();
        let ages: Vec<f64> = (0..20).map(|k| found.closed_at(f64::from(k) / 20.0 + 0.01).1.0).collect();
        assert!(ages.is_sorted_by(|a, b| a >= b) && ages[0] > ages[19], "{ages:?}");
        // Superblocks with this number of units are no victims yet: they stayed at each level i above for l / i writes.
        let (units, (age, _)) = found.closed_at(0.7);
        assert!((age / (found.model.live * (64.5 / (units - 0.5)).ln()) - 1.0).abs() < 0.01, "{age} with {units}");
    }
}
