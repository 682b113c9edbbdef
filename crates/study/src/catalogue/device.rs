//! From the name of a device to a disk that can be built.

use std::path::Path;

use base::units::Sectors;
use ssd::{Resolved, Spec};

use super::named;
use crate::config::{Document, Faults};

/// A device that can be built.
#[derive(Clone, Debug)]
pub struct Device {
    /// What it calls itself.
    pub name: String,
    /// What it comes to.
    pub resolved: Resolved,
}

impl Device {
    /// The description with everything that was left out or set otherwise filled in.
    ///
    /// # Panics
    /// Never: every description has a form in TOML.
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

/// Reads a device file. A name that is no file may be that of a device that comes with Flashloom.
///
/// # Errors
/// If there is neither, or it is not TOML.
pub fn device(path: &Path) -> Result<Document, Faults> {
    match named(path, "device", "devices", ssd::builtin())? {
        Some(text) => Document::parse(path, text.to_owned()),
        None => Document::read(path),
    }
}

/// Makes a device of a file, with whatever was set in it.
///
/// # Errors
/// All its faults.
pub fn device_from(document: &Document) -> Result<Device, Faults> {
    let (spec, resolved) = document.decode_and(Spec::resolve)?;
    Ok(Device { name: spec.name, resolved })
}
