//! From the name of a device to a drive that can be built.

use std::path::Path;

use base::units::Sectors;
use ssd::{Resolved, Spec};

use super::named;
use crate::config::{Document, Faults};

/// A device that can be built.
#[derive(Clone, Debug)]
pub struct Device {
    /// The device's name.
    pub name: String,
    /// The resolved device.
    pub resolved: Resolved,
}

impl Device {
    /// The device of a file, or the built-in one of this name.
    ///
    /// # Errors
    /// All faults of the description, each with its line, key and remedy.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Faults> {
        Self::open_with(path, [""; 0])
    }

    /// The same with changed keys, each as `key=value`: `flash.channels=8`, `ftl.gc.start=4`.
    ///
    /// # Errors
    /// All faults of the description and of the changes.
    pub fn open_with(
        path: impl AsRef<Path>,
        settings: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, Faults> {
        let mut document = device(path.as_ref())?;
        settings.into_iter().try_for_each(|setting| document.set(setting.as_ref()))?;
        device_from(&document)
    }

    /// The device that a TOML text describes. Faults name the file `device`.
    ///
    /// # Errors
    /// All faults of the description.
    pub fn parse(text: impl Into<String>) -> Result<Self, Faults> {
        device_from(&Document::parse(Path::new("device"), text.into())?)
    }

    /// The description with all defaults and changes filled in.
    ///
    /// # Panics
    /// Never: every description can be written as TOML.
    #[must_use]
    pub fn config(&self) -> toml::Table {
        toml::Table::try_from(&self.resolved.spec).expect("a description can be written")
    }

    /// Sectors the host can address.
    #[must_use]
    pub fn capacity(&self) -> Sectors {
        self.resolved.capacity()
    }
}

/// Reads a device file, or the built-in device of this name.
///
/// # Errors
/// If there is neither, or the file is not TOML.
pub fn device(path: &Path) -> Result<Document, Faults> {
    match named(path, "device", "devices", ssd::builtin())? {
        Some(text) => Document::parse(path, text.to_owned()),
        None => Document::read(path),
    }
}

/// Makes a device from its document, changes included.
///
/// # Errors
/// All its faults.
pub fn device_from(document: &Document) -> Result<Device, Faults> {
    let (spec, resolved) = document.decode_and(Spec::resolve)?;
    Ok(Device { name: spec.name, resolved })
}
