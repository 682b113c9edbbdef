//! Random input for everything that reads input.
//!
//! A [`Target`] is one parser, or the way from a description to a drive that has been run. Its inputs are made from a
//! small corpus of sound ones by [`mutate::damage`], and an input is a function of the target and a seed, so one line
//! replays a failure. A target may refuse an input or take it; it must not panic, and a refusal says something.

pub mod mutate;
pub mod target;
pub mod values;

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use base::engine::Rng;

pub use target::targets;

/// Words of TOML.
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

/// What became of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was sound, or sound enough.
    Taken,
    /// It was refused with this message.
    Refused(String),
}

/// A target that panicked, with what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked(pub String);

impl std::fmt::Display for Panicked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Panicked {}

/// The verdict on something that gives a value or a message.
///
/// # Panics
/// If the message says nothing.
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

/// A place for the files of one thread.
#[derive(Debug)]
pub struct Scratch(tempfile::TempDir);

impl Scratch {
    /// An empty place.
    ///
    /// # Errors
    /// If there is nowhere to put it.
    pub fn new() -> io::Result<Self> {
        tempfile::tempdir().map(Self)
    }

    /// A file of this name with this content; the one before it is gone.
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

/// How sound inputs become unsound ones.
#[derive(Clone, Copy, Debug)]
pub enum Damage {
    /// Byte by byte, with the words of the format.
    Bytes(&'static [&'static str]),
    /// Mostly value by value, so that the text stays TOML.
    Toml,
}

/// Reads an input; the number is the seed for whatever else is random.
pub type Reader = dyn Fn(&[u8], u64, &Scratch) -> Verdict + Send + Sync;

/// One thing that reads input.
pub struct Target {
    /// What a replay line calls it.
    pub name: String,
    /// Sound inputs.
    pub corpus: Vec<Vec<u8>>,
    /// How they are damaged.
    pub damage: Damage,
    /// What reads them.
    pub run: Box<Reader>,
}

impl Target {
    /// The input of a seed: one in sixteen is sound, the others are damaged.
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
    /// If it panics.
    pub fn try_seed(&self, seed: u64, scratch: &Scratch) -> Result<Verdict, Panicked> {
        let input = self.input(seed);
        catch_unwind(AssertUnwindSafe(|| (self.run)(&input, seed, scratch))).map_err(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Panicked(text.unwrap_or("a panic without words").to_owned())
        })
    }
}

/// Writes down the input of a seed, for whoever looks at a failure.
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

    /// Seeds of each target in `make test`; `make soak` has time for more.
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
            // A corpus that is refused tests nothing but the first line of a parser.
            assert!(taken > SEEDS / 100, "{}: {taken} of {SEEDS} inputs were taken", target.name);
        }
        assert!(failures.is_empty(), "make soak FUZZ=\"replay TARGET SEED\":\n{}", failures.join("\n"));
    }

    #[test]
    fn a_panic_is_found_and_has_a_seed() {
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
            Err(Panicked("a semicolon".to_owned())),
            "a seed repeats its failure"
        );
    }
}
