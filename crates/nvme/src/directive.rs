//! Directive Send and Directive Receive: the identify and the streams directive (NVMe base 2.0, sections 5.8, 5.9 and 8.7). Flexible
//! Data Placement shows as a directive that is always on.

use std::collections::{BTreeMap, BTreeSet};

use crate::connection::Response;
use crate::description::{ALL_NAMESPACES, Description, Namespace};
use crate::entry::SubmissionEntry;
use crate::layout::{bytes_of, layout};
use crate::status::Status;

const IDENTIFY: u8 = 0;
const STREAMS: u8 = 1;
const PLACEMENT: u8 = 2;

layout! {
    /// The parameters of the streams directive (NVMe base 2.0, section 8.7).
    struct Parameters [32] {
        /// MSL: streams of the drive.
        0 most: u16,
        /// NSSA: streams that are free.
        2 free: u16,
        /// NSSO: streams that are open.
        4 open: u16,
        /// SWS in blocks.
        16 write_size: u32,
        /// SGS in write sizes.
        20 granularity: u16,
        /// NSA: streams that are allocated for the namespace.
        22 allocated: u16,
        /// NSO: streams of the namespace that are open.
        24 open_in_namespace: u16,
    }
}

/// The streams of a controller, by namespace.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    enabled: BTreeSet<u32>,
    allocated: BTreeMap<u32, u16>,
    open: BTreeMap<u32, BTreeSet<u16>>,
}

fn invalid<T>() -> Result<T, Status> {
    Err(Status::INVALID_FIELD.do_not_retry())
}

impl Streams {
    /// True if the host has enabled the directive for the namespace.
    pub(crate) fn is_enabled(&self, namespace: u32) -> bool {
        self.enabled.contains(&namespace)
    }

    /// A write names a stream, and so opens it.
    pub(crate) fn note_open(&mut self, namespace: u32, stream: u16) {
        self.open.entry(namespace).or_default().insert(stream);
    }

    fn open_in(&self, namespace: u32) -> u16 {
        self.open.get(&namespace).map_or(0, |open| open.len() as u16)
    }

    /// Answers Directive Send, or the status of its failure.
    pub(crate) fn send(&mut self, description: &Description, entry: &SubmissionEntry) -> Result<Response, Status> {
        let (namespace, cdw11, cdw12) = (entry.namespace(), entry.cdw(11), entry.cdw(12));
        let described = described(description, namespace)?;
        match ((cdw11 >> 8) as u8, cdw11 as u8) {
            // Operation 1 enables or disables (bit 0) the directive whose type is in bits 15:8.
            (IDENTIFY, 1) if (cdw12 >> 8) as u8 == STREAMS && described.streams > 0 => {
                if cdw12 & 1 != 0 {
                    self.enabled.insert(namespace);
                } else {
                    self.enabled.remove(&namespace);
                    self.open.remove(&namespace);
                    self.allocated.remove(&namespace);
                }
            }
            (STREAMS, 1) if self.is_enabled(namespace) => {
                self.open.entry(namespace).or_default().remove(&((cdw11 >> 16) as u16));
            }
            (STREAMS, 2) if self.is_enabled(namespace) => {
                self.allocated.remove(&namespace);
                self.open.remove(&namespace);
            }
            _ => return invalid(),
        }
        Ok(Response::success())
    }

    /// Answers Directive Receive with the parameters that the host asks for.
    pub(crate) fn receive(&mut self, description: &Description, entry: &SubmissionEntry) -> Result<Response, Status> {
        let (namespace, cdw11) = (entry.namespace(), entry.cdw(11));
        let described = described(description, namespace)?;
        let mut data = match ((cdw11 >> 8) as u8, cdw11 as u8) {
            (IDENTIFY, 1) => self.directives(described),
            (STREAMS, 1) if described.streams > 0 => self.parameters(described),
            (STREAMS, 2) if described.streams > 0 => {
                let open = self.open.get(&namespace).into_iter().flatten();
                let count = self.open_in(namespace).to_le_bytes();
                count.into_iter().chain(open.flat_map(|stream| stream.to_le_bytes())).collect()
            }
            // Allocates streams: at most those that the drive has.
            (STREAMS, 3) if self.is_enabled(namespace) => {
                let wanted = (entry.cdw(12) & 0xffff) as u16;
                let granted = wanted.min(described.streams);
                self.allocated.insert(namespace, granted);
                return Ok(Response::result(granted.into()));
            }
            _ => return invalid(),
        };
        data.truncate(entry.data_length() as usize);
        Ok(Response::data(data))
    }

    /// The directives that the namespace has, and those that are enabled: a bit each.
    fn directives(&self, namespace: &Namespace) -> Vec<u8> {
        let mut data = vec![0; 4096];
        let placement = u8::from(namespace.placement.is_some()) << PLACEMENT;
        data[0] = 1 << IDENTIFY | u8::from(namespace.streams > 0) << STREAMS | placement;
        data[32] = 1 << IDENTIFY | u8::from(self.is_enabled(namespace.id)) << STREAMS | placement;
        data
    }

    /// Each drive has streams of its own, so that the host can allocate them all for its namespace.
    fn parameters(&self, namespace: &Namespace) -> Vec<u8> {
        let allocated = self.allocated.get(&namespace.id).copied().unwrap_or(0);
        bytes_of(&Parameters {
            most: namespace.streams,
            free: namespace.streams - allocated,
            open: self.open_in(namespace.id),
            write_size: namespace.stream_blocks,
            granularity: 1,
            allocated,
            open_in_namespace: self.open_in(namespace.id),
        })
    }
}

fn described(description: &Description, namespace: u32) -> Result<&Namespace, Status> {
    match description.namespace(namespace) {
        None if namespace != ALL_NAMESPACES => Err(Status::INVALID_NAMESPACE.do_not_retry()),
        None => invalid(),
        Some(namespace) => Ok(namespace),
    }
}
