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
        let slc = self;
        let mut part = named_part("slc", slc.part.as_deref(), slc.custom_part.as_ref(), "K9WAG08U1A", faults)?;
        let custom = slc.custom_part.as_ref();
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
        let own_blocks = custom.is_some_and(|own| own.like().is_none() || own.gives("geometry.blocks_per_plane"));
        let blocks = if slc.blocks.is_some() { "blocks" } else { "size" };
        let given = [
            (blocks, slc.size.is_some() || slc.blocks.is_some(), "geometry.blocks_per_plane"),
            ("pages", slc.pages.is_some(), "geometry.pages_per_block"),
            ("lane-rate", slc.lane_rate.is_some(), "bus.rate"),
        ];
        let earlier = faults.0.len();
        check_given_once("slc", custom, &given, faults);
        if faults.0.len() > earlier {
            return None;
        }
        part.geometry.pages_per_block = slc.pages.unwrap_or(part.geometry.pages_per_block);
        (part.geometry.dies_per_chip, part.geometry.planes_per_die) = (1, 1);
        part.bus.rate = slc.lane_rate.unwrap_or(part.bus.rate);
        if slc.pages == Some(0) {
            faults.positive("slc.pages", 0);
            return None;
        }
        let block = part.geometry.block().get();
        if block == 0 {
            faults.add(
                "slc.custom-part.geometry",
                "a block has no capacity",
                "set pages_per_block and page above zero",
            );
            return None;
        }
        part.geometry.blocks_per_plane = match (slc.size, slc.blocks) {
            (Some(size), None) if size.get().is_multiple_of(block) && size.get() / block <= 1 << 22 => {
                (size.get() / block) as u32
            }
            (Some(size), None) => {
                let message = format!("{size} is not a whole number of blocks of {}", Bytes::new(block));
                faults.add("slc.size", message, "use a multiple of a block, at most 4194304 of them");
                return None;
            }
            (None, Some(blocks)) => blocks,
            (None, None) if own_blocks => part.geometry.blocks_per_plane,
            (None, None) => {
                faults.add("slc.size", "the size of the SLC flash is missing", "give it, e.g. size = \"256MiB\"");
                return None;
            }
            (Some(_), Some(_)) => {
                faults.add("slc.size", "conflicts with slc.blocks", "keep one of the two");
                return None;
            }
        };
        // The key that gives the number of blocks.
        let blocks_key = match (slc.size, slc.blocks) {
            (None, Some(_)) => "slc.blocks",
            (None, None) => "slc.custom-part.geometry.blocks_per_plane",
            _ => "slc.size",
        };
        if part.geometry.blocks_per_plane < 2 {
            faults.add(
                blocks_key,
                "the SLC log needs two blocks, one for its head and one for its tail",
                "use two blocks or more",
            );
            return None;
        }
        for error in part.validate() {
            match error {
                PartError::TooLarge { pages } => {
                    let message = format!("the array has {pages} pages, and at most {} are possible", u32::MAX);
                    faults.add(blocks_key, message, "make it smaller");
                }
                error => {
                    let key = match (&slc.custom_part, error.key()) {
                        (_, "geometry.pages_per_block") if slc.pages.is_some() => "slc.pages".to_owned(),
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
        if !faults.0.is_empty() {
            return None;
        }
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
}
