//! Asynchronous events (NVMe base 2.0, section 5.2; ZNS 1.1, figures 42 to 44).

use std::collections::VecDeque;

use crate::status::Status;

/// Requests that may be outstanding: AERL is one less.
pub(crate) const REQUESTS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AsyncEvent {
    /// The reliability is degraded, or the drive is read only.
    Reliability,
    /// A temperature threshold is crossed.
    Temperature,
    /// The spare has fallen below its threshold.
    Spare,
    /// The attributes of a namespace have changed.
    NamespaceChanged,
    /// The descriptor of a zone of this namespace has changed without a command of the host.
    ZoneChanged(u32),
    /// A sanitize operation has ended.
    SanitizeCompleted,
    /// The discovery log page has changed.
    DiscoveryChanged,
}

impl AsyncEvent {
    /// Type, information and log page identifier.
    const fn parts(self) -> (u8, u8, u8) {
        match self {
            Self::Reliability => (1, 0x00, 0x02),
            Self::Temperature => (1, 0x01, 0x02),
            Self::Spare => (1, 0x02, 0x02),
            Self::NamespaceChanged => (2, 0x00, 0x04),
            Self::ZoneChanged(_) => (2, 0xef, 0xbf),
            Self::DiscoveryChanged => (2, 0xf0, 0x70),
            Self::SanitizeCompleted => (6, 0x01, 0x81),
        }
    }

    /// The bits of the feature "asynchronous event configuration" that enable the event; none if it always is.
    const fn enabled_by(self) -> Option<u32> {
        match self {
            Self::Spare => Some(1 << 0),
            Self::Temperature => Some(1 << 1),
            // Bit 2: reliability degraded, bit 3: read only.
            Self::Reliability => Some(0b1100),
            Self::NamespaceChanged => Some(1 << 8),
            Self::ZoneChanged(_) => Some(1 << 27),
            Self::DiscoveryChanged => Some(1 << 31),
            Self::SanitizeCompleted => None,
        }
    }

    /// Dwords 0 and 1 of the completion.
    const fn result(self) -> u64 {
        let (kind, information, page) = self.parts();
        let namespace = if let Self::ZoneChanged(namespace) = self { namespace } else { 0 };
        kind as u64 | (information as u64) << 8 | (page as u64) << 16 | (namespace as u64) << 32
    }
}

/// The events of a controller, and the requests that wait for them.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// Command identifiers of outstanding requests.
    requests: VecDeque<u16>,
    pending: VecDeque<AsyncEvent>,
    /// Events that are reported, and not cleared yet by a read of their log page.
    reported: Vec<AsyncEvent>,
}

impl Events {
    /// Keeps an Asynchronous Event Request until an event happens.
    pub(crate) fn request(&mut self, command_id: u16) -> Result<(), Status> {
        if self.requests.len() >= REQUESTS {
            return Err(Status::ASYNC_EVENT_LIMIT_EXCEEDED.do_not_retry());
        }
        self.requests.push_back(command_id);
        Ok(())
    }

    /// Removes an outstanding request; false if there is none.
    pub(crate) fn abort(&mut self, command_id: u16) -> bool {
        let before = self.requests.len();
        self.requests.retain(|request| *request != command_id);
        self.requests.len() < before
    }

    /// The command identifiers of the outstanding requests.
    pub(crate) fn requests(&self) -> Vec<u16> {
        self.requests.iter().copied().collect()
    }

    /// Reports an event, if the host has enabled it. The host gets it once until it reads the event's log page.
    pub(crate) fn raise(&mut self, event: AsyncEvent, configuration: u32) {
        let enabled = event.enabled_by().is_none_or(|bits| configuration & bits != 0);
        if enabled && !self.pending.contains(&event) && !self.reported.contains(&event) {
            self.pending.push_back(event);
        }
    }

    /// The next completion of a request: its command identifier, and dwords 0 and 1.
    pub(crate) fn next(&mut self) -> Option<(u16, u64)> {
        let event = *self.pending.front()?;
        let command_id = self.requests.pop_front()?;
        self.pending.pop_front();
        self.reported.push(event);
        Some((command_id, event.result()))
    }

    /// The host has read the log page of these events, which clears them; for changed zones, only the events of
    /// `namespace`.
    pub(crate) fn clear(&mut self, page: u8, namespace: u32) {
        self.reported.retain(|event| match event {
            AsyncEvent::ZoneChanged(of) if page == 0xbf => *of != namespace,
            _ => event.parts().2 != page,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{AsyncEvent, Events, REQUESTS};
    use crate::status::Status;

    #[test]
    fn an_event_is_reported_once_until_its_log_page_is_read() {
        let mut events = Events::default();
        events.raise(AsyncEvent::ZoneChanged(2), 0);
        events.request(7).expect("a request");
        assert_eq!(events.next(), None, "the event is not enabled");
        events.raise(AsyncEvent::ZoneChanged(2), 1 << 27);
        events.raise(AsyncEvent::ZoneChanged(2), 1 << 27);
        assert_eq!(events.next(), Some((7, 2 | 0xef << 8 | 0xbf << 16 | 2 << 32)));
        events.request(8).expect("a request");
        events.raise(AsyncEvent::ZoneChanged(2), 1 << 27);
        assert_eq!(events.next(), None, "the host has not read the log page");
        events.clear(0xbf, 1);
        events.raise(AsyncEvent::ZoneChanged(2), 1 << 27);
        assert_eq!(events.next(), None, "the page of another namespace");
        events.clear(0xbf, 2);
        events.raise(AsyncEvent::ZoneChanged(2), 1 << 27);
        assert!(events.next().is_some());
    }

    #[test]
    fn requests_are_limited_and_can_be_aborted() {
        let mut events = Events::default();
        (0..REQUESTS as u16).for_each(|id| events.request(id).expect("room"));
        assert_eq!(events.request(9), Err(Status::ASYNC_EVENT_LIMIT_EXCEEDED.do_not_retry()));
        assert!(events.abort(0) && !events.abort(0));
        events.raise(AsyncEvent::SanitizeCompleted, 0);
        assert_eq!(events.next(), Some((1, 6 | 1 << 8 | 0x81 << 16)));
    }
}
