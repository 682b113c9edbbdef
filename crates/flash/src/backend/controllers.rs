//! Controllers execute one command list at a time; a list waits until its controller is free.
//!
//! Controllers that move the data of their lists over links of their own hold the chips of their lists: no other
//! controller may use such a chip (Sung, Sec. 4.1). A free controller then takes the first list whose chips are free.
//! Lists for one chip keep their order. A list whose commands depend on another list is not taken before that list,
//! because it would occupy a controller, perhaps the last free one, and wait there.

use base::engine::{Handle, Slab};
use base::units::{Span, Time};

use super::queue::Queue;
use super::{Cause, Controllers, List, Transfer};
use crate::nand::Geometry;

/// The number of the controller of host reads, if there are foreground and background controllers.
const FOREGROUND: u32 = 0;

/// A controller, which works on one list at a time, with its queue of lists.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    pub(super) list: Option<Handle<List>>,
    queue: Queue<List>,
    last: Option<Cause>,
    busy: Span,
    since: Time,
}

impl Controller {
    fn new() -> Self {
        Self { list: None, queue: Queue::default(), last: None, busy: Span::ZERO, since: Time::ZERO }
    }
}

/// The next station of a submitted list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// To the dies of the list, because there are no controllers.
    Dies,
    /// To this controller, which is free.
    Controller(u32),
    /// The queue for its controller.
    Waits,
    /// The queue for shared controllers, of which a free one looks for a list whose chips are free
    /// ([`ControllerPool::first_fit`]).
    Search,
}

/// All controllers, and the lists that wait for them.
#[derive(Clone, Debug)]
pub(super) struct ControllerPool {
    kind: Controllers,
    /// True if a controller moves the data of its lists over its own link.
    pub(super) links: bool,
    units: Vec<Controller>,
    /// Lists that any of the shared controllers may take.
    shared: Queue<List>,
}

impl ControllerPool {
    pub(super) fn new(kind: Controllers, transfer: Transfer, geometry: &Geometry) -> Self {
        let units = vec![Controller::new(); kind.count(geometry) as usize];
        Self { kind, links: transfer == Transfer::Controller, units, shared: Queue::default() }
    }

    /// True if a list in a controller shares its dies and its channel with no other list.
    pub(super) const fn are_exclusive(&self) -> bool {
        match self.kind {
            Controllers::PerChannel => true,
            Controllers::Shared(_) => self.links,
            Controllers::None | Controllers::PerDie | Controllers::Background(_) => false,
        }
    }

    /// True if controllers hold the chips of their lists.
    pub(super) const fn hold_chips(&self) -> bool {
        self.links && matches!(self.kind, Controllers::Shared(_))
    }

    /// Finds the next station of a list, whose first command is for a die of a channel.
    #[inline]
    pub(super) fn admit(
        &mut self,
        lists: &mut Slab<List>,
        list: Handle<List>,
        class: usize,
        (die, channel): (u32, u32),
    ) -> Admission {
        let controller = match self.kind {
            Controllers::None => return Admission::Dies,
            Controllers::PerDie => die,
            Controllers::PerChannel => channel,
            Controllers::Shared(_) if self.links => {
                self.shared.push(lists, class, list);
                return Admission::Search;
            }
            Controllers::Background(_) if lists[list].class.is_host_read() => FOREGROUND,
            Controllers::Shared(_) | Controllers::Background(_) => {
                let shared = self.units.iter().enumerate().skip(self.first_shared());
                match shared.clone().find(|(_, controller)| controller.list.is_none()) {
                    Some((free, _)) => free as u32,
                    None => {
                        self.shared.push(lists, class, list);
                        return Admission::Waits;
                    }
                }
            }
        };
        let unit = &mut self.units[controller as usize];
        if unit.list.is_none() {
            return Admission::Controller(controller);
        }
        unit.queue.push(lists, class, list);
        Admission::Waits
    }

    /// The number of the first controller that takes any list: the one behind the foreground controller, if there is
    /// one.
    const fn first_shared(&self) -> usize {
        matches!(self.kind, Controllers::Background(_)) as usize
    }

    /// Gives a list to a free controller, and notes the time and the causes that the list has waited for.
    #[inline]
    pub(super) fn occupy(&mut self, now: Time, controller: u32, list: Handle<List>, lists: &mut Slab<List>) {
        let taker = &mut self.units[controller as usize];
        (taker.list, taker.since) = (Some(list), now);
        let waiting = &mut lists[list];
        waiting.take_controller(controller);
        if now > waiting.submitted {
            waiting.wait = now - waiting.submitted;
            if let Some(cause) = taker.last {
                waiting.waited_for.insert(cause);
            }
        }
    }

    /// Ends the list of a controller, whose last command had this cause. Returns the list.
    #[inline]
    pub(super) fn vacate(&mut self, now: Time, controller: u32, cause: Cause) -> Option<Handle<List>> {
        let leaver = &mut self.units[controller as usize];
        leaver.last = Some(cause);
        leaver.busy += now - leaver.since;
        leaver.list.take()
    }

    /// Takes the first list that waits for a controller, which must be free.
    #[inline]
    pub(super) fn take_next(&mut self, controller: u32, lists: &Slab<List>) -> Option<Handle<List>> {
        self.queue_of(controller).pop(lists)
    }

    /// The first list that waits for a controller.
    #[inline]
    pub(super) fn peek_next(&self, controller: u32) -> Option<Handle<List>> {
        match self.kind {
            Controllers::PerDie | Controllers::PerChannel => self.units[controller as usize].queue.peek(),
            Controllers::None | Controllers::Shared(_) | Controllers::Background(_) => self.shared.peek(),
        }
    }

    #[inline]
    fn queue_of(&mut self, controller: u32) -> &mut Queue<List> {
        let shares = match self.kind {
            Controllers::Shared(_) => true,
            Controllers::Background(_) => controller != FOREGROUND,
            Controllers::None | Controllers::PerDie | Controllers::PerChannel => false,
        };
        if shares { &mut self.shared } else { &mut self.units[controller as usize].queue }
    }

    /// A free controller, and the first waiting list that it can take. For a list, `is_free` returns true if all its
    /// chips are free, and the chips as one bit for each die, so that lists for one chip keep their order. Beyond 64
    /// dies two dies may share a bit: a list may then wait longer than necessary, but none is taken too early.
    pub(super) fn first_fit(
        &mut self,
        lists: &mut Slab<List>,
        is_free: impl Fn(&Slab<List>, Handle<List>) -> (bool, u64),
    ) -> Option<(u32, Handle<List>)> {
        let controller = self.units.iter().position(|controller| controller.list.is_none())?;
        // A list that is passed over reserves its dies for itself.
        let (mut passed, mut passed_leader) = (0, false);
        let list = self.shared.take_first(lists, |lists, handle| {
            let list = &lists[handle];
            let (free, dies) = is_free(lists, handle);
            let takes = free && passed & dies == 0 && !(list.relation.follows() && passed_leader);
            if !takes {
                passed |= dies;
                passed_leader |= list.relation.leads();
            }
            takes
        })?;
        Some((controller as u32, list))
    }

    /// Time for which each controller had a list until `now`; a foreground controller is the first.
    pub(super) fn busy(&self, now: Time) -> impl Iterator<Item = Span> + '_ {
        self.units.iter().map(move |unit| {
            let open = if unit.list.is_some() { now.saturating_since(unit.since) } else { Span::ZERO };
            unit.busy + open
        })
    }

    /// Resets the time for which controllers had lists.
    pub(super) fn reset(&mut self) {
        self.units.iter_mut().for_each(|unit| unit.busy = Span::ZERO);
    }

    /// Forgets all lists, at a power cut.
    pub(super) fn cut(&mut self, now: Time) {
        for unit in &mut self.units {
            if unit.list.take().is_some() {
                unit.busy += now - unit.since;
            }
            unit.queue.clear();
            unit.last = None;
        }
        self.shared.clear();
    }

    /// Bytes that the controllers take now.
    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        size_of_val(&*self.units)
    }

    /// Bytes that the controllers of an array take.
    pub(super) fn memory(kind: Controllers, geometry: &Geometry) -> u64 {
        u64::from(kind.count(geometry)) * size_of::<Controller>() as u64
    }
}

impl Controllers {
    pub(super) const fn count(self, geometry: &Geometry) -> u32 {
        match self {
            Self::None => 0,
            Self::PerDie => geometry.die_count(),
            Self::PerChannel => geometry.channels,
            Self::Shared(count) => count,
            Self::Background(count) => 1 + count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Class;
    use super::*;

    /// Two channels with two dies each.
    fn pool(kind: Controllers, transfer: Transfer) -> ControllerPool {
        let geometry = Geometry::new(2, 2, 1, 1, 1, 4, 4, 1, 4).expect("a small array");
        ControllerPool::new(kind, transfer, &geometry)
    }

    fn list(lists: &mut Slab<List>, class: Class) -> Handle<List> {
        lists.insert(List::new(class, 0, 0))
    }

    const fn at(us: u64) -> Time {
        Time::from_ps(us * 1_000_000)
    }

    #[test]
    fn each_kind_admits_a_list_to_its_controller() {
        for (kind, class, controller) in [
            (Controllers::None, Class::Other, None),
            (Controllers::PerDie, Class::Other, Some(3)),
            (Controllers::PerChannel, Class::Other, Some(1)),
            (Controllers::Shared(2), Class::Other, Some(0)),
            (Controllers::Background(2), Class::Other, Some(1)),
            (Controllers::Background(2), Class::HostRead, Some(FOREGROUND)),
        ] {
            let (mut lists, mut pool) = (Slab::default(), pool(kind, Transfer::Bus));
            let list = list(&mut lists, class);
            let admitted = pool.admit(&mut lists, list, 0, (3, 1));
            assert_eq!(admitted, controller.map_or(Admission::Dies, Admission::Controller), "{kind:?} {class:?}");
        }
    }

    #[test]
    fn a_list_waits_for_its_controller_and_knows_how_long_and_behind_what() {
        let (mut lists, mut pool) = (Slab::default(), pool(Controllers::PerDie, Transfer::Bus));
        let [first, second] = [list(&mut lists, Class::Other), list(&mut lists, Class::Other)];
        assert_eq!(pool.admit(&mut lists, first, 0, (2, 1)), Admission::Controller(2));
        pool.occupy(at(5), 2, first, &mut lists);
        assert_eq!(pool.admit(&mut lists, second, 0, (2, 1)), Admission::Waits);
        assert_eq!(pool.vacate(at(30), 2, Cause::Gc), Some(first));
        assert_eq!((pool.peek_next(2), pool.take_next(2, &lists)), (Some(second), Some(second)));
        pool.occupy(at(30), 2, second, &mut lists);
        assert_eq!(lists[second].wait(), Span::from_us(30), "it was submitted at 0");
        assert!(lists[second].waited_for().contains(Cause::Gc));
        let busy = |pool: &ControllerPool, now| pool.busy(now).collect::<Vec<_>>();
        let us = |us: [u64; 4]| us.map(Span::from_us).to_vec();
        assert_eq!(busy(&pool, at(40)), us([0, 0, 35, 0]), "25 us of the first list, 10 us of the second so far");
        pool.cut(at(50));
        assert_eq!(busy(&pool, at(90)), us([0, 0, 45, 0]), "a power cut ends its time");
        pool.reset();
        assert_eq!(busy(&pool, at(90)), us([0; 4]));
    }

    #[test]
    fn background_lists_never_take_the_foreground_controller() {
        let (mut lists, mut pool) = (Slab::default(), pool(Controllers::Background(1), Transfer::Bus));
        let [busy, waits, read] = [Class::Other, Class::Other, Class::HostRead].map(|class| list(&mut lists, class));
        assert_eq!(pool.admit(&mut lists, busy, 0, (0, 0)), Admission::Controller(1));
        pool.occupy(at(0), 1, busy, &mut lists);
        assert_eq!(pool.admit(&mut lists, waits, 0, (0, 0)), Admission::Waits);
        assert_eq!(pool.take_next(FOREGROUND, &lists), None);
        assert_eq!(pool.admit(&mut lists, read, 0, (0, 0)), Admission::Controller(FOREGROUND));
        assert_eq!(pool.take_next(1, &lists), Some(waits));
    }

    /// The lists are for chips 0, 0, 1 and 2 while chip 0 is held: the first two wait in their order, and the third is
    /// taken.
    #[test]
    fn a_controller_takes_the_first_list_whose_chips_are_free_and_not_wanted_by_an_earlier_one() {
        let (mut lists, mut pool) = (Slab::default(), pool(Controllers::Shared(2), Transfer::Controller));
        let chips = [0, 0, 1, 2];
        let waiting = chips.map(|_| list(&mut lists, Class::Other));
        for (list, chip) in waiting.into_iter().zip(chips) {
            assert_eq!(pool.admit(&mut lists, list, 0, (chip, chip / 2)), Admission::Search);
        }
        let chip_of = |list: Handle<List>| chips[waiting.iter().position(|one| *one == list).expect("a list")];
        let take = |pool: &mut ControllerPool, lists: &mut Slab<List>, held: u64| {
            let taken = pool.first_fit(lists, |_, list| (held & 1 << chip_of(list) == 0, 1 << chip_of(list)));
            taken.inspect(|(controller, list)| pool.occupy(at(0), *controller, *list, lists))
        };
        assert_eq!(take(&mut pool, &mut lists, 1), Some((0, waiting[2])));
        assert_eq!(take(&mut pool, &mut lists, 0b011), Some((1, waiting[3])));
        assert_eq!(take(&mut pool, &mut lists, 0), None, "no controller is free");
        pool.vacate(at(1), 0, Cause::Host);
        assert_eq!(take(&mut pool, &mut lists, 0), Some((0, waiting[0])), "lists for one chip keep their order");
    }

    #[test]
    fn a_list_that_depends_on_a_waiting_one_is_not_taken_before_it() {
        let (mut lists, mut pool) = (Slab::default(), pool(Controllers::Shared(2), Transfer::Controller));
        let [leads, follows] = [list(&mut lists, Class::Other), list(&mut lists, Class::Other)];
        lists[leads].relation.lead();
        lists[follows].relation.follow();
        pool.admit(&mut lists, leads, 0, (0, 0));
        pool.admit(&mut lists, follows, 0, (1, 0));
        assert_eq!(pool.first_fit(&mut lists, |_, list| (list == follows, 1 << u64::from(list == follows))), None);
        assert_eq!(pool.first_fit(&mut lists, |_, _| (true, 1)), Some((0, leads)));
        assert_eq!(pool.first_fit(&mut lists, |_, _| (true, 2)), Some((0, follows)));
    }
}
