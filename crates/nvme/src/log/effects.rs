//! The log pages 05h, commands supported and effects, and 12h, feature identifiers supported and effects (NVMe base 2.0,
//! section 5.16.1).

use crate::controller::features;
use crate::description::{Description, Namespace};
use crate::entry::opcode::{admin, io};
use crate::identify::namespace::{self, NVM, ZONED};
use crate::status::Status;

/// Bits of an effect (NVMe base 2.0, section 5.16.1, log page 05h).
mod effect {
    pub(super) const SUPPORTED: u32 = 1 << 0;
    /// Blocks may change.
    pub(super) const CONTENT: u32 = 1 << 1;
    /// The capabilities of a namespace may change.
    pub(super) const NAMESPACE: u32 = 1 << 2;
    /// No other command for the namespace may be outstanding (CSE 001b).
    pub(super) const ALONE_IN_NAMESPACE: u32 = 1 << 16;
    /// No other command at all may be outstanding (CSE 010b).
    pub(super) const ALONE: u32 = 2 << 16;
}

use effect::{ALONE, ALONE_IN_NAMESPACE, CONTENT, NAMESPACE, SUPPORTED};

/// The admin commands of every drive, with their effects.
const ADMIN: [(u8, u32); 10] = [
    (admin::GET_LOG_PAGE, SUPPORTED),
    (admin::IDENTIFY, SUPPORTED),
    (admin::ABORT, SUPPORTED),
    (admin::SET_FEATURES, SUPPORTED),
    (admin::GET_FEATURES, SUPPORTED),
    (admin::ASYNC_EVENT_REQUEST, SUPPORTED),
    (admin::DEVICE_SELF_TEST, SUPPORTED),
    (admin::KEEP_ALIVE, SUPPORTED),
    (admin::FORMAT_NVM, SUPPORTED | CONTENT | NAMESPACE | ALONE_IN_NAMESPACE),
    (admin::SANITIZE, SUPPORTED | CONTENT | ALONE),
];

/// Admin commands of drives with streams or Flexible Data Placement.
const DIRECTIVES: [(u8, u32); 2] = [(admin::DIRECTIVE_SEND, SUPPORTED), (admin::DIRECTIVE_RECEIVE, SUPPORTED)];

/// The commands of both I/O command sets.
const IO: [(u8, u32); 9] = [
    (io::FLUSH, SUPPORTED),
    (io::WRITE, SUPPORTED | CONTENT),
    (io::READ, SUPPORTED),
    (io::WRITE_UNCORRECTABLE, SUPPORTED | CONTENT),
    (io::COMPARE, SUPPORTED),
    (io::WRITE_ZEROES, SUPPORTED | CONTENT),
    (io::DATASET_MANAGEMENT, SUPPORTED | CONTENT),
    (io::VERIFY, SUPPORTED),
    (io::COPY, SUPPORTED | CONTENT),
];

const ZONES: [(u8, u32); 3] = [
    (io::ZONE_MANAGEMENT_SEND, SUPPORTED | CONTENT),
    (io::ZONE_MANAGEMENT_RECEIVE, SUPPORTED),
    (io::ZONE_APPEND, SUPPORTED | CONTENT),
];

const PLACEMENT: [(u8, u32); 2] = [(io::IO_MANAGEMENT_RECEIVE, SUPPORTED), (io::IO_MANAGEMENT_SEND, SUPPORTED)];

/// The page of an I/O command set: 256 dwords of admin commands, 256 of I/O commands.
pub(super) fn commands(description: &Description, command_set: u8) -> Result<Vec<u8>, Status> {
    let mut data = vec![0; 4096];
    let of_set = |namespace: &Namespace| namespace::command_set(namespace) == command_set;
    let optional = description.commands_of(of_set);
    let mut put = |first: usize, all: &[(u8, u32)]| {
        for (opcode, effect) in all {
            let is_missing = match (first, *opcode) {
                (0, admin::SANITIZE) => !description.sanitize,
                (0, _) => false,
                (_, io::WRITE_UNCORRECTABLE) => !optional.write_uncorrectable,
                (_, io::DATASET_MANAGEMENT) => !optional.dataset_management,
                (_, io::IO_MANAGEMENT_SEND) => !optional.handle_update,
                _ => false,
            };
            if is_missing {
                continue;
            }
            data[first + usize::from(*opcode) * 4..][..4].copy_from_slice(&effect.to_le_bytes());
        }
    };
    put(0, &ADMIN);
    if description.has_directives() {
        put(0, &DIRECTIVES);
    }
    match command_set {
        NVM => put(1024, &IO),
        ZONED if description.has_zones() => {
            put(1024, &IO);
            put(1024, &ZONES);
        }
        _ => return Err(Status::INVALID_FIELD.do_not_retry()),
    }
    if description.namespaces.iter().any(|namespace| of_set(namespace) && namespace.placement.is_some()) {
        put(1024, &PLACEMENT);
    }
    Ok(data)
}

/// A dword for each feature: bit 0 supported; bits 31:20 its scope, 1 a namespace, 2 a controller.
pub(super) fn features(description: &Description) -> Vec<u8> {
    let mut data = vec![0; 1024];
    for (id, _, of_namespace) in features::SUPPORTED {
        let missing = match id {
            features::id::VOLATILE_WRITE_CACHE => !description.write_cache,
            features::id::PLACEMENT | features::id::PLACEMENT_EVENTS => !description.has_placement(),
            _ => false,
        };
        let scope = if of_namespace { 1_u32 } else { 2 };
        let value = if missing { 0 } else { 1 | scope << 20 };
        data[usize::from(id) * 4..][..4].copy_from_slice(&value.to_le_bytes());
    }
    data
}
