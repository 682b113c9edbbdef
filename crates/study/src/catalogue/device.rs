//! Finds a device by its name and resolves it to a drive that can be built.

use std::path::Path;

use base::units::Sectors;
use flash::nand::CustomPart;
use ssd::{DriveKind, ResolvedDevice, Spec};
use toml::Value;

use super::named;
use crate::config::{ConfigFault, Document, Faults};

/// A device that can be built.
#[derive(Clone, Debug)]
pub struct Device {
    /// Name of the device in its description, and in results.
    pub name: String,
    /// The device with all defaults filled in, from which drives are built.
    pub resolved: ResolvedDevice,
    /// Sentences about keys of the device file that later changes replace.
    pub replaced: Vec<String>,
}

impl Device {
    /// Opens the device of a file, or the built-in device of this name.
    ///
    /// # Errors
    ///
    /// All faults of the description, each with its line, key and remedy.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Faults> {
        Self::open_with(path, [""; 0])
    }

    /// Opens a device with changed keys, each as `key=value`: `flash.channels=8`, `ftl.gc.start=4`.
    ///
    /// # Errors
    ///
    /// All faults of the description and of the changes.
    pub fn open_with(
        path: impl AsRef<Path>,
        settings: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, Faults> {
        let mut document = device(path.as_ref())?;
        settings.into_iter().try_for_each(|setting| document.set(setting.as_ref()))?;
        device_from(&document)
    }

    /// Creates the device that a TOML text describes. Faults name the file `device`.
    ///
    /// # Errors
    ///
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

    /// The number of sectors that the host can address.
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
    // A custom part beside a named part has only the differences from the named one.
    let mut document = document.clone();
    let mut replaced = document.replace_alternatives(&ssd::ALTERNATIVES);
    for table in ["flash", "slc"] {
        let [part, own] = ["part", "custom-part"].map(|key| format!("{table}.{key}"));
        // A custom part that is written out in full has no differences from another part.
        let is_whole = |own: &toml::Value| own.clone().try_into::<CustomPart>().is_ok_and(|own| own.like().is_none());
        let whole = document.table().get(table).and_then(|table| table.get("custom-part")).is_some_and(is_whole);
        if whole && document.is_later(&part, &own) {
            replaced.extend(document.replace(&own, &part));
        }
        document = document.with_base(table, "part", "custom-part", "like");
    }
    write_out_kinds(&mut document)?;
    let (spec, resolved) = document.decode_and(Spec::resolve)?;
    Ok(Device { name: spec.name, resolved, replaced })
}

/// Replaces the device names and changes of the drives of a RAID by full descriptions.
fn write_out_kinds(document: &mut Document) -> Result<(), Faults> {
    let kinds = document.table().get("raid").and_then(|raid| raid.get("kind")).and_then(Value::as_array);
    let Some(kinds) = kinds.cloned() else { return Ok(()) };
    // The faults of the description itself are reported first, each at its own key.
    if document.without("raid").decode_and(Spec::resolve).is_err() {
        return Ok(());
    }
    for (number, kind) in kinds.into_iter().enumerate() {
        let key = format!("raid.kind[{number}]");
        // An entry of another form is refused by the schema.
        let Ok(DriveKind { drives, device: name, set, spec: None }) = kind.try_into() else { continue };
        let mut own = match &name {
            Some(name) => device(&document.beside(Path::new(name)))?,
            None => document.without("raid"),
        };
        set.iter().try_for_each(|change| own.set(change))?;
        let spec = device_from(&own).map_err(|faults| match faults.0.into_iter().next() {
            Some(ConfigFault { key: of, message, remedy, .. }) => {
                let joint = if of.is_empty() { "" } else { ": " };
                Faults::from(document.fault(&key, format!("{of}{joint}{message}"), remedy))
            }
            None => Faults(Vec::new()),
        })?;
        let written = DriveKind { drives, device: None, set: Vec::new(), spec: Some(Box::new(spec.resolved.spec)) };
        let value = Value::try_from(written).expect("a description can be written");
        document.put_in_place(&key, value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use base::units::{Rate, Span};

    use super::*;

    const FIVE: &str = r#"name = "x"
ftl = { over-provisioning = "20%" }
[flash]
part = "kioxia-wd-128l-tlc"
channels = 1
chips = 1
blocks = 40
pages = 96
"#;

    #[test]
    fn values_of_a_named_part_are_overridden_in_place() {
        let text = format!("{FIVE}custom-part = {{ timing.erase = \"5ms\", bus.rate = \"1200MT/s\" }}\n");
        let changed = Device::parse(text).unwrap_or_else(|faults| panic!("{faults}")).resolved;
        let plain = Device::parse(FIVE).expect("sound").resolved;
        assert_eq!((changed.part.timing.erase, changed.part.bus.rate), (Span::from_ms(5), Rate::new(1_200_000_000)));
        assert_eq!(
            (&changed.part.timing.read, &changed.part.geometry),
            (&plain.part.timing.read, &plain.part.geometry)
        );
        let own = changed.spec.flash.custom_part.as_ref().expect("a part of its own");
        assert_eq!(own.like(), Some("kioxia-wd-128l-tlc"));
        assert_eq!(own.changed(), ["bus.rate", "timing.erase"]);
        // `like` means the same, and so does the command line.
        let like = FIVE.replace("part = \"kioxia", "custom-part.like = \"kioxia");
        let like =
            Device::parse(format!("{like}custom-part.timing.erase = \"5ms\"\ncustom-part.bus.rate = \"1.2GT/s\"\n"));
        assert_eq!(like.unwrap_or_else(|faults| panic!("{faults}")).resolved.part, changed.part);
        let set = Device::open_with("demo", ["flash.custom-part.timing.erase=9ms"]).expect("sound").resolved;
        assert_eq!(set.part.timing.erase, Span::from_ms(9));
        let demo = Device::open("demo").expect("sound").resolved;
        assert_eq!((set.part.timing.read, set.geometry), (demo.part.timing.read, demo.geometry));
    }

    #[test]
    fn drives_of_a_raid_may_be_another_device_or_this_one_with_changes() {
        let own = FIVE.replace("\"20%\"", "\"20%\", map-unit = \"4KiB\"");
        let text = format!(
            r#"{own}[raid]
level = "raid0"
drives = 3
chunk = "64KiB"
[[raid.kind]]
drives = [2]
set = ["flash.blocks=50", "ftl.gc.start=1"]
[[raid.kind]]
drives = [0]
device = "demo"
"#
        );
        let plain = Device::parse(own).expect("sound").resolved;
        let mixed = Device::parse(text.clone()).unwrap_or_else(|faults| panic!("{faults}"));
        let of = |number| mixed.resolved.of_drive(number);
        assert_eq!((of(1).units, of(2).part.geometry.blocks_per_plane), (plain.units, 50));
        assert_eq!(of(0).spec.name, "demo");
        let sectors = |units: u32| u64::from(units) * u64::from(plain.geometry.sectors) / 128 * 128;
        assert_eq!(mixed.capacity(), Sectors::new(3 * sectors(plain.units)));
        // The written description needs no other file.
        let again = Device::parse(mixed.config().to_string()).unwrap_or_else(|faults| panic!("{faults}"));
        assert_eq!(format!("{:?}", again.resolved), format!("{:?}", mixed.resolved));
        let fault = |from: &str, to: &str| Device::parse(text.replace(from, to)).expect_err(to).to_string();
        let unknown = fault("\"demo\"", "\"dema\"");
        assert!(unknown.contains("dema") && unknown.contains("demo"), "{unknown}");
        let wrong = fault("flash.blocks=50", "flash.blocks=0");
        assert!(wrong.contains(":13: raid.kind[0]: flash.blocks: is zero"), "{wrong}");
    }

    #[test]
    fn the_resolved_description_has_every_value_of_the_part() {
        let text = format!("{FIVE}custom-part = {{ endurance = 7 }}\n");
        let device = Device::parse(text).unwrap_or_else(|faults| panic!("{faults}"));
        let written = device.config().to_string();
        assert!(written.contains("one_shot") && !written.contains("like ="), "{written}");
        let again = Device::parse(written).unwrap_or_else(|faults| panic!("{faults}"));
        assert_eq!(again.resolved.part, device.resolved.part);
    }

    #[test]
    fn a_fault_of_a_part_names_its_key_and_line() {
        let fault = |more: &str| Device::parse(format!("{FIVE}{more}\n")).expect_err(more).to_string();
        let text = fault("custom-part = { timing.erase = \"5\" }");
        assert!(text.contains(":9: flash.custom-part.timing.erase: `5` is not a time"), "{text}");
        let text = fault("custom-part = { timing.eraze = \"5ms\" }");
        assert!(text.contains("flash.custom-part.timing.eraze: is not a known key; did you mean `erase`?"), "{text}");
        let text = fault("custom-part = { bus.rate = \"1200MT\" }");
        assert!(text.contains("flash.custom-part.bus.rate") && text.contains("MT/s"), "{text}");
        let text = fault("custom-part = { like = \"dirik-2009\" }");
        assert!(text.contains("flash.custom-part: conflicts with flash.part"), "{text}");
        let text = Device::parse(FIVE.replace("part = ", "custom-part.like = ").replace("kioxia-wd", "kioxia-vd"))
            .expect_err("unknown");
        let text = text.to_string();
        assert!(text.contains("no part is called `kioxia-vd-128l-tlc`") && text.contains("did you mean"), "{text}");
        let text = fault("lane-rate = \"1200MT\"");
        assert!(text.contains("flash.lane-rate: `1200MT` is not a data rate of an 8-bit lane"), "{text}");
    }
}
