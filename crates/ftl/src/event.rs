//! What happens in a device, as far as an FTL has to do with it.

use std::num::NonZeroU32;

/// An event of a device. An FTL has its own events and those of the backend in the device's queue; what the rest of the
/// device waits for is a [`HostEvent`], which no FTL makes or sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// In the flash.
    Flash(flash::backend::Event),
    /// The FTL has something to do on its own account: [`Ftl::wake`](crate::Ftl::wake).
    Ftl,
    /// A list that is carried out in turn has come to its end.
    SerialEnd,
    /// The same on the second array.
    SlcSerialEnd,
    /// Something on the host's side of the device.
    Host(HostEvent),
}

impl From<flash::backend::Event> for Event {
    fn from(event: flash::backend::Event) -> Self {
        Self::Flash(event)
    }
}

/// What the host's side of a device waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostEvent {
    /// A request's command or data has come in over the link.
    DataIn(NonZeroU32),
    /// A request's data has gone out over the link.
    DataOut(NonZeroU32),
    /// Recovery's scan is over.
    Ready,
}
