//! The window of a random write area: mapping units in RAM that the host may still overwrite.
//!
//! The content of a unit is in a slot of a command list that is never submitted. Unit `u` of the zone has slot `u` modulo the size of
//! the window. So the window holds the units from the first one without a row on, and RAM is bounded by its size.

use base::engine::Handle;
use base::units::SuperblockId;
use flash::backend::{Backend, Cause, Class, Command, List, Slot, SlotRef};
use flash::nand::{Stream, Target};

use super::ListPurpose;
use super::layout::Layout;
use crate::port::Flash;
use crate::zone::ZrwaShape;

#[derive(Clone, Debug)]
pub(super) struct Window {
    /// The programs whose slots hold the content, and the slots of each.
    programs: Vec<Handle<Command>>,
    slots: u32,
    /// The version of each unit that is written, by the index of its slot.
    versions: Vec<Option<u32>>,
    /// Units of the zone below this number leave the window for rows.
    committed: u32,
    /// The number of the zone's units in rows when a reset began.
    pub(super) placed: u32,
    /// True if the zone counts among those with a random write area.
    pub(super) is_held: bool,
}

impl Window {
    fn new(flash: &mut Flash<'_>, layout: &Layout, size: u32) -> Self {
        let slots = layout.row_units();
        let list: Handle<List> = flash.backend.open_list(Class::Other, ListPurpose::Save.tag());
        let target = Target { superblock: SuperblockId::new(0), offset: 0 };
        let programs = (0..size.div_ceil(slots)).map(|_| {
            let program = flash.backend.add_program(list, Cause::Host, target, Stream::HOST);
            (0..slots).for_each(|_| _ = flash.backend.push_slot(program, Slot { expected: true, ..Slot::default() }));
            program
        });
        let programs = programs.collect();
        Self { programs, slots, versions: vec![None; size as usize], committed: 0, placed: 0, is_held: false }
    }

    const fn size(&self) -> u32 {
        self.versions.len() as u32
    }

    const fn index(&self, unit: u32) -> usize {
        (unit % self.size()) as usize
    }

    pub(super) fn slot(&self, backend: &Backend, unit: u32) -> SlotRef {
        let index = self.index(unit) as u32;
        backend.slot(self.programs[(index / self.slots) as usize], index % self.slots).0
    }

    /// The slot of a unit, if it is written in the window of a zone with `placed` units in rows.
    pub(super) fn find(&self, backend: &Backend, placed: u32, unit: u32) -> Option<SlotRef> {
        (self.is_within(placed, unit) && self.versions[self.index(unit)].is_some()).then(|| self.slot(backend, unit))
    }

    /// True if a unit is within the window of a zone with `placed` units in rows.
    pub(super) const fn is_within(&self, placed: u32, unit: u32) -> bool {
        unit >= placed && unit - placed < self.size()
    }

    /// Units below this number leave the window.
    pub(super) const fn committed(&self) -> u32 {
        self.committed
    }

    /// Lets the units below a number leave the window.
    pub(super) fn commit(&mut self, end: u32) {
        self.committed = self.committed.max(end);
    }

    /// Lets all written units leave the window of a zone with `placed` units in rows.
    pub(super) fn commit_all(&mut self, placed: u32) {
        let last = (placed..placed + self.size()).rfind(|unit| self.versions[self.index(*unit)].is_some());
        self.commit(last.map_or(0, |last| last + 1));
    }

    /// Notes the version of a unit that the host writes. Returns the version of the content that it replaces.
    pub(super) fn write(&mut self, unit: u32, version: u32) -> Option<u32> {
        let index = self.index(unit);
        self.versions[index].replace(version)
    }

    /// Takes a unit out of the window, and returns its slot and its version if the unit is written.
    pub(super) fn take(&mut self, backend: &Backend, unit: u32) -> Option<(SlotRef, u32)> {
        let index = self.index(unit);
        let version = self.versions[index].take()?;
        Some((self.slot(backend, unit), version))
    }

    /// The written units of a zone with `placed` units in rows: number, slot and version of each.
    pub(super) fn written(&self, backend: &Backend, placed: u32) -> Vec<(u32, SlotRef, u32)> {
        let units = placed..placed + self.size();
        units.filter_map(|unit| Some((unit, self.slot(backend, unit), self.versions[self.index(unit)]?))).collect()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Windows {
    shape: Option<ZrwaShape>,
    /// The number of zones that have a random write area.
    held: u32,
    /// Windows without a zone, kept for the next zone that needs one.
    #[allow(clippy::vec_box)] // So a window changes hands without an allocation.
    spare: Vec<Box<Window>>,
}

impl Windows {
    pub(super) const fn new(shape: Option<ZrwaShape>) -> Self {
        Self { shape, held: 0, spare: Vec::new() }
    }

    /// Bytes of the windows and of their content's slots.
    pub(super) fn memory(layout: &Layout) -> u64 {
        let of_unit = (size_of::<Option<u32>>() + size_of::<Slot>()) as u64;
        let units = |zrwa: ZrwaShape| u64::from(zrwa.zones) * u64::from(zrwa.size);
        layout.shape.zrwa.map_or(0, |zrwa| units(zrwa) * of_unit)
    }

    /// The shape of a window, if zones can have one.
    pub(super) const fn shape(&self) -> Option<ZrwaShape> {
        self.shape
    }

    /// The number of zones that have a random write area.
    pub(super) const fn held(&self) -> u32 {
        self.held
    }

    /// True if another zone can have a random write area.
    pub(super) fn is_free(&self) -> bool {
        self.shape.is_some_and(|shape| self.held < shape.zones)
    }

    /// An empty window for a zone with its write pointer at `pointer`.
    pub(super) fn lend(&mut self, flash: &mut Flash<'_>, layout: &Layout, pointer: u32) -> Box<Window> {
        let size = self.shape.expect("a drive with random write areas").size;
        let mut window = self.spare.pop().unwrap_or_else(|| Box::new(Window::new(flash, layout, size)));
        window.committed = pointer;
        window.is_held = true;
        self.held += 1;
        window
    }

    /// Ends the random write area of a window's zone, which then no longer counts. The window may still hold data.
    pub(super) fn release(&mut self, window: Option<&mut Window>) {
        if let Some(window) = window
            && std::mem::take(&mut window.is_held)
        {
            self.held -= 1;
        }
    }

    /// Takes the window of a zone back, with its content.
    pub(super) fn take_back(&mut self, window: &mut Option<Box<Window>>) {
        let Some(mut window) = window.take() else { return };
        self.release(Some(&mut *window));
        window.versions.fill(None);
        self.spare.push(window);
    }
}
