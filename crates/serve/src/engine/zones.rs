//! Zones of a served drive: their states, and actions on all of them.

use base::io::Io;
use base::units::{Lba, Sectors};
use ssd::{ZoneAction, ZoneReport, ZoneState};
use verify::{ClientCommand, ZoneSectors};

use super::core::{AnsweredJob, Core, CutPolicy};
use super::jobs::kind_of;
use crate::{JobFailure, ZoneQuery};

/// True if an action on all zones concerns a zone in this state (ZNS 1.1, section 3.4.3.1, Select All).
const fn concerns(action: ZoneAction, state: ZoneState) -> bool {
    match action {
        ZoneAction::Open => matches!(state, ZoneState::Closed),
        ZoneAction::Close => state.is_open(),
        ZoneAction::Finish => state.is_active(),
        ZoneAction::Reset => state.is_active() || matches!(state, ZoneState::Full),
        _ => false,
    }
}

impl Core {
    /// Answers a zone query at the present time of the drive, which does not advance.
    pub fn zones(&mut self, query: ZoneQuery) {
        match (self.is_on, self.on_cut) {
            (true, _) => {
                self.check_pointers();
                (query.answer)(self.reports(query.from));
            }
            (false, CutPolicy::End) => (query.answer)(Err(JobFailure::NoPower)),
            (false, CutPolicy::Hold) => self.asked_zones.push(query),
        }
    }

    /// The reports of the zone of a sector and of all zones behind it.
    fn reports(&self, from: Lba) -> Result<Vec<ZoneReport>, JobFailure> {
        let description = self.drive.description();
        let Some(shape) = description.zones else { return Err(JobFailure::Drive(ssd::Status::InvalidOpcode)) };
        let size = u64::from(shape.size) * u64::from(description.geometry.sectors);
        let first = from.get() / size;
        if first >= u64::from(shape.zones) {
            return Err(JobFailure::Drive(ssd::Status::OutOfRange));
        }
        let drive = &self.drive.drives()[0];
        let report = |zone| drive.zone_report(Lba::new(zone * size)).expect("a drive with zones reports them");
        Ok((first..u64::from(shape.zones)).map(report).collect())
    }

    /// The shape of the zones for the verifier; none for a drive without zones.
    pub(super) fn zone_sectors(&self) -> Option<ZoneSectors> {
        // A layer above a drive with zones has no zones itself.
        let is_alone = self.drive.translation().is_none() && self.drive.raid().is_none();
        let description = self.drive.description();
        let shape = description.zones.filter(|_| is_alone)?;
        let sectors = |units: u32| u64::from(units) * u64::from(description.geometry.sectors);
        let area = sectors(shape.zrwa.map_or(0, |zrwa| zrwa.size));
        Some(ZoneSectors { size: sectors(shape.size), capacity: sectors(shape.capacity), unit: sectors(1), area })
    }

    /// Lets the verifier compare the write pointers that the drive reports now with the durable data.
    pub(super) fn check_pointers(&mut self) {
        let Some(ZoneSectors { size, unit, .. }) = self.zone_sectors().filter(|_| self.verifier.is_some()) else {
            return;
        };
        let (at, reports) = (self.now(), self.reports(Lba::new(0)).unwrap_or_default());
        let Some(verifier) = &mut self.verifier else { return };
        for (number, report) in (0..).zip(reports) {
            let pointer = Lba::new(u64::from(report.write_pointer.get()) * unit);
            verifier.check_pointer(at, Lba::new(number * size), report.state, pointer);
        }
    }

    /// Begins an action on every zone that it concerns now.
    pub(super) fn manage_zones(&mut self, place: u32, action: ZoneAction, answers: &mut Vec<AnsweredJob>) {
        let reports = match self.reports(Lba::new(0)) {
            Ok(reports) => reports,
            Err(failed) => {
                self.jobs.at(place).failed = Some(failed);
                Vec::new()
            }
        };
        let description = self.drive.description();
        let size = description.zones.map_or(0, |shape| shape.size) * description.geometry.sectors;
        let mut is_idle = true;
        for (number, report) in reports.iter().enumerate() {
            if concerns(action, report.state) {
                let start = Lba::new(number as u64 * u64::from(size));
                let now = self.now();
                if let Some(verifier) = &mut self.verifier {
                    let sector = start.get();
                    let ticket = verifier.begin(now, ClientCommand::Zone(action), sector..sector, &[]);
                    self.jobs.at(place).zone_tickets.push((start, ticket));
                }
                self.request(place, Io::new(kind_of(action), start, Sectors::new(0)), Vec::new());
                is_idle = false;
            }
        }
        if is_idle {
            let now = self.now();
            answers.push(self.finish(place, now));
        }
    }
}
