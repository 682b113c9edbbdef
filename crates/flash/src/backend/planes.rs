//! Planes that read by themselves: each plane of a die may have a read of its own under way.
//!
//! A die is a *unit*: an array, a register, and the commands that wait for them. If planes read by themselves, each
//! plane is a further unit, numbered behind those of the dies, for reads of its pages only. All other commands use the
//! unit of the die, which works only while none of its planes does. The channel is shared as without such planes.
//!
//! The commands that wait for the units of a die have one common order: by their queue, then by the time at which they
//! came. A read whose plane is occupied lets others pass. A command for the whole die lets no other pass: the planes
//! drain.

use std::iter::once;

use base::engine::{EventQueue, Handle};
use base::units::{Span, Time};

use super::plane_reads::PlaneReads;
use super::planted::Bug;
use super::rules::Rules;
use super::{Backend, Command, Config, Event, Op, Resource};
use crate::nand::Geometry;

impl Rules {
    pub(super) fn units_of(&self, die: u32) -> impl Iterator<Item = u32> + use<> {
        once(die).chain(self.plane_reads.map_or(0..0, |planes| planes.of_die(die)))
    }

    pub(super) fn die_of(&self, unit: u32) -> u32 {
        self.plane_reads.map_or(unit, |planes| planes.die_of(unit))
    }

    pub(super) fn units(&self, dies: u32) -> u32 {
        self.plane_reads.map_or(dies, |planes| dies * (1 + planes.planes))
    }

    /// The array of a unit, as observers name it.
    pub(super) fn array_of(&self, unit: u32) -> Resource {
        match self.plane_reads {
            Some(planes) if unit >= planes.dies => Resource::Plane(unit - planes.dies),
            _ => Resource::Array(unit),
        }
    }
}

impl Config {
    /// The number of units for each die: the die itself, and its planes if they read by themselves.
    pub(super) const fn units_of_die(&self, geometry: &Geometry) -> u32 {
        if self.plane_reads.is_some() { 1 + geometry.planes } else { 1 }
    }
}

impl Backend {
    /// Assigns the commands of a list to units.
    #[cold]
    pub(super) fn choose_units(&mut self, first: Handle<Command>) {
        let Some(planes) = self.rules.plane_reads else { return };
        let mut next = Some(first);
        while let Some(handle) = next {
            let command = &self.table.commands[handle];
            next = command.sibling;
            if command.op == Op::Read && (planes.all_reads || command.class.is_host_read()) {
                self.table.commands[handle].unit = self.plane_of(handle, &planes).unwrap_or(command.die.get());
            }
        }
    }

    /// The unit of the plane of a read; `None` if the read is for several planes.
    fn plane_of(&self, handle: Handle<Command>, planes: &PlaneReads) -> Option<u32> {
        let geometry = self.media.geometry();
        let unit = |psn| {
            let (superblock, offset) = geometry.locate(psn);
            planes.dies + geometry.group_of(superblock) * geometry.stripe + geometry.page_and_plane(offset).1
        };
        let mut all = self.table.slots_of(handle).iter().map(|slot| unit(slot.psn));
        let first = all.next()?;
        all.all(|other| other == first).then_some(first)
    }

    /// Time that each plane worked in reads by itself until `now`; empty without such planes.
    pub fn plane_busy(&self, now: Time) -> impl Iterator<Item = Span> + '_ {
        let dies = self.media.geometry().die_count() as usize;
        self.dies[dies..].iter().map(move |plane| plane.meter.busy(now))
    }

    /// Lets the units of a die begin waiting commands, because one of the units is free or a command has come.
    #[cold]
    #[inline(never)]
    pub(super) fn next_of_die<E: From<Event> + Copy>(&mut self, now: Time, freed: u32, events: &mut EventQueue<E>) {
        let Some(planes) = self.rules.plane_reads else { return };
        let die = planes.die_of(freed);
        loop {
            let active = planes.of_die(die).filter(|plane| !self.dies[*plane as usize].is_free()).count() as u32;
            let main = &self.dies[die as usize];
            if !main.is_free() {
                // The forwarder and suspension serve the unit of the die.
                return self.next_of_unit(now, die, events);
            }
            let serves = match (&self.rules.suspend, &main.suspension) {
                (Some(rules), Some(suspension)) if suspension.is_overdue(now, rules) => None,
                (Some(rules), Some(suspension)) if suspension.is_suspended() => suspension.serves(rules),
                _ => Some(usize::MAX),
            };
            let waiting = once(die).chain(planes.of_die(die)).filter_map(|unit| {
                let state = &self.dies[unit as usize];
                if freed == die && unit != die && self.rules.planted.is(Bug::PlaneForgotten) {
                    return None;
                }
                let head = state.queue.peek().filter(|_| state.is_free())?;
                let queue = self.class_at_die(head);
                (Some(queue) <= serves).then(|| (queue, self.table.commands[head].ready, unit != die, unit))
            });
            let begins = match waiting.min() {
                Some((.., unit)) if unit != die => (active < planes.at_once).then_some(unit),
                // The unit of the die begins a command for the whole die, or resumes the suspended operation.
                Some(_) | None => (active == 0).then_some(die),
            };
            let Some(unit) = begins else { return };
            self.next_of_unit(now, unit, events);
            if unit == die || self.dies[unit as usize].is_free() {
                return;
            }
        }
    }
}
