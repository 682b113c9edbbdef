//! The names of the FTLs of the program that uses this library.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use base::fault::Faults;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::registry::Registry;

/// The names of the program's FTLs, each with its version.
pub(crate) static NAMES: Registry<()> = Registry::new("FTL", "register_ftl or register_simple_ftl");

/// The prefix of the name of an FTL of the program in a description.
const OWN: &str = "own:";

/// A name that lives as long as the program, so that it can be copied. Equal names share their text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Name(&'static str);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

impl Name {
    /// The text of the name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = texts.get(text).copied();
        Self(known.unwrap_or_else(|| {
            let text: &'static str = text.to_owned().leak();
            texts.insert(text);
            text
        }))
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self::from(&*text)
    }
}

impl JsonSchema for Name {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Name".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// An FTL of the program that a description names, as `own:` and the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnFtl(Name);

impl OwnFtl {
    /// The FTL that a text such as `own:log` names; `None` if the text does not begin with `own:`.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        text.strip_prefix(OWN).filter(|name| !name.is_empty())?;
        Some(Self(Name::from(text)))
    }

    /// The text in a description, with `own:`.
    #[must_use]
    pub const fn text(self) -> &'static str {
        self.0.as_str()
    }

    /// The name without `own:`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.text().strip_prefix(OWN).unwrap_or_default()
    }

    /// The version that is registered under the name; `None` if the name is not registered.
    #[must_use]
    pub fn version(self) -> Option<String> {
        NAMES.version(self.name())
    }

    pub(crate) fn check(self, version: Option<&str>, faults: &mut Faults) {
        NAMES.check(("ftl.kind", "ftl.version"), self.name(), version, faults);
    }
}

impl JsonSchema for OwnFtl {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "OwnFtl".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^own:.+$" })
    }
}
