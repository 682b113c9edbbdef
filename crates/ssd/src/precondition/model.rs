//! Preconditioning by a model: lays out the steady state that it predicts.

use base::units::Time;
use flash::nand::Sector;

use crate::Ssd;

impl<S: Sector> Ssd<S> {
    /// Lays out the flash of a new drive as a long run of random writes would leave it, and makes the FTL mount it.
    /// Time is switched off and is set back to `before` at the end. Returns false, and changes nothing, if so many
    /// blocks are bad that the units have no room.
    ///
    /// # Panics
    ///
    /// If the FTL has no such model, the drive is not new, or the mount does not find every unit.
    pub(super) fn lay_out_steady(&mut self, before: Time) -> bool {
        let mut rng = self.precondition_stream();
        let (units, planted) = (self.ftl.units(), self.resolved.planted);
        let history = &mut self.history;
        let has_room =
            self.resolved.family.lay_out_steady(self.backend.media_mut(), &mut rng, planted, &mut |batch, version| {
                if let Some(history) = history {
                    history.note(units, batch, version);
                }
            });
        if !has_room {
            return false;
        }
        self.restart(before, &mut |_| ());
        self.set_timed(false);
        let found = self.ftl.power_cycle().map_or(0, |ftl| ftl.found());
        assert_eq!(found, units, "mapping units found in a steady state that holds all of them");
        true
    }

    /// The units of a window: a fortieth of the drive, and at least four superblocks for each pool, so that collection
    /// no longer depends on the layout; at most a tenth, as for [`Precondition::Steady`](crate::Precondition::Steady).
    ///
    /// A window is a whole number of superblocks for each pool. All pools open their superblocks together after a
    /// mount, and each collects once per superblock of the host. So windows of 15 and 16 collections would never agree.
    pub(super) fn settling_window(&self) -> u64 {
        let geometry = &self.resolved.geometry;
        let units = u64::from(self.ftl.units());
        let pools = u64::from(geometry.die_count() * geometry.groups());
        let round = pools * u64::from(geometry.superblock_slots());
        let most = (units / 10).max(1);
        let rounds = (units / 40).div_ceil(round).max(4).min(most / round);
        if rounds == 0 { most } else { rounds * round }
    }
}
