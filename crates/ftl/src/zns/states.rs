//! The states of all zones of a drive, and the limits that the zones share.
//!
//! The numbers of open and of active zones are limited. If the limit of open zones is reached, the drive closes the
//! zone that was implicitly opened first, to serve a command that opens another; it never closes a zone that the host
//! has opened. Only commands of the host make room for another active zone: finish, reset, or writes up to the zone's
//! capacity.

use std::collections::VecDeque;

use crate::sabotage::{PlantedBug, Sabotage};
use crate::zone::{ZoneAction, ZoneError, ZoneShape, ZoneState};

#[derive(Clone, Copy, Debug)]
struct ZoneLimits {
    active: u32,
    open: u32,
}

#[derive(Clone, Debug)]
pub(super) struct ZoneStates {
    states: Vec<ZoneState>,
    limits: ZoneLimits,
    active: u32,
    open: u32,
    /// The implicitly open zones, in the order in which they were opened.
    implicit: VecDeque<u32>,
    planted: PlantedBug,
}

impl ZoneStates {
    /// The states of a new drive: all zones are empty.
    pub(super) fn new(shape: ZoneShape, planted: PlantedBug) -> Self {
        let limits = ZoneLimits { active: shape.max_active, open: shape.max_open };
        let states = vec![ZoneState::Empty; shape.zones as usize];
        Self { states, limits, active: 0, open: 0, implicit: VecDeque::new(), planted }
    }

    /// Bytes of the table.
    pub(super) const fn memory(zones: u64) -> u64 {
        zones * size_of::<ZoneState>() as u64
    }

    #[inline]
    pub(super) fn of(&self, zone: u32) -> ZoneState {
        self.states[zone as usize]
    }

    /// The numbers of active zones and of open zones.
    pub(super) const fn counts(&self) -> [u32; 2] {
        [self.active, self.open]
    }

    /// The state to which an action on a zone leads.
    ///
    /// # Errors
    /// The status of a command that the zone's state or a limit refuses.
    #[inline]
    pub(super) fn after(&self, zone: u32, action: ZoneAction) -> Result<ZoneState, ZoneError> {
        let before = self.of(zone);
        let after = before.after(action)?;
        if after.is_active() && !before.is_active() && self.active == self.limits.active {
            return Err(ZoneError::TooManyActive);
        }
        if self.needs_room(before, after) && self.implicit.is_empty() {
            return Err(ZoneError::TooManyOpen);
        }
        Ok(after)
    }

    /// True if another zone must be closed before a zone can change from state `before` to `after`.
    #[inline]
    const fn needs_room(&self, before: ZoneState, after: ZoneState) -> bool {
        after.is_open() && !before.is_open() && self.open == self.limits.open
    }

    /// Carries out an action on a zone.
    ///
    /// # Errors The status of a command that the zone's state or a limit refuses. A refused command changes nothing.
    #[inline]
    pub(super) fn act(&mut self, zone: u32, action: ZoneAction) -> Result<(), ZoneError> {
        let before = self.of(zone);
        let after = self.after(zone, action)?;
        if before == after {
            return Ok(());
        }
        if self.needs_room(before, after) {
            let oldest = *self.implicit.front().expect("an implicitly open zone");
            self.enter(oldest, ZoneState::Closed);
        }
        self.enter(zone, after);
        Ok(())
    }

    /// Puts a zone into a state that no command leads to: full, because all of it is written; read only or offline,
    /// because flash has failed; or the state that a mount has found.
    pub(super) fn enter(&mut self, zone: u32, after: ZoneState) {
        let before = std::mem::replace(&mut self.states[zone as usize], after);
        if before == ZoneState::ImplicitlyOpen {
            self.implicit.retain(|other| *other != zone);
        }
        if after == ZoneState::ImplicitlyOpen {
            self.implicit.push_back(zone);
        }
        self.active = self.active + u32::from(after.is_active()) - u32::from(before.is_active());
        let leaks = after == ZoneState::Full && self.planted.is(Sabotage::OpenCountLeaks);
        self.open = self.open + u32::from(after.is_open()) - u32::from(before.is_open() && !leaks);
    }

    /// Checks the counts against the states.
    ///
    /// # Panics
    /// If they differ.
    pub(super) fn check(&self) {
        let count = |counts: fn(ZoneState) -> bool| self.states.iter().filter(|state| counts(**state)).count() as u32;
        assert_eq!(self.active, count(ZoneState::is_active), "active zones");
        assert_eq!(self.open, count(ZoneState::is_open), "open zones");
        assert!(self.active <= self.limits.active && self.open <= self.limits.open, "more zones than the limits allow");
        let implicit = count(|state| state == ZoneState::ImplicitlyOpen);
        assert_eq!(self.implicit.len() as u32, implicit, "implicitly open zones");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ZoneAction::{Append, Close, Finish, Open, Reset, Write};
    use base::engine::Rng;

    fn states(active: u32, open: u32) -> ZoneStates {
        let shape = ZoneShape { zones: 6, size: 1, capacity: 1, max_active: active, max_open: open, zrwa: None };
        ZoneStates::new(shape, PlantedBug::default())
    }

    #[test]
    fn an_implicit_open_closes_the_zone_that_was_implicitly_opened_first() {
        let mut zones = states(4, 2);
        for zone in [3, 1, 4] {
            zones.act(zone, Write).expect("an active place is free");
        }
        assert_eq!(
            [3, 1, 4].map(|zone| zones.of(zone)),
            [ZoneState::Closed, ZoneState::ImplicitlyOpen, ZoneState::ImplicitlyOpen]
        );
        assert_eq!(zones.counts(), [3, 2]);
        zones.act(3, Open).expect("it closes zone 1");
        assert_eq!([zones.of(1), zones.of(3)], [ZoneState::Closed, ZoneState::ExplicitlyOpen]);
        zones.check();
    }

    #[test]
    fn zones_that_the_host_has_opened_stay_open() {
        let mut zones = states(4, 2);
        (0..2).for_each(|zone| zones.act(zone, Open).expect("places are free"));
        assert_eq!(zones.act(2, Write), Err(ZoneError::TooManyOpen));
        assert_eq!(zones.act(2, Open), Err(ZoneError::TooManyOpen));
        assert_eq!((zones.of(2), zones.counts()), (ZoneState::Empty, [2, 2]), "nothing has changed");
        zones.act(0, Close).expect("it is open");
        zones.act(2, Append).expect("a place is free");
        assert_eq!(zones.act(0, Write), Ok(()), "it closes zone 2");
        assert_eq!(zones.of(2), ZoneState::Closed);
        zones.check();
    }

    #[test]
    fn only_the_host_makes_room_for_an_active_zone() {
        let mut zones = states(2, 2);
        zones.act(0, Write).expect("a place is free");
        zones.act(1, Write).expect("a place is free");
        for action in [Write, Append, Open] {
            assert_eq!(zones.act(2, action), Err(ZoneError::TooManyActive), "implicitly open zones stay active");
        }
        zones.act(2, Finish).expect("a finish of an empty zone needs no active place");
        zones.act(0, Close).expect("it is open");
        assert_eq!(zones.act(3, Write), Err(ZoneError::TooManyActive), "a closed zone is active");
        zones.act(0, Reset).expect("it is closed");
        zones.act(3, Write).expect("a place is free");
        zones.enter(1, ZoneState::Full);
        zones.act(4, Write).expect("a full zone is not active");
        zones.check();
    }

    #[test]
    fn the_counts_hold_after_any_sequence_of_actions() {
        for seed in 0..200 {
            let mut rng = Rng::stream(seed, "zns.states");
            let active = 1 + rng.below(5) as u32;
            let mut zones = states(active, 1 + rng.below(u64::from(active)) as u32);
            for _ in 0..300 {
                let zone = rng.below(6) as u32;
                match rng.below(20) {
                    0 => zones.enter(zone, ZoneState::ReadOnly),
                    1 => zones.enter(zone, ZoneState::Empty),
                    2 if zones.of(zone).is_open() => zones.enter(zone, ZoneState::Full),
                    _ => {
                        let before = zones.clone();
                        let action = ZoneAction::ALL[rng.below(ZoneAction::ALL.len() as u64) as usize];
                        if zones.act(zone, action).is_err() {
                            assert_eq!((&before.states, before.counts()), (&zones.states, zones.counts()));
                        }
                    }
                }
                zones.check();
            }
        }
    }
}
