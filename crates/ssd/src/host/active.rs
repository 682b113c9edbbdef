//! The state of a request from its admission to its completion.

use base::io::Io;
use base::units::{Span, Time};
use flash::backend::CauseSet;
use ftl::Origin;

use super::overlap::Extent;
use super::request::{QueueId, Status, Tag};

/// A request that the device has taken from its queue and not completed.
#[derive(Clone, Debug)]
pub(crate) struct Active<S> {
    pub(crate) tag: Tag,
    pub(crate) queue: QueueId,
    /// The NVM set to whose dies the request's writes are confined.
    pub(crate) set: u32,
    pub(crate) io: Io,
    pub(crate) arrival: Time,
    pub(crate) start: Time,
    pub(crate) extent: Extent,
    pub(crate) status: Status,
    /// The number of mapping units that flash still works on.
    pub(crate) pending: u32,
    /// The number of sectors of a read that have come from flash and wait for the link.
    pub(crate) came: u32,
    pub(crate) sent: u32,
    /// The time at which the RAM has moved the sectors that a read takes from the buffer.
    pub(crate) from_ram: Option<Time>,
    /// The number of earlier unfinished requests that overlap this request.
    pub(crate) blockers: u32,
    /// True if later requests wait for this request.
    pub(crate) blocks: bool,
    /// True if the request is in the lists of overlapping requests.
    pub(crate) listed: bool,
    /// The next mapping unit of the request for the buffer to take.
    pub(crate) next_unit: u32,
    /// Position of the request in the list of all requests under way.
    pub(crate) position: u32,
    pub(crate) commands: u32,
    pub(crate) wait: Span,
    pub(crate) start_wait: Span,
    pub(crate) waited_for: CauseSet,
    pub(crate) data: Vec<S>,
}

impl<S> Active<S> {
    /// The properties of the request that an FTL may ask for.
    #[inline]
    pub(crate) const fn origin(&self) -> Origin {
        let Io { sectors, placement, .. } = self.io;
        Origin { sectors: sectors.get() as u32, queue: self.queue.get(), placement }
    }
}
