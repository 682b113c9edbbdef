//! From the name of a device on the command line to a disk that can be built.

use std::path::Path;

use flash::units::Sectors;
use ssd::{Resolved, Spec};
use study::config::{Document, Fault, Faults};

use crate::exit::Failure;

/// A device that can be built.
pub(crate) struct Device {
    /// What it calls itself.
    pub(crate) name: String,
    /// What it comes to.
    pub(crate) resolved: Resolved,
}

impl Device {
    /// The description with everything that was left out or set on the command line filled in.
    pub(crate) fn config(&self) -> toml::Table {
        toml::Table::try_from(&self.resolved.spec).expect("a description can be written")
    }

    /// Sectors the host can address.
    pub(crate) fn capacity(&self) -> Sectors {
        self.resolved.capacity()
    }
}

/// Reads a device file with some of its keys set otherwise (`key=value`). A name that is no file may be
/// that of a device that comes with Flashloom.
pub(crate) fn device(path: &Path, set: &[String]) -> Result<Device, Failure> {
    let inside = ssd::builtin().iter().find(|(name, _)| !path.exists() && Path::new(name) == path);
    let mut document = match inside {
        Some((_, text)) => Document::parse(path, (*text).to_owned())?,
        None if !path.exists() && path.extension().is_none() => return Err(stranger(path).into()),
        None => Document::read(path)?,
    };
    let faults: Vec<Fault> = set.iter().filter_map(|set| document.set(set).err()).flat_map(|faults| faults.0).collect();
    if !faults.is_empty() {
        return Err(Faults(faults).into());
    }
    let spec: Spec = document.decode()?;
    let resolved = spec.resolve().map_err(|faults| document.faults(faults))?;
    Ok(Device { name: spec.name, resolved })
}

fn stranger(path: &Path) -> Faults {
    let fault = Fault {
        path: Some(path.to_owned()),
        line: None,
        key: String::new(),
        message: "is neither a file nor a device that comes with Flashloom".into(),
        remedy: "check its name; `flashloom devices` lists those that do".into(),
    };
    fault.into()
}
