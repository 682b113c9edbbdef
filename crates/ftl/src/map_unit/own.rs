//! Map units of the program that uses this library, by name.

use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::sync::Arc;

use base::fault::Faults;
use base::units::Bytes;
use flash::nand::Geometry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MapUnit;
use crate::own::Name;
use crate::registry::{RegisterError, Registry};

/// A map unit of the program that uses this library, as a file describes it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OwnMapSpec {
    /// The name under which the map unit is registered.
    pub name: Name,
    /// The version under which the map unit is registered. Results have the version; a description can leave it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Name>,
    /// RAM for the map unit's tables. The map unit itself must keep within it.
    pub ram: Bytes,
}

/// The drive that a map unit of the program is built for.
#[derive(Clone, Debug)]
pub struct MapSetup<'a> {
    /// Mapping units of the drive, including the FTL's own records.
    pub units: u32,
    /// Map entries of a translation page.
    pub entries: u32,
    /// RAM for the map unit's tables, as the description gives it.
    pub ram: Bytes,
    /// The shape of the flash array.
    pub geometry: &'a Geometry,
    /// The numbers of `ftl.options` in the description.
    pub options: &'a BTreeMap<String, f64>,
}

impl MapSetup<'_> {
    /// The number of `ftl.options` with this name, or `default` if the description does not set it.
    #[must_use]
    pub fn option(&self, name: &str, default: f64) -> f64 {
        self.options.get(name).copied().unwrap_or(default)
    }
}

/// A map unit of the program that can be copied with its device.
pub trait OwnMapUnit: MapUnit + Debug + Send + Sync {
    /// A copy, for a copy of the device.
    fn boxed(&self) -> Box<dyn OwnMapUnit>;
}

impl<T: MapUnit + Clone + Debug + Send + Sync + 'static> OwnMapUnit for T {
    fn boxed(&self) -> Box<dyn OwnMapUnit> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn OwnMapUnit> {
    fn clone(&self) -> Self {
        self.as_ref().boxed()
    }
}

/// A function that builds a map unit; the trait adds cloning to it.
trait Build: Fn(&MapSetup<'_>) -> Box<dyn OwnMapUnit> + Send + Sync {}

impl<T: Fn(&MapSetup<'_>) -> Box<dyn OwnMapUnit> + Send + Sync> Build for T {}

/// The map units that the program has registered, by name.
static UNITS: Registry<Arc<dyn Build>> = Registry::new("map unit", "register_map_unit");

impl OwnMapSpec {
    /// Builds the map unit of a drive.
    ///
    /// # Panics
    ///
    /// If the name is not registered.
    pub(crate) fn build(&self, setup: &MapSetup<'_>) -> Box<dyn OwnMapUnit> {
        UNITS.policy(self.name.as_str()).expect("a registered map unit")(setup)
    }

    pub(crate) fn check(&self, faults: &mut Faults) {
        UNITS.check(("ftl.map.name", "ftl.map.version"), self.name.as_str(), self.version.map(Name::as_str), faults);
    }

    /// The description, with the version under which the map unit is registered.
    pub(crate) fn written_out(self) -> Self {
        let version = UNITS.version(self.name.as_str());
        Self { version: version.map(Name::from), ..self }
    }
}

impl fmt::Display for OwnMapSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.as_str())
    }
}

/// Registers a map unit under a name, which descriptions of drives then use: `map = { kind = "own", name = "...", ram = "64KiB" }`.
///
/// The drive builds the map unit at each power-on, when flash has every entry in a translation page. The version is a part of
/// the key of each result, so change it whenever the map unit changes.
///
/// # Errors
/// If a map unit of another version has the name.
pub fn register_map_unit<U: MapUnit + Clone + Debug + Send + Sync + 'static>(
    name: impl Into<String>,
    version: impl Into<String>,
    build: impl Fn(&MapSetup<'_>) -> U + Send + Sync + 'static,
) -> Result<(), RegisterError> {
    let build = move |setup: &MapSetup<'_>| -> Box<dyn OwnMapUnit> { Box::new(build(setup)) };
    UNITS.register(name.into(), version.into(), Arc::new(build))
}
