//! A run with several seeds as text.

use study::metric::{Dimension, Metric};
use study::repeat::RepeatedRuns;
use study::spread::Spread;
use study::validity::BEYOND;

use super::table::KINDS;
use crate::cautions;
use crate::grid::{folded, grid};
use crate::table::{Column, Field, Table, UnitOfMeasure, Values};

/// The width of a terminal in characters.
const WIDTH: usize = 80;

const OF_KIND: [&str; 6] = ["mean", "p50", "p99", "p99_9", "requests-per-s", "failed"];

const OF_ALL: [&str; 5] = ["requests-per-s", "rate", "failed", "waf", "energy"];

const OF_LIFE: [&str; 6] =
    ["life.tbw", "life.dwpd", "life.waf", "life.bad-blocks", "life.first-failure", "life.half-spare"];

/// The metrics in the table, of those that the runs have; failed requests only if there are any.
pub(super) fn rows(of: &RepeatedRuns) -> impl Iterator<Item = String> {
    let per_kind = KINDS.iter().flat_map(|kind| OF_KIND.iter().map(move |stat| format!("{kind}.{stat}")));
    let is_shown = |name: &String| match of.metrics.get(name) {
        Some(spread) => !name.ends_with("failed") || spread.mean > 0.0,
        None => false,
    };
    per_kind.chain(OF_ALL.iter().chain(&OF_LIFE).map(|name| (*name).to_owned())).filter(is_shown)
}

/// The means of a run over several seeds with their 95 % intervals, the lowest and the highest value.
#[must_use]
pub fn seeds_table(of: &RepeatedRuns) -> String {
    let seeds: Vec<String> = of.seeds.iter().map(ToString::to_string).collect();
    let seeds = match &seeds[..] {
        [first, .., last] if seeds.len() > 3 => format!("{first} to {last}"),
        all => all.join(", "),
    };
    let pacing = of.runs.first().map_or("", |run| run.pacing.as_str());
    let head = format!("{} under {} ({pacing}), {} seeds: {seeds}\n\n", of.device, of.workload, of.seeds.len());
    let (mut lines, mut hides) = (Vec::new(), false);
    for name in rows(of) {
        let spread = &of.metrics[&name];
        let unit = name.parse::<Metric>().map_or(Dimension::Plain, |metric| metric.dimension());
        if is_hidden(of, &name) {
            hides = true;
            lines.push([name.as_str(), "-", "-", "-"].map(ToOwned::to_owned).to_vec());
            continue;
        }
        let (least, most) = spread.values.iter().fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(*v), b.max(*v)));
        lines.push(vec![name, spread.show(unit), unit.show(least), unit.show(most)]);
    }
    let mut text = head + &grid(&["metric", "mean", "least", "most"], lines, 1);
    let said =
        "\u{b1} is the 95 % interval of the mean (Student's t); a number without it is the same with every seed.";
    text += &folded(said, WIDTH);
    if hides {
        text +=
            &folded(&format!("-: fewer than {BEYOND} requests lie beyond this percentile in one of the runs"), WIDTH);
    }
    text + &cautions::text(&of.cautions(), |caution| cautions::share(caution, of.runs.len()), WIDTH)
}

/// Every metric as a table for other programs.
#[must_use]
pub fn seeds_rows(of: &RepeatedRuns) -> Table {
    let all = || of.metrics.iter();
    let mut table = Table::default();
    table.text("workload", WORKLOAD, all().map(|_| of.workload.clone()));
    table.text("metric", METRIC, all().map(|(name, _)| name.clone()));
    let mut number = |name: String, meaning: &'static str, value: &dyn Fn(&Spread) -> Option<f64>| {
        let values = all().map(|(_, spread)| value(spread)).collect();
        table.push(Field::named(name, Values::Number, UnitOfMeasure::None, meaning.to_owned()), Column::Number(values));
    };
    let each: [fn(&Spread) -> Option<f64>; 3] =
        [|spread| Some(spread.mean), |spread| spread.half_width, |spread| Some(f64::from(spread.n))];
    NUMBERS.into_iter().zip(each).for_each(|((name, meaning), of)| number(name.into(), meaning, &of));
    for (i, seed) in of.seeds.iter().enumerate() {
        number(format!("seed_{seed}"), OF_SEED, &|spread| spread.values.get(i).copied());
    }
    table
}

/// The columns of [`seeds_rows`]; `SEED` stands for the columns of the seeds.
pub(crate) fn seeds_fields() -> Vec<Field> {
    let mut table = Table::default();
    table.text("workload", WORKLOAD, [""; 0]);
    table.text("metric", METRIC, [""; 0]);
    NUMBERS.into_iter().for_each(|(name, meaning)| table.number(name, UnitOfMeasure::None, meaning, []));
    table.number("seed_SEED", UnitOfMeasure::None, OF_SEED, []);
    table.fields()
}

const WORKLOAD: &str = "The workload, or the stage of it";
const METRIC: &str = "The metric, in base units";
const OF_SEED: &str = "The value with this seed";

/// The columns over all seeds.
const NUMBERS: [(&str, &str); 3] = [
    ("mean", "The mean over the seeds"),
    ("half_width", "Half the width of the 95 % interval of the mean"),
    ("n", "The number of seeds"),
];

/// True for a percentile that too few requests support in one of the runs.
pub(super) fn is_hidden(of: &RepeatedRuns, name: &str) -> bool {
    let Some((kind, key)) = name.split_once('.') else { return false };
    of.runs.iter().any(|run| run.validity.unsupported.get(kind).is_some_and(|keys| keys.contains(&key)))
}

#[cfg(test)]
mod tests {
    use testkit::small;

    use super::*;
    use crate::testing::{reported, settled};

    #[test]
    fn the_table_of_several_seeds_has_intervals_and_counts_warnings() {
        let text = reported(&settled(small::mixed()), &[1, 3], |_, summary| {
            let mut runs = vec![vec![summary.clone()], vec![summary.clone()], vec![summary.clone()]];
            for (seed, run) in (4..).zip(&mut runs) {
                run[0].seed = seed;
                run[0].requests_per_s = Some(1_000.0 + seed as f64);
                run[0].validity.warnings = vec![format!("no steady state: {seed} of it")];
            }
            runs[0][0].validity.warnings.clear();
            seeds_table(&RepeatedRuns::stages(runs).remove(0))
        });
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        for wanted in
            ["3 seeds: 4, 5, 6", "1005.0 \u{b1} 2.5/s", "1004/s", "1006/s", "WARNING (2 of 3 runs): no steady"]
        {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        let csv = reported(&settled(small::mixed()), &[1, 3], |_, summary| {
            let mut runs = vec![vec![summary.clone()], vec![summary.clone()]];
            runs[1][0].seed = 9;
            seeds_rows(&RepeatedRuns::stages(runs).remove(0)).csv()
        });
        assert!(csv.starts_with("workload,metric,mean,half_width,n,seed_7,seed_9\n"), "{csv}");
        assert!(csv.contains(",read.requests,10000,0,2,10000,10000\n"), "{csv}");
        let equal = text.lines().find(|line| line.starts_with("read.mean")).expect("a row");
        assert!(!equal.contains('\u{b1}'), "no seed changes it: {equal}");
    }
}
