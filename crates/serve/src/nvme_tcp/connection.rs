//! One TCP connection, which is one queue: commands in, responses out, in any order.
//!
//! Two futures of one task share the session: one reads and begins commands, the other ends commands and writes. No lock is held
//! while either of them waits.

use std::fmt;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nvme::{DriveCommand, End, Response, Session, SessionRequest, Status};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, timeout, timeout_at};

use super::reply::{CommandGuard, Message};
use super::shared::SharedState;
use super::values::Values;
use crate::Disk;
use crate::server::Limits;
use crate::server::intake::{AdmissionPermit, Intake};
use crate::server::pieces::{First, Input, write_all};
use crate::server::race;

/// The most bytes of output that are written together.
const BATCH: usize = 256 << 10;

/// The reason for which a connection of NVMe/TCP ended.
#[derive(Debug)]
pub enum DisconnectReason {
    /// The host ended the connection or broke a rule, or its controller has ended.
    Session(End),
    /// The host closed the connection without a shutdown.
    Gone,
    /// The host connected no queue in time.
    Handshake,
    /// The host took no byte of a response for too long.
    Stalled,
    /// The host sent no byte of a PDU that it had begun, or of data that were requested, for too long.
    Unfinished,
    /// The drive has no power.
    NoPower,
    /// The server was stopped.
    Stopped,
    /// The operating system reported an error.
    Failed(io::Error),
}

impl fmt::Display for DisconnectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(end) => end.fmt(f),
            Self::Gone => f.write_str("the host has gone"),
            Self::Handshake => f.write_str("the host connected no queue in time"),
            Self::Stalled => f.write_str("the host does not read its responses"),
            Self::Unfinished => f.write_str("the host began a PDU and did not send the rest"),
            Self::NoPower => f.write_str("the drive has no power"),
            Self::Stopped => f.write_str("the server was stopped"),
            Self::Failed(error) => write!(f, "the connection failed: {error}"),
        }
    }
}

impl From<io::Error> for DisconnectReason {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, TimedOut, UnexpectedEof};
        match error.kind() {
            TimedOut => Self::Stalled,
            BrokenPipe | ConnectionReset | UnexpectedEof => Self::Gone,
            _ => Self::Failed(error),
        }
    }
}

fn locked(session: &Mutex<Session>) -> MutexGuard<'_, Session> {
    // A panic ends the task, and the session with it, so a poisoned lock does no harm.
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves a host until the host or the server ends the connection.
pub(super) async fn serve(mut stream: TcpStream, shared: Arc<SharedState>) -> DisconnectReason {
    let session = Mutex::new(Session::new(&shared.subsystem()));
    let ended = {
        let (reader, writer) = stream.split();
        transmit(&session, reader, writer, &shared).await
    };
    let session = session.into_inner().unwrap_or_else(PoisonError::into_inner);
    session.close(&mut shared.subsystem());
    shared.note_change();
    ended
}

/// Reads commands and writes responses, until reading or writing ends.
async fn transmit(
    session: &Mutex<Session>,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
    shared: &Arc<SharedState>,
) -> DisconnectReason {
    let (sender, messages) = unbounded_channel();
    let watching = watch_changes(sender.clone(), shared);
    let mut writing = pin!(write_output(session, writer, messages, shared));
    let reading = Commands::new(session, sender, shared).read(reader);
    let interrupted = race(shared.without_power(), shared.stopped());
    let reading = race(race(reading, watching), interrupted);
    let read = match race(reading, writing.as_mut()).await {
        First::Left(First::Left(First::Left(read))) => read,
        First::Left(First::Left(First::Right(never))) => match never {},
        // Without power no response is sent any more.
        First::Left(First::Right(First::Left(()))) => return DisconnectReason::NoPower,
        // Outstanding commands are answered. The last answer closes the channel, and that ends the writing.
        First::Left(First::Right(First::Right(()))) => DisconnectReason::Stopped,
        First::Right(written) => return written.err().unwrap_or(DisconnectReason::Gone),
    };
    match (&read, race(writing, shared.without_power()).await) {
        (_, First::Right(())) => DisconnectReason::NoPower,
        (DisconnectReason::Session(_), _) | (_, First::Left(Ok(()))) => read,
        (_, First::Left(Err(ended))) => ended,
    }
}

/// Sends a message to the writer whenever the subsystem has changed.
async fn watch_changes(messages: UnboundedSender<Message>, shared: &SharedState) -> std::convert::Infallible {
    let mut changes = shared.changes();
    loop {
        if changes.changed().await.is_err() {
            // The server is gone and ends all connections, so this future waits.
            std::future::pending::<()>().await;
        }
        let _ = messages.send(Message::Changed);
    }
}

struct Commands<'a> {
    session: &'a Mutex<Session>,
    messages: UnboundedSender<Message>,
    shared: &'a Arc<SharedState>,
    intake: Intake<'a>,
    /// The controller and the number of the queue; none before Connect.
    queue: Option<(u16, u16)>,
    /// The drives' values at the time at which bytes of an admin queue last arrived.
    values: Values,
    /// The time at which bytes last arrived.
    now: Duration,
}

impl<'a> Commands<'a> {
    fn new(session: &'a Mutex<Session>, messages: UnboundedSender<Message>, shared: &'a Arc<SharedState>) -> Self {
        let limits = &shared.limits;
        let room = Limits { requests: limits.queue_entries.into(), bytes: limits.bytes, ..Limits::default() };
        let intake = Intake::new(shared.targets.iter().map(|target| &target.engine as &dyn Disk), &room);
        Self { session, messages, shared, intake, queue: None, values: Values::default(), now: shared.now() }
    }

    /// Passes commands to the drives until the connection ends.
    async fn read(mut self, mut reader: impl AsyncRead + Unpin) -> DisconnectReason {
        let (limits, until) = (self.shared.limits, Instant::now() + self.shared.limits.handshake);
        let mut input = Input::new();
        loop {
            let (taken, request, has_output, is_incomplete) = self.receive(input.waiting());
            input.take(taken);
            if has_output {
                let admitted = self.intake.admit(0).await;
                // The send fails only if the writing has failed, which ends the connection.
                let _ = self.messages.send(Message::Output(admitted));
            }
            match request {
                None if taken > 0 => {}
                None => {
                    self.intake.submit();
                    let is_within = is_incomplete || !input.waiting().is_empty();
                    let filled = match (self.queue, is_within) {
                        (None, _) => match timeout_at(until, input.fill(&mut reader)).await {
                            Ok(filled) => filled,
                            Err(_) => return DisconnectReason::Handshake,
                        },
                        (Some(_), true) => match timeout(limits.stall, input.fill(&mut reader)).await {
                            Ok(filled) => filled,
                            Err(_) => return DisconnectReason::Unfinished,
                        },
                        // Between commands a host may be silent; the keep alive timeout of its controller limits that.
                        (Some(_), false) => input.fill(&mut reader).await,
                    };
                    match filled {
                        Ok(true) => self.now = self.shared.now(),
                        Ok(false) => return DisconnectReason::Gone,
                        Err(error) => return error.into(),
                    }
                    if matches!(self.queue, Some((_, 0))) {
                        match self.shared.observe().await {
                            Some(values) => self.values = values,
                            None => return DisconnectReason::NoPower,
                        }
                    }
                }
                Some(SessionRequest::End(end)) => {
                    let _ = self.messages.send(Message::Last);
                    self.intake.submit();
                    return DisconnectReason::Session(end);
                }
                Some(request) => self.begin(request).await,
            }
        }
    }

    /// Takes bytes from the front of `input`. Returns the number of bytes taken, the request that they complete, whether the
    /// session has output, and whether the host owes bytes.
    fn receive(&self, input: &[u8]) -> (usize, Option<SessionRequest>, bool, bool) {
        let mut subsystem = self.shared.subsystem();
        let mut session = locked(self.session);
        let (taken, request) = session.receive(input, &mut subsystem, &self.values, self.now);
        drop(subsystem);
        if taken > 0 && matches!(self.queue, Some((_, 0))) {
            self.shared.note_change();
        }
        let is_incomplete = taken == 0 && session.connection().is_incomplete();
        (taken, request, !session.output().is_empty(), is_incomplete)
    }

    async fn begin(&mut self, request: SessionRequest) {
        let shared = self.shared;
        match request {
            SessionRequest::Io(request) => {
                let target = request.namespace.map(|namespace| shared.target(namespace));
                let admitted = self.intake.admit(target.map_or(0, |target| target.memory(&request))).await;
                let pending =
                    CommandGuard::new(self.messages.clone(), request.command_id, admitted, shared.ends_with_power());
                let queue = self.queue.map_or(1, |(_, queue)| queue);
                match target {
                    Some(target) => target.begin(request, queue, pending, &mut self.intake),
                    // The only command without a namespace is a Flush of all.
                    None => {
                        self.intake.submit();
                        let shared = Arc::clone(shared);
                        let flush = async move {
                            pending.answer(shared.flush(queue).await.map(|()| Response::success()));
                        };
                        tokio::spawn(flush);
                    }
                }
            }
            SessionRequest::Drive { command_id, command } => {
                let admitted = self.intake.admit(0).await;
                self.intake.submit();
                let pending = CommandGuard::new(self.messages.clone(), command_id, admitted, shared.ends_with_power());
                let controller = self.queue.map_or(0, |(controller, _)| controller);
                tokio::spawn(administrate(Arc::clone(shared), controller, command, pending));
            }
            SessionRequest::Connected { controller, queue } => {
                self.queue = Some((controller, queue));
                if queue == 0 {
                    shared.set_write_cache(controller, true);
                }
                shared.note_change();
            }
            SessionRequest::Shutdown { controller } => {
                self.intake.submit();
                let (messages, shared) = (self.messages.clone(), Arc::clone(shared));
                let shutdown = async move {
                    // After a failed flush the shutdown does not complete, because the host's data are not safe.
                    if shared.flush(0).await.is_ok() {
                        let _ = messages.send(Message::ShutDown { controller });
                    }
                };
                tokio::spawn(shutdown);
            }
            SessionRequest::End(_) => unreachable!("the caller ends the connection"),
        }
    }
}

/// Carries out an admin command for the drives.
async fn administrate(shared: Arc<SharedState>, controller: u16, command: DriveCommand, pending: CommandGuard) {
    let result = match command {
        DriveCommand::Format(namespaces) => shared.format(&namespaces).await.map(|()| Response::success()),
        DriveCommand::WriteCache(enabled) => {
            shared.set_write_cache(controller, enabled);
            // The caches are written back before the host relies on having none.
            let flushed = if enabled { Ok(()) } else { shared.flush(0).await };
            flushed.map(|()| Response::success())
        }
        DriveCommand::PowerState(state) => Ok(match shared.set_power_state(state).await {
            true => Response::success(),
            false => Response::status(Status::INVALID_FIELD.do_not_retry()),
        }),
        // The subsystem does not announce Sanitize.
        DriveCommand::Sanitize => Ok(Response::status(Status::INVALID_OPCODE.do_not_retry())),
    };
    pending.answer(result);
}

/// Ends commands and writes output, until the last sender of messages is gone.
async fn write_output(
    session: &Mutex<Session>,
    mut writer: impl AsyncWrite + Unpin,
    mut messages: UnboundedReceiver<Message>,
    shared: &SharedState,
) -> Result<(), DisconnectReason> {
    let stall = shared.limits.stall;
    // The room of the commands whose output is being written.
    let mut admitted = Vec::new();
    while let Some(first) = messages.recv().await {
        let Batch { pieces, last } = carried_out(session, first, &mut messages, &mut admitted, shared)?;
        for piece in pieces {
            write_all(&mut writer, &piece, stall).await?;
        }
        admitted.clear();
        match last {
            None => {}
            Some(Last::Reader) => return Ok(()),
            Some(Last::Session(end)) => return Err(DisconnectReason::Session(end)),
        }
    }
    Ok(())
}

/// Output that is written together.
struct Batch {
    pieces: Vec<Vec<u8>>,
    /// The reason for which no output follows; none if more may follow.
    last: Option<Last>,
}

/// The side that has ended the session.
enum Last {
    Reader,
    /// The subsystem, for this reason.
    Session(End),
}

/// Carries out the messages, and takes the output of the session.
fn carried_out(
    session: &Mutex<Session>,
    first: Message,
    messages: &mut UnboundedReceiver<Message>,
    admitted: &mut Vec<AdmissionPermit>,
    shared: &SharedState,
) -> Result<Batch, DisconnectReason> {
    let mut subsystem = shared.subsystem();
    let mut session = locked(session);
    let (mut next, mut last) = (Some(first), None);
    while let Some(message) = next {
        match message {
            Message::Output(room) => admitted.push(room),
            Message::Completed { command_id, response, admitted: room } => {
                session.complete(command_id, response, &mut subsystem);
                admitted.push(room);
            }
            Message::ShutDown { controller } => subsystem.finish_shutdown(controller),
            Message::Changed => {
                if let Some(end) = session.poll(&mut subsystem) {
                    last = Some(Last::Session(end));
                }
            }
            Message::Last => last = Some(Last::Reader),
            Message::Lost => return Err(DisconnectReason::NoPower),
        }
        let goes_on = last.is_none() && session.output().len() < BATCH;
        next = if goes_on { messages.try_recv().ok() } else { None };
    }
    Ok(Batch { pieces: session.output().take(), last })
}
