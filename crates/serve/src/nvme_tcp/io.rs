//! I/O commands as jobs of the drive.
//!
//! | command | jobs |
//! | --- | --- |
//! | Read, Compare | one read; with forced unit access and a volatile buffer, a flush before |
//! | Verify | reads of up to 1 MiB, one after the other |
//! | Write, Zone Append | one job; a flush behind it if the host has switched the write cache off |
//! | Write Zeroes | one job, which discards where discards are as good as zeros |
//! | Dataset Management | one discard for each range |
//! | Copy | one read for each range, then one write |
//! | Zone Management Send, I/O Management Send | one job |
//! | Zone Management Receive, I/O Management Receive | questions to the engine |

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::io::PlacementId;
use base::units::{Lba, Sectors};
use nvme::{
    BlockRange, Directive, HandleStatus, IoCommand, IoRequest, Response, Status, ZoneAttributes, ZoneDescriptor,
    ZoneReport, ZoneSelection, handle_status, zone_report,
};
use ssd::{QueueId, ResolvedDevice, ZoneAction, ZoneState};
use tokio::sync::oneshot;

use super::failure::{status, status_of_write};
use super::reply::CommandGuard;
use super::values::DriveValues;
use crate::engine::{Command, Engine, Reply};
use crate::server::intake::Intake;
use crate::{Disk, Job, JobFailure, JobResult, Operation, ZoneQuery};

/// Sectors that Verify reads at once: 1 MiB.
const VERIFIED: u64 = 2048;

/// A namespace and the drive behind it.
#[derive(Clone)]
pub(super) struct NamespaceTarget {
    pub(super) engine: Engine,
    pub(super) resolved: Arc<ResolvedDevice>,
    pub(super) id: u32,
    /// The index of the drive in the intakes of connections.
    pub(super) place: usize,
    pub(super) blocks: u64,
    /// Binary logarithm of the sectors of a block.
    pub(super) shift: u8,
    /// Blocks of a mapping unit; at least one.
    pub(super) unit: u64,
    pub(super) zones: Option<nvme::Zones>,
    pub(super) reclaim_unit: u64,
    /// True if the drive has a volatile buffer.
    pub(super) is_volatile: bool,
    /// True if a host has switched the volatile write caches off: every write is then durable before its response.
    pub(super) writes_through: Arc<AtomicBool>,
}

/// The fields of a job in addition to its operation and its extent.
#[derive(Clone, Copy)]
struct Route {
    queue: QueueId,
    placement: PlacementId,
}

const fn placement(directive: Directive) -> PlacementId {
    match directive {
        Directive::None => PlacementId::new(0),
        // With Flexible Data Placement the drive itself redirects a write with an invalid identifier to handle 0 and logs the
        // event.
        Directive::Stream(number)
        | Directive::Placement { identifier: number, .. }
        | Directive::InvalidPlacement(number) => PlacementId::new(number),
    }
}

impl NamespaceTarget {
    const fn lba(&self, block: u64) -> Lba {
        Lba::new(block << self.shift)
    }

    const fn sectors(&self, blocks: u64) -> Sectors {
        Sectors::new(blocks << self.shift)
    }

    /// Bytes of memory that a command takes until the host has its response.
    pub(super) fn memory(&self, request: &IoRequest) -> u32 {
        let bytes = |blocks: u64| self.sectors(blocks).bytes().get() as u32;
        match &request.command {
            IoCommand::Read { range, .. } => bytes(range.count),
            IoCommand::Verify(range) => bytes(range.count.min(self.verified_at_once())),
            IoCommand::Write { range, .. } => bytes(range.count),
            // Compare holds the data that it reads, in addition to the data of the host.
            IoCommand::Compare { range, .. } => 2 * bytes(range.count),
            IoCommand::Append { blocks, .. } => bytes(*blocks),
            IoCommand::Copy { ranges, .. } => bytes(ranges.iter().map(|range| range.count).sum()),
            IoCommand::ZoneReport(ZoneReport { length, .. }) | IoCommand::HandleStatus { length } => *length as u32,
            _ => 0,
        }
    }

    /// The blocks that Verify reads at once: a command may name more blocks than fit into memory.
    fn verified_at_once(&self) -> u64 {
        (VERIFIED >> self.shift).max(1)
    }

    /// The drive's submission queue for an I/O queue of a controller: queue 1 uses the first; behind the last the count begins
    /// anew.
    fn queue(&self, queue: u16) -> QueueId {
        let number = usize::from(queue.saturating_sub(1)) % self.engine.queues();
        QueueId::new(number as u16)
    }

    /// Carries out an operation on the whole drive.
    async fn ask_drive(&self, operation: Operation, queue: QueueId) -> Result<(), JobFailure> {
        let count = if operation.is_bare() { 0 } else { self.blocks };
        let route = Route { queue, placement: PlacementId::default() };
        self.ask(operation, BlockRange { start: 0, count }, route).await.map(drop)
    }

    /// Makes all written data durable.
    pub(super) async fn flush(&self, queue: u16) -> Result<(), JobFailure> {
        self.ask_drive(Operation::Flush, self.queue(queue)).await
    }

    /// Deallocates all blocks: discards them, or resets all zones.
    pub(super) async fn format(&self) -> Result<(), JobFailure> {
        let deallocate = match self.zones {
            Some(_) => Operation::ManageZones(ZoneAction::Reset),
            None => Operation::Discard,
        };
        self.ask_drive(deallocate, QueueId::default()).await?;
        self.ask_drive(Operation::Flush, QueueId::default()).await
    }

    /// Enters a power state. A drive that describes no power states is in state 0. False if the state does not exist.
    pub(super) async fn set_power_state(&self, state: u8) -> bool {
        if self.resolved.spec.power.as_ref().is_none_or(|power| power.operational.is_empty()) {
            return state == 0;
        }
        let (to, reply) = oneshot::channel();
        let take = move |reply: Result<Reply, _>| _ = to.send(reply.is_ok());
        self.engine.command_then(Command::PowerState(state.into()), Box::new(take));
        reply.await == Ok(true)
    }

    /// The drive's values now; `None` if the drive is not served any more.
    pub(super) async fn observe(&self) -> Option<DriveValues> {
        let (to, seen) = oneshot::channel();
        let (resolved, namespace) = (Arc::clone(&self.resolved), (self.id, self.blocks));
        self.engine.observe_then(true, move |seen| drop(to.send(DriveValues::of(&seen, &resolved, namespace))));
        seen.await.ok()
    }

    fn is_fua(&self, fua: bool) -> bool {
        fua || self.writes_through.load(Ordering::Relaxed)
    }

    fn job(
        &self,
        operation: Operation,
        range: BlockRange,
        route: Route,
        answer: impl FnOnce(Result<JobResult, JobFailure>) + Send + 'static,
    ) -> Job {
        let sectors = if operation.is_bare() { Sectors::new(0) } else { self.sectors(range.count) };
        let Route { queue, placement } = route;
        Job { queue, placement, operation, start: self.lba(range.start), sectors, answer: Box::new(answer) }
    }

    /// Carries out a job, and waits for its result.
    async fn ask(&self, operation: Operation, range: BlockRange, route: Route) -> Result<JobResult, JobFailure> {
        let (to, result) = oneshot::channel();
        self.engine.submit(self.job(operation, range, route, move |result| drop(to.send(result))));
        // The answer of a job is dropped if its drive was lost.
        result.await.unwrap_or(Err(JobFailure::NoPower))
    }

    /// Begins a command of a queue. Commands that are one job each go to `intake`.
    pub(super) fn begin(&self, request: IoRequest, queue: u16, pending: CommandGuard, intake: &mut Intake<'_>) {
        let (queue, IoRequest { command, data, .. }) = (self.queue(queue), request);
        let plain = Route { queue, placement: PlacementId::default() };
        let nothing = BlockRange { start: 0, count: 0 };
        let done = |_| Response::success();
        match command {
            IoCommand::Flush => {
                let answer = move |result: Result<JobResult, _>| pending.answer(result.map(done));
                intake.push(self.place, self.job(Operation::Flush, nothing, plain, answer));
            }
            IoCommand::Read { range, fua: false } => {
                let answer = move |result: Result<JobResult, _>| pending.answer(result.map(data_of));
                intake.push(self.place, self.job(Operation::Read, range, plain, answer));
            }
            IoCommand::Read { range, fua: true } => self.spawn(pending, move |target| async move {
                target.settled_read(range, plain).await.map(data_of).map_err(status)
            }),
            IoCommand::Verify(range) => self.verify(range, plain, pending),
            IoCommand::Compare { range, fua } => self.compare((range, fua, data), plain, pending),
            IoCommand::Write { range, fua, directive } => {
                let operation = Operation::Write { data, fua: self.is_fua(fua) };
                let route = Route { queue, placement: placement(directive) };
                let answer = move |result: Result<JobResult, _>| pending.answer_with(result.map(done), status_of_write);
                intake.push(self.place, self.job(operation, range, route, answer));
            }
            IoCommand::Append { zone, blocks, fua, .. } => {
                let (operation, shift) = (Operation::Append { data, fua: self.is_fua(fua) }, self.shift);
                let answer = move |result: Result<JobResult, _>| {
                    let at = |returned: JobResult| returned.address.map_or(0, |address| address.get() >> shift);
                    pending.answer_with(result.map(|returned| Response::result(at(returned))), status_of_write);
                };
                intake.push(self.place, self.job(operation, BlockRange { start: zone, count: blocks }, plain, answer));
            }
            IoCommand::WriteZeroes { range, fua, .. } => {
                let operation = Operation::WriteZeroes { fua: self.is_fua(fua) };
                let answer = move |result: Result<JobResult, _>| pending.answer_with(result.map(done), status_of_write);
                intake.push(self.place, self.job(operation, range, plain, answer));
            }
            IoCommand::Deallocate(ranges) => self.deallocate(ranges, plain, pending),
            IoCommand::Copy { ranges, to, fua, directive } => {
                let route = Route { queue, placement: placement(directive) };
                self.copy((ranges, to, fua), plain, route, pending);
            }
            IoCommand::ZoneManagement { action, zones } => match zone_action(action) {
                Some(action) => {
                    let (operation, start) = match zones {
                        ZoneSelection::One(block) => (Operation::ManageZone(action), block),
                        ZoneSelection::All => (Operation::ManageZones(action), 0),
                    };
                    let answer = move |result: Result<JobResult, _>| pending.answer(result.map(done));
                    intake.push(self.place, self.job(operation, BlockRange { start, count: 0 }, plain, answer));
                }
                None => self.set_offline(zones, pending),
            },
            IoCommand::ZoneReport(report) => self.report_zones(report, pending),
            IoCommand::HandleStatus { length } => self.handle_status(length, pending),
            IoCommand::HandleUpdate(identifiers) => {
                let operation = Operation::UpdateHandles(identifiers.into_iter().map(PlacementId::new).collect());
                let answer = move |result: Result<JobResult, _>| pending.answer(result.map(done));
                intake.push(self.place, self.job(operation, nothing, plain, answer));
            }
            // The subsystem does not announce Write Uncorrectable.
            IoCommand::WriteUncorrectable(_) => {
                pending.complete(Response::status(Status::INVALID_OPCODE.do_not_retry()));
            }
        }
    }

    fn verify(&self, range: BlockRange, route: Route, pending: CommandGuard) {
        self.spawn(pending, move |target| async move {
            let mut start = range.start;
            while start < range.end() {
                let count = target.verified_at_once().min(range.end() - start);
                target.ask(Operation::Read, BlockRange { start, count }, route).await.map_err(status)?;
                start += count;
            }
            Ok(Response::success())
        });
    }

    fn compare(&self, (range, fua, data): (BlockRange, bool, Vec<u8>), route: Route, pending: CommandGuard) {
        self.spawn(pending, move |target| async move {
            let found = match fua {
                true => target.settled_read(range, route).await,
                false => target.ask(Operation::Read, range, route).await,
            };
            match found.map_err(status)?.data == data {
                true => Ok(Response::success()),
                false => Err(Status::COMPARE_FAILURE.do_not_retry()),
            }
        });
    }

    /// Reads the ranges on one route, and writes their data from the block `to` on by another one.
    fn copy(
        &self,
        (ranges, to, fua): (Vec<BlockRange>, u64, bool),
        read_route: Route,
        write_route: Route,
        pending: CommandGuard,
    ) {
        self.spawn(pending, move |target| async move {
            let mut data = Vec::new();
            for range in ranges {
                data.extend(target.ask(Operation::Read, range, read_route).await.map_err(status)?.data);
            }
            let range = BlockRange { start: to, count: data.len() as u64 / target.sectors(1).bytes().get() };
            let operation = Operation::Write { data, fua: target.is_fua(fua) };
            let written = target.ask(operation, range, write_route).await;
            written.map(|_| Response::success()).map_err(status_of_write)
        });
    }

    fn report_zones(&self, report: ZoneReport, pending: CommandGuard) {
        let target = self.clone();
        let from = self.lba(report.from);
        let answer = move |zones: Result<Vec<_>, _>| {
            pending.answer(zones.map(|zones| Response::data(target.report(&report, &zones))));
        };
        self.engine.zones(ZoneQuery { from, answer: Box::new(answer) });
    }

    fn handle_status(&self, length: usize, pending: CommandGuard) {
        let target = self.clone();
        self.engine.observe_then(false, move |seen| {
            let handles = seen.counters.fdp.map_or_else(Vec::new, |fdp| fdp.handles);
            let handles = (0..).zip(&handles).map(|(number, handle)| HandleStatus {
                identifier: number,
                handle: number,
                // A handle without an open reclaim unit opens an empty one at its first write.
                remaining_blocks: match handle.available_units * target.unit {
                    0 => target.reclaim_unit,
                    blocks => blocks,
                },
                remaining_seconds: 0,
            });
            pending.complete(Response::data(handle_status(&handles.collect::<Vec<_>>(), length)));
        });
    }

    /// Carries out a command of several jobs.
    fn spawn<F: Future<Output = Result<Response, Status>> + Send>(
        &self,
        pending: CommandGuard,
        command: impl FnOnce(Self) -> F + Send + 'static,
    ) {
        let target = self.clone();
        tokio::spawn(async move {
            match command(target).await {
                Ok(response) => pending.complete(response),
                Err(status) if status.bare() == Status::POWER_LOSS => pending.answer(Err(JobFailure::NoPower)),
                Err(status) => pending.complete(Response::status(status)),
            }
        });
    }

    /// Reads from the media: data in a volatile buffer are made durable before.
    async fn settled_read(&self, range: BlockRange, route: Route) -> Result<JobResult, JobFailure> {
        if self.is_volatile {
            self.ask(Operation::Flush, BlockRange { start: 0, count: 0 }, route).await?;
        }
        self.ask(Operation::Read, range, route).await
    }

    /// Discards all ranges at a time. The first failure is the status of the command.
    fn deallocate(&self, ranges: Vec<BlockRange>, route: Route, pending: CommandGuard) {
        self.spawn(pending, move |target| async move {
            let mut results = Vec::new();
            for range in ranges {
                let (to, result) = oneshot::channel();
                let job = target.job(Operation::Discard, range, route, move |result| drop(to.send(result)));
                target.engine.submit(job);
                results.push(result);
            }
            let mut ended = Ok(Response::success());
            for result in results {
                let result = result.await.unwrap_or(Err(JobFailure::NoPower));
                ended = ended.and(result.map(|_| Response::success()).map_err(status));
            }
            ended
        });
    }

    /// Answers Offline Zone, which only applies to read-only zones: the drive has no such command for them.
    fn set_offline(&self, zones: ZoneSelection, pending: CommandGuard) {
        let refused = Status::INVALID_ZONE_STATE_TRANSITION.do_not_retry();
        if zones != ZoneSelection::All {
            return pending.complete(Response::status(refused));
        }
        let answer = move |zones: Result<Vec<ssd::ZoneReport>, _>| {
            let has_any = |zones: Vec<ssd::ZoneReport>| zones.iter().any(|zone| zone.state == ZoneState::ReadOnly);
            pending.answer(zones.map(|zones| match has_any(zones) {
                true => Response::status(refused),
                false => Response::success(),
            }));
        };
        self.engine.zones(ZoneQuery { from: Lba::new(0), answer: Box::new(answer) });
    }

    /// The data of a zone report, whose first zone is `zones[0]`.
    fn report(&self, report: &ZoneReport, zones: &[ssd::ZoneReport]) -> Vec<u8> {
        let shape = self.zones.expect("only namespaces with zones have reports");
        let first = report.from / shape.size;
        zone_report(
            report,
            (first..).zip(zones).map(|(number, zone)| ZoneDescriptor {
                state: zone_state(zone.state),
                attributes: ZoneAttributes::default(),
                start: number * shape.size,
                capacity: shape.capacity,
                write_pointer: u64::from(zone.write_pointer.get()) * self.unit,
            }),
        )
    }
}

fn data_of(returned: JobResult) -> Response {
    Response::data(returned.data)
}

/// The drive's action for an action of NVMe; `None` for Offline Zone, which the drive does not have.
const fn zone_action(action: nvme::ZoneAction) -> Option<ZoneAction> {
    Some(match action {
        nvme::ZoneAction::Close => ZoneAction::Close,
        nvme::ZoneAction::Finish => ZoneAction::Finish,
        nvme::ZoneAction::Open { random_write_area: false } => ZoneAction::Open,
        nvme::ZoneAction::Open { random_write_area: true } => ZoneAction::OpenZrwa,
        nvme::ZoneAction::Reset => ZoneAction::Reset,
        nvme::ZoneAction::FlushRandomWriteArea => ZoneAction::FlushZrwa,
        nvme::ZoneAction::Offline => return None,
    })
}

const fn zone_state(state: ZoneState) -> nvme::ZoneState {
    match state {
        ZoneState::Empty => nvme::ZoneState::Empty,
        ZoneState::ImplicitlyOpen => nvme::ZoneState::ImplicitlyOpened,
        ZoneState::ExplicitlyOpen => nvme::ZoneState::ExplicitlyOpened,
        ZoneState::Closed => nvme::ZoneState::Closed,
        ZoneState::Full => nvme::ZoneState::Full,
        ZoneState::ReadOnly => nvme::ZoneState::ReadOnly,
        ZoneState::Offline => nvme::ZoneState::Offline,
    }
}
