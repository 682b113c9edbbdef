//! The keys of a kind of file, found in its JSON schema, with alternative values.
//!
//! A test sets each key of a description to another value and compares the results. Keys and values come from the
//! schema, so a new key is tested without being listed; the test fails if the key changes nothing.

mod alternatives;
mod collection;
pub mod drives;
mod errors;
mod host_memory;
mod layers;
mod loads;
mod own;
mod placement;
mod policies;
mod power;
mod schema;
mod slc_cache;
mod stripes;
mod walk;
mod zones;

use serde_json::Value;

pub use own::register_fewest;
pub use schema::Schema;
pub use walk::{every_key, keys};

/// A key of a description, with other values that a test can set.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Name of the key, with `[]` for any member of a list and the variant of a table that has variants:
    /// `ftl.map(dftl).cmt`.
    pub name: String,
    path: Vec<PathSegment>,
    /// Other values of the key's type; some may be illegal.
    pub alternatives: Vec<Value>,
}

/// One level of a key's path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathSegment {
    Key(String),
    Item(usize),
}

impl Key {
    /// Returns true if one of the two keys is inside the other, so that a test cannot set both.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.path.iter().zip(&other.path).all(|(own, others)| own == others)
    }

    /// Returns the description with the key set to a value.
    ///
    /// # Panics
    /// If the description has no such key.
    #[must_use]
    pub fn set(&self, description: &Value, value: &Value) -> Value {
        let mut changed = description.clone();
        let mut at = &mut changed;
        for step in &self.path {
            at = match step {
                PathSegment::Key(key) => {
                    let table = at.as_object_mut().expect("a table");
                    table.entry(key.clone()).or_insert(Value::Null)
                }
                PathSegment::Item(item) => at.get_mut(*item).expect("a member of the list"),
            };
        }
        *at = value.clone();
        changed
    }
}
