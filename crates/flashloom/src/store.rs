//! The store of results: its place, `flashloom store` and `flashloom point`.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use report::store::{points_table, studies_table};
use schemars::JsonSchema;
use serde::Serialize;
use study::execute::{self, PointError, StudyOutcome};
use study::store::{Contents, Discard, Key, MODEL, MergeReport, RemovedFiles, Store, StoreError, StoredResult, Timing};
use study::summary::Summary;
use study::text::memory;

use crate::args::{GcArgs, MergeArgs, StoreArgs, StoreCommand};
use crate::exit::{Failure, note, print};
use crate::progress::now;
use crate::run::program;

/// The environment variable that names the default store; an empty value means no store.
const VARIABLE: &str = "FLASHLOOM_STORE";

/// Version of the keys, raised when a key changes its meaning or disappears.
const SCHEMA: &str = "flashloom-store-1";

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Input(error.to_string())
    }
}

/// The folder of the default store: the value of the variable `FLASHLOOM_STORE`, or a folder in the user's folder for
/// caches. None if the variable is empty or no folder is known.
#[must_use]
pub fn default_store() -> Option<PathBuf> {
    #[allow(clippy::disallowed_methods)] // No result depends on where results are kept.
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    if let Some(given) = variable(VARIABLE) {
        return (!given.as_os_str().is_empty()).then_some(given);
    }
    // Relative paths are ignored (XDG Base Directory Specification).
    let folder = |name: &str| variable(name).filter(|folder| folder.is_absolute());
    let cache = if cfg!(windows) {
        folder("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        folder("HOME").map(|home| home.join("Library/Caches"))
    } else {
        folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")))
    };
    cache.map(|cache| cache.join("flashloom"))
}

impl StoreArgs {
    /// The store of a command that runs studies; `None` without one.
    pub(crate) fn open(&self) -> Result<Option<Store>, Failure> {
        if self.no_store {
            return Ok(None);
        }
        if let Some(url) = self.url() {
            return Err(Failure::Input(format!(
                "--store {url}: a store at a URL is for `flashloom study --on`; add --on local, or name a folder"
            )));
        }
        self.in_front()
    }

    /// The store on this machine: the store of the arguments, or the default store in front of a store at a URL.
    pub(crate) fn in_front(&self) -> Result<Option<Store>, Failure> {
        if self.no_store {
            return Ok(None);
        }
        if let Some(given) = self.store.clone().filter(|_| self.url().is_none()) {
            return Ok(Some(Store::open(&given)?.limit(self.states)));
        }
        let Some(folder) = default_store() else { return Ok(None) };
        // The user did not ask for the default store, and the results are the same without it.
        Ok(match Store::open(&folder) {
            Ok(store) => Some(store.limit(self.states)),
            Err(error) => {
                note(format_args!("{error}; no result is kept"));
                None
            }
        })
    }
}

/// Reports how many results came from the store.
pub(crate) fn from_store(store: Option<&Store>, outcomes: &[StudyOutcome]) {
    let stored: usize = outcomes.iter().map(|outcome| outcome.stored).sum();
    let all: usize = outcomes.iter().flat_map(|outcome| &outcome.runs).map(Vec::len).sum();
    if let Some(store) = store.filter(|_| stored > 0) {
        note(format_args!("{stored} of {all} runs came from the store {}", store.folder().display()));
    }
}

/// Runs `flashloom point`.
pub(crate) fn point(path: &Path, store: Option<&Path>, results: &mut dyn Write) -> Result<(), Failure> {
    let fail = |error: &dyn std::fmt::Display| Failure::Input(format!("{}: {error}", path.display()));
    let text = study::config::text(path, "a key")?;
    let key = Key::parse(&text).map_err(|error| fail(&error))?;
    let store = store.map(Store::open).transpose()?;
    let found = store.as_ref().and_then(|store| {
        let found = store.get(key.digest());
        found.map_err(|file| note(format_args!("{file}; the run is done again and replaces it"))).ok()?
    });
    let summary = match found {
        Some(found) => found,
        None => {
            let start = now();
            let summary = execute::point(&key, &program()).map_err(|error| match error {
                PointError::Run(error) => Failure::study(&error),
                error => fail(&error),
            })?;
            if let Some(store) = store {
                store.put(&key, &summary)?;
                // If the time cannot be stored, the times of other runs are predicted less well.
                let _ = store.put_timing(&Timing::new(key.digest(), &summary, None, start.elapsed()));
            }
            summary
        }
    };
    print(results, &Summary::json(&[summary]))
}

/// Runs `flashloom store`.
pub(crate) fn store(command: &StoreCommand, results: &mut dyn Write) -> Result<(), Failure> {
    match command {
        StoreCommand::List { store, json } => list(&find(store.as_deref())?, *json, results),
        StoreCommand::Show { digest, store, key, json } => show(&find(store.as_deref())?, digest, *key, *json, results),
        StoreCommand::Merge(args) => merge(args, results),
        StoreCommand::Gc(args) => gc(&find(args.store.as_deref())?, args, results),
    }
}

fn find(given: Option<&Path>) -> Result<Store, Failure> {
    let folder = given.map(Path::to_owned).or_else(default_store);
    let folder = folder.ok_or_else(|| Failure::Input("there is no default store; name one with --store DIR".into()))?;
    Ok(Store::find(&folder)?)
}

/// The contents of a store, as JSON.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = SCHEMA)]
pub(crate) struct StoreListing {
    /// Version of these keys.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// Path of the store's folder.
    folder: PathBuf,
    /// The version of the model whose results this Flashloom uses.
    model: u32,
    /// The results, last written first.
    points: Vec<ListedPoint>,
    /// Bytes of the files of all results.
    point_bytes: u64,
    /// The number of preconditioned drives, which several runs can share.
    states: usize,
    /// Bytes of the files of all preconditioned drives.
    state_bytes: u64,
    /// The studies that ran with this store, by name.
    studies: Vec<ListedStudy>,
}

/// A result in a store.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedPoint {
    /// The digest of the run's key: the name by which `store show` finds the result.
    digest: String,
    /// Version of the model; missing, like `device`, `workload` and `seed`, if the file is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<u32>,
    /// Name of the device; missing if the file is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<String>,
    /// Name of the workload; missing if the file is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    workload: Option<String>,
    /// Seed of all random streams; missing if the file is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    /// Bytes of the result's file.
    bytes: u64,
}

/// A study that ran with a store.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedStudy {
    /// The study's name.
    name: String,
    /// The number of the study's runs: each point with each seed.
    runs: usize,
    /// The number of the study's runs whose results are in the store.
    there: usize,
}

fn listed(store: &Store, contents: &Contents) -> StoreListing {
    let point = |point: &StoredResult| {
        let facts = point.facts();
        let (model, seed) = (facts.as_ref().map(|of| of.model), facts.as_ref().map(|of| of.seed));
        let (device, workload) = facts.map(|of| (of.device, of.workload)).unzip();
        ListedPoint { digest: point.digest.to_string(), model, device, workload, seed, bytes: point.bytes }
    };
    let there: std::collections::BTreeSet<_> = contents.points.iter().map(|point| point.digest).collect();
    let study = |of: study::store::StudyPoints| ListedStudy {
        runs: of.points.len(),
        there: of.points.iter().filter(|point| there.contains(&point.digest)).count(),
        name: of.study,
    };
    StoreListing {
        schema: SCHEMA,
        folder: store.folder().to_owned(),
        model: MODEL,
        points: contents.points.iter().map(point).collect(),
        point_bytes: contents.point_bytes(),
        states: contents.states,
        state_bytes: contents.state_bytes,
        studies: store.studies().into_iter().map(study).collect(),
    }
}

fn list(store: &Store, json: bool, results: &mut dyn Write) -> Result<(), Failure> {
    let listed = listed(store, &store.contents());
    if json {
        return print(results, &document(&listed));
    }
    let mut text = format!("{}\n", listed.folder.display());
    let size = |bytes: u64| if bytes == 0 { "0B".to_owned() } else { memory(bytes as f64) };
    let _ = writeln!(
        text,
        "{}, {}; {}, {}\n",
        counted(listed.points.len() as u64, "result"),
        size(listed.point_bytes),
        counted(listed.states as u64, "state"),
        size(listed.state_bytes)
    );
    if !listed.studies.is_empty() {
        let row = |study: &ListedStudy| [study.name.clone(), study.runs.to_string(), study.there.to_string()];
        text.push_str(&studies_table(listed.studies.iter().map(row)));
    }
    if !listed.points.is_empty() {
        let row = |point: &ListedPoint| {
            let model = match point.model {
                None => "damaged".to_owned(),
                Some(MODEL) => String::new(),
                Some(other) => format!("model {other}"),
            };
            let [device, workload] = [&point.device, &point.workload].map(|name| name.clone().unwrap_or_default());
            let seed = point.seed.map(|seed| seed.to_string()).unwrap_or_default();
            [point.digest[..SHORT].to_owned(), device, workload, seed, model]
        };
        text.push_str(&points_table(listed.points.iter().map(row)));
    }
    print(results, &text)
}

/// The word that names the newest result.
const LAST: &str = "last";

/// The number of digits of a digest in tables.
const SHORT: usize = 12;

/// A result with its key, as JSON.
#[derive(Debug, Serialize)]
struct KeyedResult {
    /// Version of these keys.
    schema: &'static str,
    digest: String,
    key: Key,
    summary: Summary,
}

fn show(store: &Store, name: &str, key: bool, json: bool, results: &mut dyn Write) -> Result<(), Failure> {
    let contents = store.contents();
    let found: Vec<&StoredResult> = match name {
        LAST => contents.points.iter().take(1).collect(),
        name => contents.named(name).collect(),
    };
    let [point] = found[..] else {
        let folder = store.folder().display();
        return Err(Failure::Input(match found.len() {
            0 => format!(
                "{name}: there is no such result in {folder}; `flashloom store list` shows those that are there"
            ),
            count => format!("{name}: is the beginning of {count} digests in {folder}; write more of its digits"),
        }));
    };
    let remedy = "run its study again, or remove it with `flashloom store gc --unusable`";
    let row = store.row(point.digest).map_err(|file| Failure::Input(format!("{file}; {remedy}")))?;
    let row = row.ok_or_else(|| Failure::Input(format!("{name}: was removed meanwhile; {remedy}")))?;
    let text = match (key, json) {
        (true, _) => row.key.json(),
        (false, true) => document(&KeyedResult {
            schema: "flashloom-stored-1",
            digest: point.digest.to_string(),
            key: row.key,
            summary: row.summary,
        }),
        (false, false) => format!("{}\n{}\n\n{}", point.digest, point.path.display(), report::run::table(&row.summary)),
    };
    print(results, &text)
}

/// Output of `store merge --json`: counts of results by their fate.
#[derive(Debug, Serialize)]
struct MergedStores {
    /// Version of these keys.
    schema: &'static str,
    /// The folder of the store that took the results.
    folder: PathBuf,
    stores: usize,
    /// Results that were copied.
    taken: u64,
    /// Results that the store had before.
    there: u64,
    /// Results of another version of the model, and damaged results, which were not copied.
    left: usize,
}

/// The most unusable files that a message names.
const NAMED: usize = 3;

fn merge(args: &MergeArgs, results: &mut dyn Write) -> Result<(), Failure> {
    let folder = args.store.clone().or_else(default_store);
    let folder = folder.ok_or_else(|| Failure::Input("there is no default store; name one with --store DIR".into()))?;
    // All stores are opened before the first one is read.
    let from = args.from.iter().map(|from| Store::find(from)).collect::<Result<Vec<Store>, _>>()?;
    let into = Store::open(&folder)?;
    if let Some(same) = from.iter().find(|from| from.is_same(&into)) {
        let remedy = "leave it out, or name another store with --store DIR";
        return Err(Failure::Input(format!(
            "{}: is the store that takes the results; {remedy}",
            same.folder().display()
        )));
    }
    let mut merged = MergeReport::default();
    from.iter().try_for_each(|from| into.merge(from, &mut merged))?;
    let MergeReport { taken, there, left } = merged;
    left.iter().take(NAMED).for_each(|file| note(format_args!("{file}; it stays where it is")));
    if left.len() > NAMED {
        note(format_args!("{} more files stay where they are", left.len() - NAMED));
    }
    if args.json {
        let (folder, stores, left) = (into.folder().to_owned(), from.len(), left.len());
        return print(
            results,
            &document(&MergedStores { schema: "flashloom-merge-1", folder, stores, taken, there, left }),
        );
    }
    let [taken, stores] = [counted(taken, "result"), counted(from.len() as u64, "store")];
    let left = if left.is_empty() { String::new() } else { format!(", {} cannot be used", left.len()) };
    print(results, &format!("took {taken} from {stores}; {there} were there{left}\n"))
}

/// Output of `store gc --json`: counts of removed files.
#[derive(Debug, Serialize)]
struct StoreGcOutput {
    /// Version of these keys.
    schema: &'static str,
    /// Removed results.
    points: u64,
    /// Removed preconditioned drives.
    states: u64,
    /// Removed half-written files of programs that no longer run.
    leftovers: u64,
    /// Bytes of all removed files.
    bytes: u64,
}

fn gc(store: &Store, args: &GcArgs, results: &mut dyn Write) -> Result<(), Failure> {
    let what = Discard { unusable: args.unusable, older: args.older_than, beyond: args.size };
    let RemovedFiles { points, states, leftovers, bytes } = store.clone().limit(args.states).discard(what);
    if args.json {
        return print(
            results,
            &document(&StoreGcOutput { schema: "flashloom-gc-1", points, states, leftovers, bytes }),
        );
    }
    let all = [(points, "result"), (states, "state"), (leftovers, "half-written file")];
    let all: Vec<String> = all.into_iter().filter(|(count, _)| *count > 0).map(|(n, of)| counted(n, of)).collect();
    let text = match &all[..] {
        [] => "nothing to remove\n".to_owned(),
        all => format!("removed {}: {}\n", all.join(", "), memory(bytes as f64)),
    };
    print(results, &text)
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn document(of: &impl Serialize) -> String {
    serde_json::to_string_pretty(of).expect("numbers, texts and tables") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        assert_eq!(
            [counted(0, "state"), counted(1, "state"), counted(2, "state")],
            ["0 states", "1 state", "2 states"]
        );
    }
}
