//! The questions to a map unit that have no answer yet.

use base::engine::{Handle, Slab};
use base::units::{Lpn, Psn};
use flash::nand::SectorMask;

use crate::map_unit::{Ask, SPAN, Ticket};
use crate::port::{Owner, PageRead, PageWrite, Service};

/// A question to the map unit, with the data for the work after its answer.
#[derive(Clone, Copy, Debug)]
pub(in crate::page) enum Question {
    /// The lookup of sectors of mapping units that the host reads.
    Read(MapLookup),
    /// The lookup of a mapping unit that the host writes in part.
    OldPlace(PageWrite),
    /// The update for a mapping unit that has been programmed.
    Write { owner: Owner, service: Service, to: Psn },
    /// The update for a mapping unit that is discarded.
    Discard { owner: Owner },
    /// The conditional update for a mapping unit that has been copied.
    Copy { from: Psn, to: Psn },
    /// A lookup by a check of the map's invariants.
    Check(Lpn),
}

impl Question {
    /// True if the answer to the question may free or take space.
    pub(super) const fn changes(&self) -> bool {
        !matches!(self, Self::Read(_) | Self::Check(_))
    }
}

/// Neighbouring mapping units that one owner reads.
#[derive(Clone, Copy, Debug)]
pub(in crate::page) struct MapLookup {
    pub(in crate::page) owner: Owner,
    pub(in crate::page) first: Lpn,
    pub(in crate::page) count: u32,
    /// The position of the first mapping unit's first sector in the owner's data.
    pub(in crate::page) at: i32,
    /// The requested sectors of the first mapping unit.
    pub(in crate::page) mask: SectorMask,
    /// The requested sectors of each mapping unit, if there are several. They are kept elsewhere because most lookups
    /// have one mapping unit, and hundreds of questions are in progress.
    masks: Option<Handle<Masks>>,
}

/// The requested sectors of each mapping unit of a lookup.
pub(in crate::page) type Masks = [SectorMask; SPAN as usize];

/// All questions without an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Questions {
    all: Slab<Question>,
    /// The sectors of lookups with several mapping units.
    masks: Slab<Masks>,
    /// Questions whose answers may free or take space.
    pub(super) changes: u32,
    /// The lookup that the next neighbour may join; the map unit has not been asked about it yet.
    look_up: Option<Handle<Question>>,
}

impl Questions {
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// Keeps a question until its answer, and gives it a number.
    pub(super) fn open(&mut self, question: Question) -> Ticket {
        self.changes += u32::from(question.changes());
        Ticket(self.all.insert(question).number().get())
    }

    /// Removes and returns the question of an answer.
    pub(super) fn close(&mut self, ticket: Ticket) -> Question {
        let handle = Handle::from_number(std::num::NonZeroU32::new(ticket.0).expect("a ticket of ours"));
        let question = self.all[handle];
        self.all.remove(handle);
        self.changes -= u32::from(question.changes());
        question
    }

    /// Adds a mapping unit to the open lookup of its neighbours. Returns false if it cannot join one.
    pub(super) fn join(&mut self, PageRead { owner, mask, .. }: PageRead, lpn: Lpn) -> bool {
        let Some(handle) = self.look_up else { return false };
        let Question::Read(look_up) = &mut self.all[handle] else { return false };
        let follows = lpn.get() == look_up.first.get() + look_up.count && !lpn.get().is_multiple_of(SPAN);
        if look_up.owner != owner || !follows {
            return false;
        }
        let of_first = look_up.mask;
        let masks = *look_up.masks.get_or_insert_with(|| {
            let mut masks = [0; SPAN as usize];
            masks[0] = of_first;
            self.masks.insert(masks)
        });
        self.masks[masks][look_up.count as usize] = mask;
        look_up.count += 1;
        true
    }

    /// Begins a lookup that neighbours may join.
    pub(super) fn begin_look_up(&mut self, PageRead { owner, at, mask }: PageRead, lpn: Lpn) {
        let look_up = MapLookup { owner, first: lpn, count: 1, at, mask, masks: None };
        self.look_up = Some(self.all.insert(Question::Read(look_up)));
    }

    /// Closes the lookup that neighbours may join, and returns the question for the map unit.
    pub(super) fn end_look_up(&mut self) -> Option<(Ticket, Ask)> {
        let handle = self.look_up.take()?;
        let Question::Read(MapLookup { first, count, .. }) = self.all[handle] else { unreachable!("a lookup") };
        Some((Ticket(handle.number().get()), Ask::Lookup { first, count }))
    }

    /// Takes the requested sectors of each mapping unit of a lookup that has been answered; none if the lookup has only
    /// one mapping unit.
    pub(super) fn take_masks(&mut self, look_up: &MapLookup) -> Option<Masks> {
        let masks = look_up.masks?;
        self.masks.remove(masks);
        Some(self.masks[masks])
    }
}
