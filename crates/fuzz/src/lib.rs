//! Random input for all parsers and for drives.
//!
//! A [`Target`] is one parser, or the path from a description to a drive that has run. [`mutate::damage`] derives its
//! inputs from a small corpus of valid ones. An input is a function of the target and a seed, so one line replays a
//! failure. A target may accept or refuse an input; it must not panic, and a refusal must have a message.

pub mod mutate;
pub mod target;
pub mod values;

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use base::engine::Rng;

pub use target::targets;

/// Words that inputs in TOML are damaged with.
const TOML: &[&str] = &[
    "[flash]",
    "[ftl]",
    "[[host.queue]]",
    "=",
    "\"",
    "[",
    "]",
    "{",
    "}",
    "[[",
    "]]",
    "'''",
    "\"\"\"",
    "true",
    "nan",
    "inf",
    "1979-05-27",
    "\"4KiB\"",
    "\"25us\"",
    "\"7%\"",
];

/// The outcome of an input that did not panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The target has accepted the input.
    Taken,
    /// Refused with this message.
    Refused(String),
}

/// The message of a target that panicked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PanicMessage(pub String);

impl std::fmt::Display for PanicMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PanicMessage {}

/// The verdict on a result.
///
/// # Panics
/// If the error's message is empty.
#[must_use]
pub fn verdict<T, E: std::fmt::Display>(outcome: Result<T, E>) -> Verdict {
    match outcome {
        Ok(_) => Verdict::Taken,
        Err(error) => {
            let message = error.to_string();
            assert!(message.len() > 10, "`{message}` says nothing");
            Verdict::Refused(message)
        }
    }
}

/// A folder for the files of one thread.
#[derive(Debug)]
pub struct Scratch(tempfile::TempDir);

impl Scratch {
    /// A new, empty folder.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn new() -> io::Result<Self> {
        tempfile::tempdir().map(Self)
    }

    /// Writes a file with this name and content, in place of an earlier file of this name.
    ///
    /// # Panics
    /// If it cannot be written.
    #[must_use]
    pub fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, content).expect("a file can be written");
        path
    }
}

/// The manner in which valid inputs are damaged.
#[derive(Clone, Copy, Debug)]
pub enum Damage {
    /// Byte by byte, with the words of the format.
    Bytes(&'static [&'static str]),
    /// Mostly value by value, so that the text stays TOML.
    Toml,
}

/// Parses an input. The number is the seed of all other random draws.
pub type InputReader = dyn Fn(&[u8], u64, &Scratch) -> Verdict + Send + Sync;

/// A reader of input under test.
pub struct Target {
    /// The name of the target in replay lines.
    pub name: String,
    /// Valid inputs, from which all others are derived.
    pub corpus: Vec<Vec<u8>>,
    /// The manner in which the valid inputs are damaged.
    pub damage: Damage,
    /// The function under test.
    pub run: Box<InputReader>,
}

impl Target {
    /// The input for a seed: one in sixteen is valid, all others are damaged.
    #[must_use]
    pub fn input(&self, seed: u64) -> Vec<u8> {
        let mut rng = Rng::stream(seed, &self.name);
        let mut any = || &self.corpus[rng.below(self.corpus.len() as u64) as usize];
        let (mut input, other) = (any().clone(), any().clone());
        if !rng.chance(1.0 / 16.0) {
            match self.damage {
                Damage::Bytes(words) => mutate::damage(&mut rng, &mut input, words, &other),
                Damage::Toml if rng.chance(0.2) => mutate::damage(&mut rng, &mut input, TOML, &other),
                Damage::Toml => input = values::damage(&mut rng, &input, &other),
            }
        }
        input
    }

    /// Runs the input of a seed.
    ///
    /// # Errors
    /// If the target panics.
    pub fn try_seed(&self, seed: u64, scratch: &Scratch) -> Result<Verdict, PanicMessage> {
        let input = self.input(seed);
        catch_unwind(AssertUnwindSafe(|| (self.run)(&input, seed, scratch))).map_err(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            PanicMessage(text.unwrap_or("a panic without words").to_owned())
        })
    }
}

/// Writes the input of a seed to a file, for the analysis of a failure.
///
/// # Errors
/// If it cannot be written.
pub fn keep(target: &Target, seed: u64, folder: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let path = folder.join(format!("{}-{seed}", target.name));
    fs::write(&path, target.input(seed))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeds of each target in `make test`; `make soak` runs more.
    const SEEDS: u64 = 150;

    #[test]
    fn no_target_panics() {
        let scratch = Scratch::new().expect("a place");
        let mut failures = Vec::new();
        for target in targets() {
            let mut taken = 0;
            for seed in 0..SEEDS {
                match target.try_seed(seed, &scratch) {
                    Ok(verdict) => taken += u64::from(verdict == Verdict::Taken),
                    Err(message) => failures.push(format!("{} {seed}: {message}", target.name)),
                }
            }
            // If all inputs are refused, only the first lines of a parser are tested.
            assert!(taken > SEEDS / 100, "{}: {taken} of {SEEDS} inputs were taken", target.name);
        }
        assert!(failures.is_empty(), "make soak FUZZ=\"replay TARGET SEED\":\n{}", failures.join("\n"));
    }

    #[test]
    fn a_panic_is_reported_with_its_seed() {
        let planted = Target {
            name: "planted".into(),
            corpus: vec![b"1,2,3".to_vec()],
            damage: Damage::Bytes(&[]),
            run: Box::new(|input, _, _| {
                assert!(!input.contains(&b';'), "a semicolon");
                Verdict::Taken
            }),
        };
        let scratch = Scratch::new().expect("a place");
        let seed = (0..20_000).find(|seed| planted.try_seed(*seed, &scratch).is_err()).expect("it is found");
        assert_eq!(
            planted.try_seed(seed, &scratch),
            Err(PanicMessage("a semicolon".to_owned())),
            "a seed repeats its failure"
        );
    }
}
