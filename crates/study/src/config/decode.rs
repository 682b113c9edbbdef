//! Decodes the values of a document into a type, or reports all faults at once.

use base::fault::Fault;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;
use toml::{Table, Value};

use super::document::{Document, MOST_FAULTS};
use super::place::{PathSegment, joined, places, split};
use super::schema::{Schema, SchemaFault, Substitute};
use super::{ConfigFault, Faults};

/// The maximum number of rounds of repair, after each of which the table is decoded again to find further faults.
const ROUNDS: usize = 8;

/// Counts of the work to find all faults. Tests bound these counts, because a time would depend on the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// The number of values compared with the schema.
    pub(super) visited: usize,
    /// The number of attempts to decode the whole table.
    pub(super) attempts: usize,
}

/// A fault before it becomes a message.
enum DecodeFault<'a> {
    Found(SchemaFault<'a>),
    /// A fault of several values together.
    Whole(Fault),
}

impl Document {
    /// Decodes the document into a `T`.
    ///
    /// # Errors
    /// All faults, in the order of their lines.
    pub fn decode<T: DeserializeOwned + JsonSchema>(&self) -> Result<T, Faults> {
        self.decode_and(|_: &T| Ok(())).map(|(value, ())| value)
    }

    /// Decodes the document into a `T`, and calls `check` with it.
    ///
    /// # Errors
    ///
    /// All faults of single values, and those faults of `check` that are not consequences of them, in the order of
    /// their lines.
    pub fn decode_and<T: DeserializeOwned + JsonSchema, R>(
        &self,
        check: impl Fn(&T) -> Result<R, Vec<Fault>>,
    ) -> Result<(T, R), Faults> {
        if let Ok(value) = T::deserialize(Value::Table(self.table().clone()))
            && let Ok(result) = check(&value)
            && self.fits_schema::<T>()
        {
            return Ok((value, result));
        }
        Err(self.all_faults(&|value: &T| check(value).err().unwrap_or_default()).0)
    }

    /// True if the schema has all keys of the document and accepts their values. The check is needed beside serde,
    /// which ignores unknown keys in a choice without keys of its own, e.g. `victim = { policy = "greedy", window = 8
    /// }`, and reads a date as a text.
    fn fits_schema<T: JsonSchema>(&self) -> bool {
        Schema::shared::<T>().walk(&mut self.table().clone(), Substitute::First).found.is_empty()
    }

    /// All faults, including keys that serde accepts and the schema does not have.
    pub(super) fn all_faults<T: DeserializeOwned + JsonSchema>(
        &self,
        check: &dyn Fn(&T) -> Vec<Fault>,
    ) -> (Faults, Work) {
        let schema = Schema::of::<T>();
        let (mut first, mut second) = (self.table().clone(), self.table().clone());
        let walk = schema.walk(&mut first, Substitute::First);
        let mut work = Work { visited: walk.visited, attempts: 0 };
        let mut all: Vec<DecodeFault<'_>> = walk.found.into_iter().map(DecodeFault::Found).collect();
        let used = all.iter().filter_map(|fault| match fault {
            DecodeFault::Found(found) if !found.wrong.is_idle() => Some(joined(&found.steps)),
            _ => None,
        });
        let mut blamed: Vec<String> = used.collect();
        // With this many faults, the file was probably meant as another kind of file.
        let hopeless = all.len() > MOST_FAULTS;
        if !hopeless {
            work.visited += schema.walk(&mut second, Substitute::Second).visited;
        }
        for round in 0..if hopeless { 0 } else { ROUNDS } {
            let mut faults = |table: &Table| {
                work.attempts += 1;
                serde_path_to_error::deserialize::<_, T>(Value::Table(table.clone())).map(|value| check(&value))
            };
            let one = match faults(&first) {
                Ok(one) => one,
                Err(error) if round == 0 && all.is_empty() => {
                    all.push(DecodeFault::Whole(strange(&error)));
                    break;
                }
                Err(_) => break,
            };
            // A fault that appears with both substitutes is not a consequence of the faulty values.
            let Ok(other) = (if all.is_empty() { Ok(one.clone()) } else { faults(&second) }) else { break };
            let new = |fault: &Fault| other.contains(fault) && !blamed.iter().any(|key| touches(key, &fault.path));
            let new: Vec<Fault> = one.into_iter().filter(new).collect();
            if new.is_empty() {
                break;
            }
            let mut repaired = true;
            for fault in &new {
                let steps = split(&fault.path);
                repaired &= schema.repair(&mut first, &steps, Substitute::First);
                repaired &= schema.repair(&mut second, &steps, Substitute::Second);
                blamed.push(fault.path.clone());
            }
            all.extend(new.into_iter().map(DecodeFault::Whole));
            if !repaired {
                break;
            }
        }
        let way = |fault: &DecodeFault<'_>| match fault {
            DecodeFault::Found(found) => found.steps.clone(),
            DecodeFault::Whole(fault) => split(&fault.path),
        };
        let say = |fault: &DecodeFault<'_>| match fault {
            DecodeFault::Found(found) => {
                let (message, remedy) = schema.say(found);
                (joined(&found.steps), message, remedy)
            }
            DecodeFault::Whole(fault) => (fault.path.clone(), fault.message.clone(), fault.remedy.clone()),
        };
        (self.in_order(&all, way, say), work)
    }

    /// Orders the faults of a whole description by their lines.
    #[must_use]
    pub fn faults(&self, faults: Vec<Fault>) -> Faults {
        let say = |fault: &Fault| (fault.path.clone(), fault.message.clone(), fault.remedy.clone());
        self.in_order(&faults, |fault| split(&fault.path), say)
    }

    /// Orders faults by their lines, and drops those beyond [`MOST_FAULTS`].
    fn in_order<F>(
        &self,
        faults: &[F],
        way: impl Fn(&F) -> Vec<PathSegment>,
        say: impl Fn(&F) -> (String, String, String),
    ) -> Faults {
        let ways: Vec<Vec<PathSegment>> = faults.iter().map(way).collect();
        let mut placed: Vec<_> =
            places(self.source(), ways.iter().map(Vec::as_slice)).into_iter().zip(faults).collect();
        placed.sort_by_key(|(place, _)| place.line.unwrap_or(usize::MAX));
        let more = placed.len().saturating_sub(MOST_FAULTS);
        let shown = placed.into_iter().take(MOST_FAULTS).map(|(place, fault)| {
            let (key, message, remedy) = say(fault);
            self.fault_at(&key, place, message, remedy)
        });
        let mut shown: Vec<ConfigFault> = shown.collect();
        shown.sort_by_key(|fault| fault.line.unwrap_or(usize::MAX));
        Faults(shown).and_more(self.path(), more)
    }
}

/// True if one of the two keys lies inside the other.
pub(super) fn touches(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The fault of a value that the schema accepts and serde refuses.
fn strange(error: &serde_path_to_error::Error<toml::de::Error>) -> Fault {
    let steps: Vec<PathSegment> = error
        .path()
        .iter()
        .filter_map(|segment| match segment {
            Segment::Map { key } => Some(PathSegment::Key(key.clone())),
            Segment::Seq { index } => Some(PathSegment::Item(*index)),
            Segment::Enum { .. } | Segment::Unknown => None,
        })
        .collect();
    let message = error.inner().message().trim();
    // Messages of the program's own types have the form "fault: remedy".
    match message.split_once(": ") {
        Some((wrong, remedy)) if wrong.contains('`') && !wrong.starts_with("invalid") => {
            Fault::new(joined(&steps), wrong, remedy)
        }
        _ => Fault::new(joined(&steps), "does not fit here", "see `flashloom schema`"),
    }
}
