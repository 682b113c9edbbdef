//! The power of a served drive: cut, switched off in order, and back.

use base::units::{Bytes, Span, Time};
use ssd::Recovery;

use super::core::{AnsweredJob, Core, CutPolicy};
use super::refused::{CommandRefusal, WrongPower};
use crate::JobFailure;

/// The effects of a power cut on requests, flash operations and unflushed writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Requests of the drive that will never complete.
    pub torn: usize,
    /// Jobs that failed because of the cut.
    pub failed: usize,
    /// Jobs that wait until the power is back.
    pub held: usize,
    /// True if acknowledged writes were lost whose clients stay connected and get no failure.
    pub lost_writes: bool,
}

impl Core {
    /// True while the drive has power.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Cuts the power at the simulated time `now`, or at the drive's own time if that is later. Data that had not reached the flash
    /// is lost, and flash operations under way are torn.
    ///
    /// # Errors
    /// If the power is off.
    pub fn cut_power(&mut self, now: Time, answers: &mut Vec<AnsweredJob>) -> Result<Cut, WrongPower> {
        if !self.is_on {
            return Err(WrongPower::Off);
        }
        self.advance(now, answers);
        let torn = self.drive.cut_power().len();
        self.is_on = false;
        self.next.clear();
        if let Some(record) = &mut self.record {
            record.lost();
        }
        let at = self.drive.now();
        let open = self.jobs.drain();
        let mut cut = Cut { torn, failed: 0, held: 0, lost_writes: false };
        match self.on_cut {
            CutPolicy::Hold => {
                cut.held = open.len();
                cut.lost_writes = self.is_volatile && self.written > self.durable;
                self.lost_writes |= cut.lost_writes;
                self.held.extend(open.into_iter().map(|open| open.job));
            }
            CutPolicy::End => {
                cut.failed = open.len();
                for open in open {
                    let latency = at - open.arrival;
                    self.tally.ended(&open.job, at, latency, Some(JobFailure::NoPower));
                    answers.push(AnsweredJob::failed(at, latency, open.job.answer, JobFailure::NoPower));
                }
            }
        }
        self.durable = self.written;
        if let Some(verifier) = &mut self.verifier {
            verifier.power_cut();
        }
        self.tally.cuts += 1;
        Ok(cut)
    }

    /// Switches off in order: all requests complete, and the write buffer is written back. Answers come when they are due. Returns
    /// how long the power-off takes.
    ///
    /// # Errors
    /// If the power is off.
    pub fn power_off(&mut self, now: Time, answers: &mut Vec<AnsweredJob>) -> Result<Span, WrongPower> {
        if !self.is_on {
            return Err(WrongPower::Off);
        }
        self.advance(now, answers);
        let from = self.drive.now();
        // The rest of a write of zeros, and the flush behind a write, are requests of the drive that follow later.
        let mut late = Vec::new();
        while self.jobs.len() > 0 {
            let at = self.next_event().expect("a job under way has an event");
            self.advance(at, &mut late);
        }
        self.drive.power_off();
        if let Some(verifier) = &mut self.verifier {
            verifier.power_off();
        }
        self.is_on = false;
        self.later.extend(late);
        (self.durable, self.lost_writes) = (self.written, false);
        Ok(self.drive.now() - from)
    }

    /// Switches on at the simulated time `now`, or at the drive's own time if that is later: the FTL is rebuilt from the flash
    /// alone. Held jobs begin at once, and wait with the others until recovery is over.
    ///
    /// # Errors
    /// If the power is on.
    pub fn power_on(&mut self, now: Time, answers: &mut Vec<AnsweredJob>) -> Result<Recovery, WrongPower> {
        if self.is_on {
            return Err(WrongPower::On);
        }
        answers.extend(self.later.drain(..));
        let at = now.max(self.drive.now());
        let recovery = self.drive.power_on(at);
        self.is_on = true;
        self.tally.recovery = Some(recovery);
        self.tally.power_ons += 1;
        self.check_pointers();
        for job in std::mem::take(&mut self.held) {
            self.begin(at, job, answers);
        }
        std::mem::take(&mut self.asked).into_iter().for_each(|query| self.allocation(query));
        std::mem::take(&mut self.asked_zones).into_iter().for_each(|query| self.zones(query));
        Ok(recovery)
    }

    /// Selects an operational power state of each drive, until the power goes. Returns the time for which the drive takes no
    /// request.
    pub(super) fn select_power_state(&mut self, state: u32) -> Result<Span, CommandRefusal> {
        if !self.is_on {
            return Err(WrongPower::Off.into());
        }
        let power = &self.drive.description().spec.power;
        let states = power.as_ref().map_or(0, |power| power.operational.len() as u32);
        let each = self.drive.drives_mut().iter_mut().map(|drive| drive.select_power_state(state));
        // All drives have the same states.
        each.flatten().max().ok_or(CommandRefusal::NoSuchPowerState { state, states })
    }

    /// Lets the host give this much memory to each drive, also after the power has gone; 0 takes the memory back. Returns the part
    /// that the drives use, and the time after which they stop reading the memory that they had before.
    pub(super) fn set_host_memory(&mut self, size: Bytes) -> Result<(Bytes, Span), CommandRefusal> {
        if !self.is_on {
            return Err(WrongPower::Off.into());
        }
        let now = self.drive.now();
        let each = self.drive.drives_mut().iter_mut().map(|drive| drive.set_host_memory(now, size));
        let until = each.flatten().max().ok_or(CommandRefusal::NoHostMemory)?;
        let used = self.drive.drives().iter().filter_map(|drive| drive.host_memory_used()).map(Bytes::get).sum();
        Ok((Bytes::new(used), until - now))
    }

    /// Recovers a drive over used flash as after a power cut. Called before the first job.
    ///
    /// # Panics
    /// If there are several drives: no directory keeps the files of several drives.
    pub fn recover(&mut self) -> Recovery {
        let [drive] = self.drive.drives_mut() else { panic!("a RAID over used flash") };
        let recovery = drive.start_with_recovery();
        self.tally.recovery = Some(recovery);
        recovery
    }

    /// Cuts the power for good and fails every job, held jobs too, because the files of the flash have failed.
    pub fn fail(&mut self, answers: &mut Vec<AnsweredJob>) {
        self.on_cut = CutPolicy::End;
        // The power may be off already.
        let _ = self.cut_power(self.drive.now(), answers);
        // The verifier may know requests that the files do not hold.
        if let Some(verifier) = &mut self.verifier {
            verifier.abandon();
        }
        self.end(answers);
    }

    /// Answers every job that waits for time or for the power, because the drive will not be served any more.
    pub fn end(&mut self, answers: &mut Vec<AnsweredJob>) {
        answers.extend(self.later.drain(..));
        let (due, latency) = (self.drive.now(), Span::ZERO);
        let held = std::mem::take(&mut self.held).into_iter().map(|job| job.answer);
        answers.extend(held.map(|answer| AnsweredJob::failed(due, latency, answer, JobFailure::NoPower)));
        self.asked.drain(..).for_each(|query| (query.answer)(Err(JobFailure::NoPower)));
        self.asked_zones.drain(..).for_each(|query| (query.answer)(Err(JobFailure::NoPower)));
        if let Some(record) = &mut self.record {
            record.lost();
            record.pass_on();
        }
    }
}
