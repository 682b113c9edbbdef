//! The description of a drive in which every key has its default.

use flash::backend::{Arbitration, Completion, Controllers, Transfer};
use flash::nand::{FaultSpec, Part};
use ssd::{FlashSpec, FtlSpec, HostSpec, Spec};

/// Describes a drive of this part with so many channels, and so many chips on each.
pub(crate) fn plain(name: &str, part: Part, channels: u32, chips: u32) -> Spec {
    Spec {
        name: name.into(),
        description: String::new(),
        flash: FlashSpec {
            part: None,
            custom_part: Some(part.into()),
            channels,
            chips,
            gang: 1,
            width: 8,
            lane_rate: None,
            size: None,
            blocks: None,
            pages: None,
            planes: None,
            dies: None,
            multi_plane: None,
            cache_mode: true,
            cache_across_lists: false,
            paired_pages: false,
            controllers: Controllers::default(),
            software_controllers: None,
            completion: Completion::default(),
            transfer: Transfer::default(),
            ecc: None,
            arbitration: Arbitration::default(),
            suspend: None,
            plane_reads: None,
            variation: None,
            errors: None,
            faults: FaultSpec::default(),
        },
        slc: None,
        ram: None,
        power: None,
        raid: None,
        translation: None,
        host: HostSpec::default(),
        buffer: None,
        ftl: FtlSpec::default(),
    }
}
