//! The status of reclaim unit handles (TP4146, I/O Management Receive).

use crate::layout::{bytes_of, layout};

/// The status of a reclaim unit handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandleStatus {
    /// The placement identifier whose handle is described.
    pub identifier: u16,
    /// The reclaim unit handle.
    pub handle: u16,
    /// Blocks that the present reclaim unit still takes.
    pub remaining_blocks: u64,
    /// Seconds for which the present reclaim unit stays; 0 for not known.
    pub remaining_seconds: u32,
}

layout! {
    /// The head of the status (TP4146); a descriptor for each handle follows.
    struct HandleStatusHead [16] {
        14 descriptors: u16,
    }
}

layout! {
    /// A reclaim unit handle status descriptor.
    struct HandleStatusFields [32] {
        0 identifier: u16,
        2 handle: u16,
        4 remaining_seconds: u32,
        8 remaining_blocks: u64,
    }
}

/// The data of a status of `length` bytes, which may have fewer descriptors than there are handles.
#[must_use]
pub fn handle_status(handles: &[HandleStatus], length: usize) -> Vec<u8> {
    let mut data = bytes_of(&HandleStatusHead { descriptors: handles.len() as u16 });
    for handle in handles {
        let HandleStatus { identifier, handle, remaining_blocks, remaining_seconds } = *handle;
        data.extend(bytes_of(&HandleStatusFields { identifier, handle, remaining_seconds, remaining_blocks }));
    }
    data.resize(length, 0);
    data
}

#[cfg(test)]
mod tests {
    use super::{HandleStatus, handle_status};

    #[test]
    fn the_status_has_its_fields_at_the_offsets_of_the_proposal() {
        let status = HandleStatus { identifier: 0x102, handle: 3, remaining_blocks: 0x0405_0607, remaining_seconds: 8 };
        let data = handle_status(&[status], 64);
        assert_eq!(data.len(), 64);
        assert_eq!(data[12..16], [0, 0, 1, 0]);
        assert_eq!(data[16..32], [2, 1, 3, 0, 8, 0, 0, 0, 7, 6, 5, 4, 0, 0, 0, 0]);
        assert_eq!(handle_status(&[status; 3], 20)[14..20], [3, 0, 2, 1, 3, 0]);
    }
}
