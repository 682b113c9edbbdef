//! The flash of a device, as an FTL sees it.

use base::engine::{EventQueue, Handle};
use base::units::{Psn, Time};
use flash::backend::{Backend, Command, List, SlotContent, SlotRef};

use crate::Event;

/// The flash of a device at one moment, as an FTL sees it.
#[derive(Debug)]
pub struct Flash<'a> {
    /// The present simulated time.
    pub now: Time,
    /// The backend of the array that holds the host's data.
    pub backend: &'a mut Backend,
    /// The backend of the SLC array beside `backend`, if the device has one.
    pub slc_array: Option<&'a mut Backend>,
    /// The queue of the device's pending events.
    pub events: &'a mut EventQueue<Event>,
}

impl Flash<'_> {
    /// Submits a list; its commands start as soon as their resources are free.
    #[inline]
    pub fn submit(&mut self, list: Handle<List>) {
        self.backend.submit(self.now, list, self.events);
    }

    /// The program that will probably be the `distance`-th to end from now on, for prefetching; none if no end of a
    /// program has just been handled.
    #[must_use]
    #[inline]
    pub fn following_program(&self, distance: usize) -> Option<Handle<Command>> {
        match self.events.following(distance)? {
            Event::Flash(event) => self.backend.ends_program(event),
            _ => None,
        }
    }

    /// Prefetches the command that will probably be the `distance`-th to end from now on, with its slots.
    #[inline]
    pub fn prefetch_following(&self, distance: usize) {
        if let Some(Event::Flash(event)) = self.events.following(distance) {
            self.backend.prefetch_ending(event);
        }
    }

    /// Submits a list whose commands run one after another. Only one serial list runs at a time.
    #[inline]
    pub fn submit_serial(&mut self, list: Handle<List>) {
        if let Some(end) = self.backend.begin_serial(self.now, list) {
            self.events.push(end, Event::SerialEnd);
        }
    }

    /// Submits a serial list to the SLC array.
    ///
    /// # Panics
    /// If the device has no SLC array.
    #[inline]
    pub fn submit_slc(&mut self, list: Handle<List>) {
        let now = self.now;
        if let Some(end) = self.slc_array().begin_serial(now, list) {
            self.events.push(end, Event::SlcSerialEnd);
        }
    }

    /// Copies the sector of a slot of the SLC array to a sector of another slot.
    ///
    /// # Panics
    /// If the device has no SLC array.
    pub fn copy_slc_sector(&mut self, from: SlotRef, (into, sector): (SlotRef, u32)) {
        let slc_array = self.slc_array.as_ref().expect("the device has an SLC array");
        if slc_array.has_content() {
            self.backend.content_mut(into).put_first_as(sector as usize, slc_array.content_of(from));
        }
    }

    /// Copies a sector that the flash array stores to a slot of the SLC array.
    ///
    /// # Panics
    /// If the device has no SLC array.
    pub fn copy_to_slc(&mut self, (psn, sector): (Psn, u32), into: SlotRef) {
        let slc_array = self.slc_array.as_mut().expect("the device has an SLC array");
        let stored = self.backend.media().sector(psn, sector);
        slc_array.content_mut(into).put_first_as(0, SlotContent::Sectors(&stored));
    }

    /// The SLC array.
    ///
    /// # Panics
    /// If the device has no SLC array.
    #[inline]
    pub fn slc_array(&mut self) -> &mut Backend {
        self.slc_array.as_mut().expect("the device has an SLC array")
    }
}
