//! Studies that several machines run: `flashloom study --shard` and `flashloom study --keys`.

use std::io::Write;
use std::path::Path;

use report::cluster::{keys_rows, keys_table, shard_rows, shard_table};
use schemars::JsonSchema;
use serde::Serialize;
use study::execute::{self, ResultStore, Shard, ShardAssignment, ShardRun};
use study::memory;
use study::plan::{Label, Plan};
use study::store::Store;

use crate::args::{Form, StudyArgs};
use crate::exit::{Failure, note, print};
use crate::machine;
use crate::progress::Bar;
use crate::run::program;
use crate::store::default_store;

/// Version of the keys, raised when a key changes its meaning or disappears.
const SCHEMA: &str = "flashloom-shard-1";

/// Output of `flashloom study --shard --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = SCHEMA)]
pub(crate) struct ShardResult {
    /// Version of these keys.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// The number of this shard, from 1: `K` of `--shard K/N`.
    shard: u32,
    /// The number of shards into which the studies are divided: `N` of `--shard K/N`.
    shards: u32,
    /// The number of runs of all shards together.
    all_runs: usize,
    /// The runs of this shard, finished or found in the store.
    runs: Vec<OneRun>,
}

/// A run of a shard: a point of a study with a seed.
#[derive(Debug, Serialize, JsonSchema)]
struct OneRun {
    /// The study's name.
    study: String,
    /// The names of the study's axes.
    axes: Vec<String>,
    /// The point's label on each axis.
    #[schemars(with = "Vec<String>")]
    labels: Vec<Label>,
    /// Seed of all random streams of the run.
    seed: u64,
    /// The digest of the run's key: the name of the run's result in the store.
    digest: String,
    /// True if the store had the result before this command ran.
    stored: bool,
}

/// Runs a shard of some studies, and prints its runs.
pub(crate) fn shard(
    mut plans: Vec<Plan>,
    shard: Shard,
    args: &StudyArgs,
    results: &mut dyn Write,
) -> Result<(), Failure> {
    let tell = args.notices();
    tell.check()?;
    for point in plans.iter_mut().flat_map(|plan| &mut plan.points) {
        point.run.verify |= args.verify;
    }
    let dealt = ShardAssignment::new(&plans, shard);
    let all_runs = plans.iter().map(|plan| plan.points.len() * plan.spec.seeds.len()).sum();
    if let Some(limit) = machine::memory(args.memory) {
        for (number, plan) in plans.iter().enumerate() {
            memory::check(dealt.needs(number, &execute::needs(plan)), execute::at_once(args.jobs), &limit)?;
        }
    }
    let store = args.store.open()?;
    let store = store.ok_or_else(|| {
        Failure::Input("a shard keeps its results in a store, and there is no default one; write --store DIR".into())
    })?;
    let result_store = ResultStore::new(&store, &|said| note(said));
    let program = program();
    let mut runs = Vec::new();
    for (number, mut plan) in plans.into_iter().enumerate() {
        plan.force = args.replace.force;
        execute::check_snapshots(&plan)?;
        let (study, axes) =
            (plan.spec.name.clone(), plan.axes.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>());
        let bar = Bar::steps(&format!("study {study}, shard {shard}"), tell);
        let step = |done, all| bar.step(done, all);
        let done = execute::run_shard(plan, (&dealt, number), &program, args.jobs, &result_store, &step);
        let done = done.map_err(|error| Failure::study(&error))?;
        runs.extend(done.into_iter().map(|ShardRun { labels, seed, digest, was_stored }| OneRun {
            study: study.clone(),
            axes: axes.clone(),
            labels,
            seed,
            digest: digest.to_string(),
            stored: was_stored,
        }));
    }
    let row = |run: &OneRun| report::cluster::ShardRow {
        study: run.study.clone(),
        point: execute::describe_point(&run.axes, &run.labels),
        seed: run.seed,
        digest: run.digest.clone(),
        stored: run.stored,
    };
    let text = match Form::of(args.json, args.csv) {
        Form::Json => {
            let (number, shards) = (shard.number(), shard.count());
            let result = ShardResult { schema: SCHEMA, shard: number, shards, all_runs, runs };
            serde_json::to_string_pretty(&result).expect("numbers and texts") + "\n"
        }
        Form::Csv => shard_rows(&runs.iter().map(row).collect::<Vec<_>>()).csv(),
        Form::Text => {
            let stored = runs.iter().filter(|run| run.stored).count();
            let rows: Vec<_> = runs.iter().map(row).collect();
            let of = format!("shard {shard}: {} of {all_runs} runs, {stored} of them were in the store", runs.len());
            let table = if rows.is_empty() { String::new() } else { format!("\n{}", shard_table(&rows)) };
            format!("{of}\n{table}")
        }
    };
    print(results, &text)
}

/// Writes the keys of all runs of some studies into a folder, and prints the list of them.
pub(crate) fn keys(
    mut plans: Vec<Plan>,
    folder: &Path,
    args: &StudyArgs,
    results: &mut dyn Write,
) -> Result<(), Failure> {
    for point in plans.iter_mut().flat_map(|plan| &mut plan.points) {
        point.run.verify |= args.verify;
    }
    let place = args.store.store.clone().or_else(default_store).filter(|_| !args.store.no_store);
    // Listing keys writes nothing to the store, so a missing store counts as empty.
    let store = place.and_then(|place| Store::find(&place).ok());
    let listed = execute::list_keys(&plans, store.as_ref(), args.jobs);
    let (list, keys) = listed.map_err(|error| Failure::study(&error))?;
    execute::write_keys(folder, &list, &keys, &plans, args.replace.force)?.iter().for_each(note);
    let row = |run: &execute::PlannedRun| report::cluster::KeyRow {
        file: run.file.clone(),
        memory_bytes: run.memory_bytes,
        requests: run.requests,
        seconds: run.seconds,
        stored: run.stored,
        study: run.study.clone(),
        point: execute::describe_point(&run.axes, &run.labels),
        seed: run.seed,
    };
    let rows: Vec<_> = list.runs.iter().map(row).collect();
    let text = match Form::of(args.json, args.csv) {
        Form::Json => list.json(),
        Form::Csv => keys_rows(&rows).csv(),
        Form::Text => {
            let count = rows.len();
            let keys = if count == 1 { "key" } else { "keys" };
            format!("{}: {count} {keys}, longest runs first\n\n{}", folder.display(), keys_table(&rows))
        }
    };
    print(results, &text)
}
