//! The part of an array with the description's changes, and the key at fault if the array cannot be built.

use base::fault::{Fault, Faults};
use base::units::Bytes;

use super::FlashSpec;
use crate::nand::{CustomPart, GeometryError, Part, PartError};

impl FlashSpec {
    /// The key of a dimension if the description sets it, otherwise the key of the part.
    pub fn dimension(&self, path: &'static str, value: Option<u32>) -> &'static str {
        match (value, path) {
            (Some(_), path) => path,
            (None, "flash.blocks") if self.size.is_some() => "flash.size",
            (None, _) if self.custom_part.is_some() => "flash.custom-part.geometry",
            (None, _) => "flash.part",
        }
    }

    /// The key that sets the blocks of a plane.
    pub fn blocks_key(&self) -> &'static str {
        self.dimension("flash.blocks", self.blocks)
    }

    /// The fault of an array with `count` pages or mapping units (`what`), of which at most `most` can be numbered. The
    /// fault names the key whose value deviates most from ordinary drives.
    pub fn too_large(&self, part: &Part, count: u128, most: u128, what: &str) -> Fault {
        let (flash, shape) = (self, &part.geometry);
        // Each key, with its value and an ordinary value.
        let all = [
            (self.blocks_key(), shape.blocks_per_plane, 4096),
            (self.dimension("flash.pages", flash.pages), shape.pages_per_block, 512),
            (self.dimension("flash.planes", flash.planes), shape.planes_per_die, 4),
            (self.dimension("flash.dies", flash.dies), shape.dies_per_chip, 4),
            ("flash.channels", flash.channels, 16),
            ("flash.chips", flash.chips, 16),
            ("flash.gang", flash.gang, 4),
        ];
        let beyond = |(_, value, ordinary): &(&str, u32, u32)| f64::from(*value) / f64::from(*ordinary);
        let worst = all.into_iter().max_by(|a, b| beyond(a).total_cmp(&beyond(b)));
        let (path, value, _) = worst.unwrap_or(("flash", 0, 1));
        let message = format!("the array has {count} {what}, and at most {most} are possible");
        let remedy = match (u128::from(value) * most / count.max(1), path) {
            (0, _) | (_, "flash.part" | "flash.custom-part.geometry") => {
                "use fewer channels, chips, blocks or pages, or a larger ftl.map-unit".to_owned()
            }
            (fits, "flash.size") => {
                let size = flash.size.map_or(0, Bytes::get) / u64::from(value.max(1)) * fits as u64;
                format!("use at most {}, or a larger ftl.map-unit", Bytes::new(size))
            }
            (fits, _) => format!("use at most {fits}, or fewer of another dimension"),
        };
        Fault::new(path, message, remedy)
    }

    /// The fault of an impossible shape; `unit` is the key that sets the size of mapping units.
    pub fn impossible(&self, error: &GeometryError, part: &Part, unit: &str) -> Fault {
        match error {
            GeometryError::TooLarge(slots) => self.too_large(part, *slots, u128::from(u32::MAX - 1), "mapping units"),
            GeometryError::UnitTooLarge(_) => Fault::new(unit, error.to_string(), "make it smaller"),
            _ => Fault::new("flash", error.to_string(), "change the dimensions of the array"),
        }
    }

    /// The part with the description's changes.
    #[must_use]
    pub fn resolved_part(&self, faults: &mut Faults) -> Option<Part> {
        let (name, custom) = (self.part.as_deref(), self.custom_part.as_ref());
        let mut part = named_part("flash", name, custom, "dirik-2009", faults)?;
        let flash = self;
        let blocks = if flash.size.is_some() { "size" } else { "blocks" };
        let given = [
            (blocks, flash.size.is_some() || flash.blocks.is_some(), "geometry.blocks_per_plane"),
            ("pages", flash.pages.is_some(), "geometry.pages_per_block"),
            ("planes", flash.planes.is_some(), "geometry.planes_per_die"),
            ("dies", flash.dies.is_some(), "geometry.dies_per_chip"),
            ("lane-rate", flash.lane_rate.is_some(), "bus.rate"),
        ];
        check_given_once("flash", custom, &given, faults);
        part.geometry.pages_per_block = flash.pages.unwrap_or(part.geometry.pages_per_block);
        part.geometry.planes_per_die = flash.planes.unwrap_or(part.geometry.planes_per_die);
        // A die with one used plane has no other plane to command along with it.
        part.features.multi_plane &= flash.planes != Some(1);
        part.geometry.dies_per_chip = flash.dies.unwrap_or(part.geometry.dies_per_chip);
        part.geometry.blocks_per_plane = match flash.size {
            Some(size) => self.blocks_of(size, &part, faults)?,
            None => flash.blocks.unwrap_or(part.geometry.blocks_per_plane),
        };
        part.bus.rate = flash.lane_rate.unwrap_or(part.bus.rate);
        if faults.0.is_empty() {
            for error in part.validate() {
                match error {
                    PartError::TooLarge { pages } => {
                        faults.0.push(self.too_large(&part, pages, u128::from(u32::MAX), "pages on each die"));
                    }
                    error => {
                        let key = match (custom, error.key()) {
                            (_, "geometry.pages_per_block") if flash.pages.is_some() => "flash.pages".to_owned(),
                            (Some(_), key) => format!("flash.custom-part.{key}"),
                            (None, _) => "flash.part".to_owned(),
                        };
                        faults.add(&key, error.to_string(), "correct the part's description");
                    }
                }
            }
        }
        Some(part)
    }

    /// Blocks in each plane of an array of this raw size.
    fn blocks_of(&self, size: Bytes, part: &Part, faults: &mut Faults) -> Option<u32> {
        if self.blocks.is_some() {
            faults.add("flash.size", "conflicts with flash.blocks", "keep one of the two");
            return None;
        }
        let shape = &part.geometry;
        let planes = [self.channels, self.chips, self.gang, shape.dies_per_chip, shape.planes_per_die];
        // The bytes that one more block in each plane would add.
        let row = planes.into_iter().map(u64::from).fold(shape.block().get(), u64::saturating_mul);
        if row == 0 {
            // Another check reports the key that is zero.
            return None;
        }
        let row_size = Bytes::new(row);
        if size.get() < row {
            let message = format!("{size} is less than one block per plane, {row_size}");
            faults.add("flash.size", message, format!("use at least {row_size}, or fewer channels and chips"));
            return None;
        }
        if !size.get().is_multiple_of(row) {
            let message = format!("{size} is not a whole number of blocks in each plane");
            faults.add("flash.size", message, format!("use a multiple of {row_size}"));
            return None;
        }
        let blocks = u32::try_from(size.get() / row).ok();
        if blocks.is_none() {
            let message = format!("{size} is {} blocks in each plane", size.get() / row);
            let most = Bytes::new(row.saturating_mul(u64::from(u32::MAX)));
            faults.add("flash.size", message, format!("use at most {most}, or more channels and chips"));
        }
        blocks
    }
}

/// Refuses values of a part that the table at `path` gives twice or not at all. Each value may come from a key of the
/// table, which is true if it is set, or from a key of the part.
pub(super) fn check_given_once(
    path: &str,
    custom: Option<&CustomPart>,
    keys: &[(&str, bool, &str)],
    faults: &mut Faults,
) {
    let Some(custom) = custom else { return };
    for (key, is_set, of_part) in keys {
        let (key, of_part, given) = (format!("{path}.{key}"), format!("{path}.custom-part.{of_part}"), of_part);
        if *is_set && custom.gives(given) {
            faults.add(&key, format!("conflicts with {of_part}"), "keep one of the two");
        } else if !is_set && custom.is_missing(given) {
            faults.add(&of_part, "is missing", format!("give it, or set {key}"));
        }
    }
    if custom.like().is_some() && !custom.inherits() {
        let message = "gives every value, so nothing is left of the part that it is like";
        let remedy = format!("leave out {path}.part or {path}.custom-part.like, or some of the values");
        faults.add(&format!("{path}.custom-part"), message, remedy);
    }
}

/// The part of the array described by the table at `path`: by its name, or written out.
pub(super) fn named_part(
    path: &str,
    name: Option<&str>,
    custom: Option<&CustomPart>,
    example: &str,
    faults: &mut Faults,
) -> Option<Part> {
    match (name, custom) {
        (Some(name), None) => {
            let preset = Part::preset(name);
            if preset.is_none() {
                let known: Vec<_> = Part::presets().map(|part| part.name.as_str()).collect();
                let meant = base::suggest::did_you_mean(name, known.iter().copied());
                let remedy = format!("{meant}use one of {}", known.join(", "));
                faults.add(&format!("{path}.part"), format!("no part is called `{name}`"), remedy);
            }
            preset
        }
        (None, Some(own)) => Some(Part::clone(own)),
        (None, None) => {
            let remedy = format!("name one, e.g. part = \"{example}\"");
            faults.add(&format!("{path}.part"), "no NAND part is named", remedy);
            None
        }
        (Some(_), Some(_)) => {
            let message = format!("conflicts with {path}.part");
            faults.add(&format!("{path}.custom-part"), message, "keep one of the two");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_whole_number_of_blocks_in_each_plane() {
        let text = "part = \"dirik-2009\"\nchannels = 2\nchips = 3\n";
        let spec: FlashSpec = toml::from_str(text).unwrap_or_else(|error| panic!("{error}"));
        let part = Part::preset("dirik-2009").expect("a preset");
        let planes = 2 * 3 * u64::from(part.geometry.dies_per_chip) * u64::from(part.geometry.planes_per_die);
        let row = planes * part.geometry.block().get();
        for (size, blocks) in [(row, Some(1)), (7 * row, Some(7)), (row - 1, None), (row + 1, None), (0, None)] {
            let mut faults = Faults::default();
            assert_eq!(spec.blocks_of(Bytes::new(size), &part, &mut faults), blocks, "{size} of {row}");
            let paths: Vec<&str> = faults.0.iter().map(|fault| fault.path.as_str()).collect();
            assert_eq!(paths, vec!["flash.size"; usize::from(blocks.is_none())], "{size} of {row}");
        }
    }
}
