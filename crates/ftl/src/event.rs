//! The events of a device that concern an FTL.

use std::num::NonZeroU32;

/// An event of a device. The device's queue holds the events of the FTL and of the backend, and [`HostEvent`]s, which
/// no FTL makes or sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An event of the backend: a transfer, an array operation or a controller is done.
    Flash(flash::backend::Event),
    /// The FTL has asked to be woken: [`Background::wake`](crate::Background::wake).
    Ftl,
    /// A serial list of the main array has ended.
    SerialEnd,
    /// A serial list of the SLC array has ended.
    SlcSerialEnd,
    /// An event of the device's host side.
    Host(HostEvent),
}

impl From<flash::backend::Event> for Event {
    fn from(event: flash::backend::Event) -> Self {
        Self::Flash(event)
    }
}

/// An event of the device's host side. The FTL passes none of them on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostEvent {
    /// A request's command or data has arrived over the link.
    DataIn(NonZeroU32),
    /// A request's data has left over the link.
    DataOut(NonZeroU32),
    /// The controller's RAM has moved the data of a request, or has looked the data up.
    Ram(NonZeroU32),
    /// The scan of the media after a power-on has ended: the drive is ready.
    Ready,
    /// The drive takes requests again, after a change of its power state or a delay by its throttle.
    Admission,
}
