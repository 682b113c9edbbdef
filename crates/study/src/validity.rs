//! Checks whether the numbers of a run can be trusted: how much was written, whether the drive was in steady state,
//! which percentiles have enough requests beyond them, and whether the load exceeded the drive.
//!
//! All inputs are counters and the time series of the run, so the checks need no further run.

use base::io::IoKind;
use ssd::Status;
use workload::Pacing;

use crate::run::{self, Level, RunResult};
use crate::series::Interval;
use crate::spread::{self, batches};
use crate::steady::{EXCURSION, Metric, Round, SLOPE, SteadyWindow, Verdict, WINDOW};
use crate::text::{capacities, count, percent, percent_above_zero};

/// The number of requests that must lie beyond a percentile. With fewer, another sample of the same load would show
/// another value.
pub const BEYOND: u64 = 10;

/// The number of requests that each fifth and each batch of a run must have, so that its mean is meaningful.
const LEAST: u64 = 100;

/// The number of intervals of the time series that each fifth of a run must have, so that the fifths have about equally
/// many requests.
const INTERVALS: usize = 8;

/// The number of intervals of the time series that each batch must have, so that the batches have about equally many
/// requests.
const OF_BATCH: usize = 4;

/// The least growth of an overloaded drive's backlog from the first fifth to the last, in units of the largest swing
/// within a fifth. A backlog that grows steadily grows by four swings. A backlog without a trend, under a load equal to
/// the drive's speed, grows by more than 1.5 swings in fewer than one run of ten.
const SWINGS: f64 = 1.5;

/// A backlog levels off if its growth in the second half of the run, divided by that in the first, is below this: the
/// drive became slower, and then kept up.
const LEVELLING: f64 = 0.25;

/// The part of the capacity that a run must write before write amplification is meaningful: a round of the default rule
/// of steady state. Assumed.
const ENOUGH: f64 = 0.1;

/// The largest share of failed requests with which the numbers of a run may be compared with another drive's numbers,
/// and may support a claim. Assumed.
pub const MOST_FAILED: f64 = 0.001;

/// The share of mapping units without data, of all that reads asked for, above which a warning is given: reads of such
/// units take no flash time. Assumed.
const MOST_UNMAPPED: f64 = 0.01;

/// Facts about a run from which the validity of its numbers can be judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Validity {
    /// The number of requests by outcome, in the order of [`Status::ALL`].
    pub outcomes: [u64; Status::COUNT],
    /// The share of the mapping units that reads asked for and that held no data and took no flash time.
    pub unmapped_reads: f64,
    /// The number of mapping units stored again although their data could not be read.
    pub unreadable_copies: u64,
    /// The number of times that the measured requests wrote the capacity of the drive. Writes that failed do not count.
    pub written: f64,
    /// The number of times that requests wrote the capacity, warm-up included.
    pub written_with_warm_up: f64,
    /// The five parts of the measurement, with about equally many requests; empty if it was too short to divide. Parts
    /// of equal time would be wrong: the pauses of a drive whose dies all collect at once would count as drift.
    pub fifths: Vec<Round>,
    /// The metrics of steady state that have a value, with the rule's verdict on the fifths.
    pub verdicts: Vec<(Metric, Verdict)>,
    /// The load and the part of it that the drive served, if requests came faster than the drive could serve them.
    pub overload: Option<Overload>,
    /// The mean of each metric with its 95 % interval, by batch means. A metric is missing if the run is too short for
    /// an interval, or if its batches depend on each other.
    pub means: Vec<(Metric, spread::Interval)>,
    /// True if a warm-up ended in steady state.
    pub waited: bool,
    /// True if the drive has zones: it does not collect garbage, and the host decides when flash is erased.
    pub zoned: bool,
}

/// An open load that exceeds the drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overload {
    /// Requests that arrived per simulated second.
    pub offered: f64,
    /// Requests that succeeded per simulated second.
    pub served: f64,
    /// The number of outstanding requests when the last request arrived.
    pub backlog: u64,
}

/// A number of sectors as a multiple of the capacity.
fn share(sectors: u64, result: &RunResult) -> f64 {
    sectors as f64 / result.capacity.get().max(1) as f64
}

/// True if enough of `count` requests lie beyond the percentile `q` (0.99 is p99) for its value to be meaningful. A
/// median has as many requests on either side, so it is always supported.
#[must_use]
pub fn is_supported(q: f64, count: u64) -> bool {
    if q <= 0.5 {
        return true;
    }
    // The tolerance of a millionth is for q, which binary fractions only approximate: of 1,000 requests ten lie beyond
    // p99.
    (count as f64) * (1.0 - q) + 1e-6 >= BEYOND as f64
}

impl Validity {
    /// Judges the validity of a run's results.
    #[must_use]
    pub fn of(result: &RunResult) -> Self {
        let since = |from: &ssd::Counters| share(result.after.sectors_written() - from.sectors_written(), result);
        let fifths = fifths(result);
        let verdict = |metric| match Verdict::of(&fifths, metric) {
            Verdict::Unknown => None,
            known => Some((metric, known)),
        };
        let verdicts = Metric::ALL.into_iter().filter_map(verdict).collect();
        let counted = result.counters();
        Self {
            outcomes: Status::ALL.map(|status| result.with_status(status)),
            // The mapping units of a read under way at the start of the measurement may have been looked up before it.
            unmapped_reads: ((counted.unmapped_slots - counted.unmapped_flash_reads) as f64
                / counted.read_slots.max(1) as f64)
                .min(1.0),
            unreadable_copies: counted.unreadable_copies,
            written: since(&result.before),
            written_with_warm_up: since(&result.at_rest),
            verdicts,
            overload: overload(result),
            means: means(result),
            waited: result.steady.as_ref().is_some_and(|settled| settled.verdict.is_steady()),
            zoned: result.after.zones.is_some(),
            fifths,
        }
    }

    /// The share of the requests that failed.
    #[must_use]
    pub fn failed(&self) -> f64 {
        let all: u64 = self.outcomes.iter().sum();
        (all - self.outcomes[Status::Done as usize]) as f64 / all.max(1) as f64
    }

    /// The verdict on a metric; [`Verdict::Unknown`] if it has no value.
    #[must_use]
    pub fn verdict(&self, metric: Metric) -> Verdict {
        self.verdicts.iter().find(|(of, _)| *of == metric).map_or(Verdict::Unknown, |(_, verdict)| *verdict)
    }
}

impl Validity {
    /// Warnings that a reader needs before using the numbers, one sentence each.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self.failures().into_iter().collect();
        if self.unmapped_reads > MOST_UNMAPPED {
            warnings.push(format!(
                "unmapped reads: {} of the mapping units that reads asked for were unwritten or discarded, and took no flash \
                 time; write the drive first (--precondition fill)",
                percent(self.unmapped_reads)
            ));
        }
        if self.unreadable_copies > 0 {
            warnings.push(format!(
                "unreadable copies: {} mapping units were stored again (by collection, by merges or as the rest of a partial \
                 write) although their data could not be read; a read of them fails",
                count(self.unreadable_copies as f64)
            ));
        }
        if let Some(Overload { offered, served, backlog }) = self.overload {
            let [offered, served] = [offered, served].map(count);
            // A slight overload is too small to be seen in the rates, so the backlog is named.
            let piled_up = if offered == served { format!(", {backlog} requests piled up") } else { String::new() };
            warnings.push(format!(
                "overloaded: offered {offered}/s, served {served}/s{piled_up}; latencies are those of the queue, not of the drive"
            ));
        }
        let collects = !self.zoned && self.fifths.iter().any(|fifth| fifth.erases > 0);
        if collects && self.written > 0.0 && self.written < ENOUGH {
            warnings.push(format!(
                "the measured requests wrote {} of the capacity: write amplification and tail latency depend on where garbage \
                 collection happened to be; write more (--measure 0.5x) or measure in steady state (--until steady)",
                capacities(self.written)
            ));
        }
        match self.verdict(Metric::Waf) {
            Verdict::Filling if self.zoned => {}
            Verdict::Filling => warnings.push(
                "the drive programmed pages and erased nothing: it uses up free blocks, and write amplification will rise; \
                 write all of it first (--precondition fill), or measure in steady state (--until steady)"
                    .to_owned(),
            ),
            Verdict::Drifting(SteadyWindow { excursion, slope, .. }) => {
                let waf = |fifth: Option<&Round>| fifth.and_then(|fifth| fifth.waf).unwrap_or_default();
                let (first, last) = (waf(self.fifths.first()), waf(self.fifths.last()));
                warnings.push(format!(
                    "no steady state: write amplification went from {first:.2} in the first fifth of the run to {last:.2} in the \
                     last (excursion {}, at most {}; slope {}, at most {}; SNIA's rule); {}",
                    percent(excursion),
                    percent(EXCURSION),
                    percent(slope),
                    percent(SLOPE),
                    if self.waited { "measure longer (--measure)" } else { "--until steady waits for it" }
                ));
            }
            Verdict::Steady(_) | Verdict::Unknown => {}
        }
        warnings
    }

    /// The number of failed requests in words; `None` if there are none.
    fn failures(&self) -> Option<String> {
        let reasons = [
            (Status::Uncorrectable, "could not be read from flash"),
            (Status::ReadOnly, "were refused, because the drive was read-only"),
            (Status::OutOfRange, "addressed sectors beyond the drive"),
            (Status::InvalidOpcode, "were commands that the drive does not have"),
            (Status::InvalidField, "had a wrong address or size for a zone"),
            (Status::ZoneBoundary, "ended behind the capacity of a zone"),
            (Status::ZoneFull, "went to a full zone"),
            (Status::ZoneReadOnly, "went to a zone that was read only"),
            (Status::ZoneOffline, "went to a zone that was offline"),
            (Status::ZoneInvalidWrite, "did not begin at the write pointer of a zone"),
            (Status::TooManyActiveZones, "needed one active zone too many"),
            (Status::TooManyOpenZones, "needed one open zone too many"),
            (Status::InvalidZoneTransition, "were actions that the state of a zone does not allow"),
            (Status::InvalidZoneOperation, "asked for what the random write area of a zone does not allow"),
            (Status::ZrwaUnavailable, "needed one random write area too many"),
        ];
        let reasons = reasons.map(|(status, what)| (self.outcomes[status as usize], what));
        let failed: u64 = reasons.iter().map(|(requests, _)| requests).sum();
        let each = reasons.iter().filter(|(requests, _)| *requests > 0);
        let each: Vec<String> = each.map(|(requests, what)| format!("{requests} {what}")).collect();
        (failed > 0).then(|| {
            format!(
                "requests failed: {} of all ({}); rates, latencies, write amplification and energy per request are about the \
                 others",
                percent_above_zero(self.failed()),
                each.join(", ")
            )
        })
    }
}

/// The five parts of the measurement, with about equally many requests; empty if it is too short.
fn fifths(result: &RunResult) -> Vec<Round> {
    parts(result, WINDOW, INTERVALS, LEAST)
}

/// The means with their intervals, from batches with equally many requests.
fn means(result: &RunResult) -> Vec<(Metric, spread::Interval)> {
    let halves = std::iter::successors(Some(batches::MOST), |number| Some(number / 2));
    let mut numbers = halves.take_while(|number| *number >= batches::LEAST);
    let all = |number| Some(parts(result, number, OF_BATCH, LEAST)).filter(|parts| !parts.is_empty());
    let Some(rounds) = numbers.find_map(all) else { return Vec::new() };
    let of = |value: fn(&Round) -> Option<f64>| {
        let values: Option<Vec<f64>> = rounds.iter().map(value).collect();
        batches::interval(&values?)
    };
    // Batches have equally many requests and different lengths, so the mean is taken over the time per request, and
    // then inverted.
    let rate =
        of(|round| Some(round.span_s / round.requests as f64)).map(|spread::Interval { mean, half_width, n }| {
            spread::Interval { mean: 1.0 / mean, half_width: half_width / (mean * mean), n }
        });
    let latency = of(|round| Some(round.latency_us));
    let waf = of(|round| round.waf);
    let each = [(Metric::Rate, rate), (Metric::Waf, waf), (Metric::Latency, latency)];
    each.into_iter().filter_map(|(metric, interval)| Some((metric, interval?))).collect()
}

/// Divides the measurement into `number` parts with about equally many requests. Returns none if a part would have
/// fewer than `intervals` of the time series, or fewer than `least` requests.
fn parts(result: &RunResult, number: usize, intervals: usize, least: u64) -> Vec<Round> {
    let all: Vec<Interval<'_>> = result.series.intervals().collect();
    if all.len() < number * intervals {
        return Vec::new();
    }
    let count =
        |interval: &Interval<'_>| IoKind::DATA.map(|kind| interval.windows[kind as usize].count).iter().sum::<u64>();
    let total: u64 = all.iter().map(count).sum();
    let (mut parts, mut rest, mut seen) = (Vec::with_capacity(number), &all[..], 0);
    for part in 1..=number as u64 {
        let enough = rest.iter().position(|interval| {
            seen += count(interval);
            seen >= total * part / number as u64
        });
        let (taken, others) = rest.split_at(enough.map_or(rest.len(), |last| last + 1));
        parts.push(taken);
        rest = others;
    }
    let round = |part: &[Interval<'_>]| {
        let windows = part.iter().flat_map(|interval| IoKind::DATA.map(|kind| interval.windows[kind as usize]));
        let (requests, sum) = windows.fold((0, 0), |(count, sum), window| (count + window.count, sum + window.sum_ps));
        Some(run::part(part.first()?.from, part.last()?.to, requests, sum))
    };
    let rounds: Option<Vec<Round>> = parts.into_iter().map(round).collect();
    rounds.filter(|rounds| rounds.iter().all(|round| round.requests >= least)).unwrap_or_default()
}

/// The load and the part of it that the drive served, if the requests of an open loop piled up.
fn overload(result: &RunResult) -> Option<Overload> {
    let arrivals = result.arrivals?;
    let span = result.span().as_secs_f64();
    let arriving = arrivals.last.saturating_since(result.started).as_secs_f64();
    let grows = arrivals.outstanding >= LEAST && arrivals.fifths.is_some_and(|fifths| only_grows(&fifths));
    let succeeded = result.with_status(Status::Done);
    let [offered, served] = [result.completed as f64 / arriving, succeeded as f64 / span];
    (result.pacing == Pacing::Open && grows && arriving > 0.0 && span > arriving).then_some(Overload {
        offered,
        served,
        backlog: arrivals.outstanding,
    })
}

/// True if a backlog grows without end. Three conditions:
///
/// - in each of the last four fifths of the arrivals, the least number of waiting requests is larger than in the fifth
///   before;
/// - the growth from the first fifth to the last is larger than the largest swing within a fifth;
/// - the growth does not level off.
///
/// The size of the backlog does not matter, so a slight overload is found in a long run as well as a large one in a
/// short run. A drive that keeps up returns to the least number that it had before, however high the backlog rises
/// meanwhile.
fn only_grows(fifths: &[Level; WINDOW]) -> bool {
    let least = fifths.map(|fifth| fifth.least as f64);
    let swing = fifths.iter().map(|fifth| fifth.most - fifth.least).max().unwrap_or_default() as f64;
    let rises = least[1..].is_sorted_by(|earlier, later| earlier < later);
    let [first_half, second_half] = [least[2] - least[0], least[4] - least[2]];
    rises && least[4] - least[0] > SWINGS * swing && second_half >= LEVELLING * first_half
}

#[cfg(test)]
mod tests;
