//! Every key of a kind of file, found in its JSON schema, with other values that it may have.
//!
//! A test sets each key of a description to another value and looks at what comes of it. Because keys and values come
//! from the schema, a new key is tested without being named; it fails if it changes nothing.

mod alternatives;
pub mod drives;
mod walk;

use serde_json::Value;

pub use walk::{every_key, keys};

/// A key of a description, and what it may be set to instead.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Its name, with `[]` for any member of a list and the variant of a table that has some: `ftl.map(dftl).cmt`.
    pub name: String,
    /// Where it is.
    path: Vec<Step>,
    /// Other values of its type. Not all of them are legal.
    pub alternatives: Vec<Value>,
}

/// A step on the way to a key.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Item(usize),
}

impl Key {
    /// The description with the key set to a value.
    ///
    /// # Panics
    /// If the key is not of that description.
    #[must_use]
    pub fn set(&self, description: &Value, value: &Value) -> Value {
        let mut changed = description.clone();
        let mut at = &mut changed;
        for step in &self.path {
            at = match step {
                Step::Key(key) => {
                    let table = at.as_object_mut().expect("a table");
                    table.entry(key.clone()).or_insert(Value::Null)
                }
                Step::Item(item) => at.get_mut(*item).expect("a member of the list"),
            };
        }
        *at = value.clone();
        changed
    }
}
