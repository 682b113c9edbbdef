//! The SLC array in the description of a device.

use base::fault::Faults;
use base::units::{Bytes, LaneRate, Rate, Ratio, SECTOR};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::part::{check_given_once, named_part};
use crate::backend::{Config, Timing};
use crate::nand::part::SlcArrayPart;
use crate::nand::{CustomPart, Geometry, Part, PartError};

/// A small SLC array in front of the main array (Chang, Sec. 3.1). Its dies work one after another, and it has the
/// fault rates of the main array.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SlcSpec {
    /// The NAND part, by the name of a preset (see `flashloom devices`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["dirik-2009", "K9WAG08U1A", "K9XXG08"]))]
    pub part: Option<String>,
    /// The NAND part, written out, instead of `part`; or its difference from `part`, or from the preset that `like`
    /// names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<SlcArrayPart>")]
    pub custom_part: Option<CustomPart>,
    /// Size of the array, which sets its blocks; instead of `blocks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Number of blocks of the array, at least 2; instead of `size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u32>,
    /// Pages in a block; the part's number if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<u32>,
    /// Data rate of the array's bus; the part's rate if missing. `1200MT/s` is `1200MB/s`: a lane of 8 bits moves one
    /// byte a transfer, and a wider channel has several lanes.
    #[serde(default, deserialize_with = "LaneRate::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<LaneRate>")]
    pub lane_rate: Option<Rate>,
}

/// An SLC array with its part and all defaults filled in.
#[derive(Clone, Debug)]
pub struct ResolvedSlcArray {
    /// The NAND part with the description's changes.
    pub part: Part,
    /// The shape of the array; a slot is a sector.
    pub geometry: Geometry,
    /// The configuration of the array's backend.
    pub backend: Config,
}

impl ResolvedSlcArray {
    /// Data bytes of all blocks.
    #[must_use]
    pub fn capacity(&self) -> Bytes {
        SECTOR * u64::from(self.geometry.slot_count())
    }
}

impl SlcSpec {
    /// Resolves the description; `None` if it has faults.
    pub fn resolve(&self, faults: &mut Faults) -> Option<ResolvedSlcArray> {
        let mut part = self.part(faults)?;
        let block = part.geometry.block();
        if block.get() == 0 {
            let message = "a block has no capacity";
            faults.add("slc.custom-part.geometry", message, "set pages_per_block and page above zero");
            return None;
        }
        part.geometry.blocks_per_plane = self.block_count(&part, block, faults)?;
        self.check_part(&part, faults)?;
        let shape = &part.geometry;
        let slots = (shape.page.get() / SECTOR.get()) as u32;
        let geometry = Geometry::new(1, 1, 1, 1, 1, shape.blocks_per_plane, shape.pages_per_block, slots, 1);
        let geometry = geometry.map_err(|error| faults.add("slc", error.to_string(), "make it smaller")).ok()?;
        if geometry.slot_count() >= 1 << 31 {
            faults.add("slc.size", "it has more than 2^31 sectors", "make it smaller");
            return None;
        }
        let timing = Timing::new(&part, &geometry, part.bus.rate, false).ok()?;
        let backend = Config::new(timing);
        Some(ResolvedSlcArray { part, geometry, backend })
    }

    /// The part of one die and one plane, with the pages and the rate of the description.
    fn part(&self, faults: &mut Faults) -> Option<Part> {
        let custom = self.custom_part.as_ref();
        let mut part = named_part("slc", self.part.as_deref(), custom, "K9WAG08U1A", faults)?;
        let gives_errors = |own: &CustomPart| match own.like() {
            Some(_) => own.changed().iter().any(|key| key.starts_with("errors")),
            None => own.errors.is_some(),
        };
        if custom.is_some_and(gives_errors) {
            let message = "has no effect here: reads of the SLC flash have no errors";
            faults.add("slc.custom-part.errors", message, "leave it out");
        }
        part.errors = None;
        if part.endurance_spread != Ratio::ZERO {
            let message = "has no effect here: all blocks of the SLC flash endure the same cycles";
            faults.add("slc.custom-part.endurance_spread", message, "leave it out");
        }
        let blocks = if self.blocks.is_some() { "blocks" } else { "size" };
        let given = [
            (blocks, self.size.is_some() || self.blocks.is_some(), "geometry.blocks_per_plane"),
            ("pages", self.pages.is_some(), "geometry.pages_per_block"),
            ("lane-rate", self.lane_rate.is_some(), "bus.rate"),
        ];
        let earlier = faults.0.len();
        check_given_once("slc", custom, &given, faults);
        if faults.0.len() > earlier {
            return None;
        }
        if self.pages == Some(0) {
            faults.positive("slc.pages", 0);
            return None;
        }
        part.geometry.pages_per_block = self.pages.unwrap_or(part.geometry.pages_per_block);
        (part.geometry.dies_per_chip, part.geometry.planes_per_die) = (1, 1);
        part.bus.rate = self.lane_rate.unwrap_or(part.bus.rate);
        Some(part)
    }

    /// The number of blocks: at least two.
    fn block_count(&self, part: &Part, block: Bytes, faults: &mut Faults) -> Option<u32> {
        let custom = self.custom_part.as_ref();
        let own = custom.is_some_and(|own| own.like().is_none() || own.gives("geometry.blocks_per_plane"));
        let count = match (self.size, self.blocks) {
            (Some(size), None) => size.get() / block.get(),
            (None, Some(blocks)) => blocks.into(),
            (None, None) if own => part.geometry.blocks_per_plane.into(),
            (None, None) => {
                faults.add("slc.size", "the size of the SLC flash is missing", "give it, e.g. size = \"256MiB\"");
                return None;
            }
            (Some(_), Some(_)) => {
                faults.add("slc.size", "conflicts with slc.blocks", "keep one of the two");
                return None;
            }
        };
        if let Some(size) = self.size.filter(|size| size.get() != count * block.get() || count > 1 << 22) {
            let message = format!("{size} is not a whole number of blocks of {block}");
            faults.add("slc.size", message, "use a multiple of a block, at most 4194304 of them");
            return None;
        }
        if count < 2 {
            let message = "the SLC log needs two blocks, one for its head and one for its tail";
            faults.add(self.key_of_blocks(), message, "use two blocks or more");
            return None;
        }
        Some(count as u32)
    }

    /// The key that gives the number of blocks.
    const fn key_of_blocks(&self) -> &'static str {
        match (self.size, self.blocks) {
            (None, Some(_)) => "slc.blocks",
            (None, None) => "slc.custom-part.geometry.blocks_per_plane",
            _ => "slc.size",
        }
    }

    /// Checks that a part of this size can hold the log; `None` if the description has faults.
    fn check_part(&self, part: &Part, faults: &mut Faults) -> Option<()> {
        for error in part.validate() {
            match error {
                PartError::TooLarge { pages } => {
                    let message = format!("the array has {pages} pages, and at most {} are possible", u32::MAX);
                    faults.add(self.key_of_blocks(), message, "make it smaller");
                }
                error => {
                    let key = match (&self.custom_part, error.key()) {
                        (_, "geometry.pages_per_block") if self.pages.is_some() => "slc.pages".to_owned(),
                        (Some(_), key) => format!("slc.custom-part.{key}"),
                        (None, _) => "slc.part".to_owned(),
                    };
                    faults.add(&key, error.to_string(), "correct the part's description");
                }
            }
        }
        if part.timing.one_shot > 1 || part.geometry.page.get() > 64 * SECTOR.get() {
            let message = "cannot hold the SLC log, which programs one page at a time, of 64 sectors at most";
            faults.add("slc.part", message, "choose another part");
        }
        faults.0.is_empty().then_some(())
    }
}
