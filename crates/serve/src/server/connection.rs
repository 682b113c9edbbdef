//! One connection: requests in, replies out, in any order.
//!
//! TLS is outside of NBD's state machine: `Protocol` says when TLS begins, ends the connection if plain bytes follow, and forgets
//! everything that came before. The connection passes decrypted bytes to it.

use std::fmt;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex};

use base::units::{Lba, Sectors};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::server::TlsStream;

use super::halves::{Half, Socket, shut_down};
use super::intake::{AdmissionPermit, Intake};
use super::pieces::{First, Input, race, write_all};
use super::tls::Tls;
use super::{Export, Limits};
use crate::nbd::{BlockStatus, End, ExportInfo, Protocol, ProtocolEvent, Request, Ticket};
use crate::{AllocatedExtent, AllocationQuery, Disk, Job, JobFailure, Operation};

/// The most bytes of replies that are written together.
const BATCH: usize = 256 << 10;

/// Data longer than this are written from their own buffer and not copied.
const COPIED: usize = 32 << 10;

/// The reason for which a connection ended.
#[derive(Debug)]
pub enum ConnectionEnd {
    /// The client ended the connection, or broke the protocol.
    Client(End),
    /// The client closed the connection without a disconnect request.
    Gone,
    /// The client chose no export in time.
    Handshake,
    /// The TLS handshake failed.
    Tls(io::Error),
    /// The client took no byte of a reply for too long.
    Stalled,
    /// The client sent no byte of a request that it had begun for too long.
    Unfinished,
    /// The drive lost a request, e.g. at a power cut.
    Lost,
    /// The drive's connections were ended by [`super::Hangup`].
    HungUp,
    /// The server was stopped.
    Stopped,
    /// The operating system reported an error.
    Failed(io::Error),
}

impl fmt::Display for ConnectionEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(end) => end.fmt(f),
            Self::Gone => f.write_str("the client has gone"),
            Self::Handshake => f.write_str("the client chose no export in time"),
            Self::Tls(error) => write!(f, "the TLS handshake failed: {error}"),
            Self::Stalled => f.write_str("the client does not read its replies"),
            Self::Unfinished => f.write_str("the client began a request and did not send the rest"),
            Self::Lost => f.write_str("the drive lost a request"),
            Self::HungUp => f.write_str("the drive's connections were ended"),
            Self::Stopped => f.write_str("the server was stopped"),
            Self::Failed(error) => write!(f, "the connection failed: {error}"),
        }
    }
}

impl From<io::Error> for ConnectionEnd {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, TimedOut, UnexpectedEof};
        match error.kind() {
            TimedOut => Self::Stalled,
            BrokenPipe | ConnectionReset | UnexpectedEof => Self::Gone,
            _ => Self::Failed(error),
        }
    }
}

/// The state that all connections of a server share.
pub(super) struct SharedState {
    pub(super) exports: Vec<Export>,
    pub(super) infos: Arc<[ExportInfo]>,
    pub(super) limits: Limits,
    pub(super) tls: Option<Tls>,
    /// True when the server is stopped.
    pub(super) stop: watch::Receiver<bool>,
}

/// Waits until the server is stopped.
pub(super) async fn stopped(stop: &watch::Receiver<bool>) {
    // An error means that the server is gone.
    let _ = stop.clone().wait_for(|stop| *stop).await;
}

/// A client that has chosen an export.
enum ClientStream<S> {
    Plain(S),
    Tls(Box<TlsStream<S>>),
}

/// Serves a client until the client or the server ends the connection.
pub(super) async fn serve(socket: impl Socket, shared: &SharedState) -> ConnectionEnd {
    let mut protocol = match shared.tls {
        None => Protocol::new(Arc::clone(&shared.infos)),
        Some(_) => Protocol::requiring_tls(Arc::clone(&shared.infos)),
    };
    let mut input = Input::new();
    let negotiation = negotiate(&mut protocol, &mut input, socket, shared);
    let (export, chosen) = match race(timeout(shared.limits.handshake, negotiation), stopped(&shared.stop)).await {
        First::Left(Ok(Ok((export, chosen)))) => (&shared.exports[export], chosen),
        First::Left(Ok(Err(ended))) => return ended,
        First::Left(Err(_)) => return ConnectionEnd::Handshake,
        First::Right(()) => return ConnectionEnd::Stopped,
    };
    match chosen {
        ClientStream::Plain(mut socket) => {
            let (reader, writer) = socket.halves();
            transmit(&mut protocol, &mut input, (reader, writer), export, shared).await
        }
        ClientStream::Tls(stream) => {
            let stream = Mutex::new(*stream);
            let ended = transmit(&mut protocol, &mut input, (Half(&stream), Half(&stream)), export, shared).await;
            // TLS tells the client that no data is missing.
            let _ = shut_down(Half(&stream), shared.limits.stall).await;
            ended
        }
    }
}

/// Negotiates until the client chooses an export, through TLS if the server demands it.
async fn negotiate<S: Socket>(
    protocol: &mut Protocol,
    input: &mut Input,
    mut socket: S,
    shared: &SharedState,
) -> Result<(usize, ClientStream<S>), ConnectionEnd> {
    match options(protocol, input, &mut socket, &shared.limits).await? {
        NegotiationOutcome::Export(export) => Ok((export, ClientStream::Plain(socket))),
        NegotiationOutcome::StartTls => {
            let tls = shared.tls.as_ref().expect("only a server with TLS starts it");
            let mut stream = Box::new(tls.acceptor.accept(socket).await.map_err(ConnectionEnd::Tls)?);
            protocol.upgraded();
            match options(protocol, input, &mut *stream, &shared.limits).await? {
                NegotiationOutcome::Export(export) => Ok((export, ClientStream::Tls(stream))),
                NegotiationOutcome::StartTls => unreachable!("TLS is started once"),
            }
        }
    }
}

/// The result of the options of a client.
enum NegotiationOutcome {
    Export(usize),
    StartTls,
}

/// Answers options until the client has chosen an export or asks for TLS.
async fn options(
    protocol: &mut Protocol,
    input: &mut Input,
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    limits: &Limits,
) -> Result<NegotiationOutcome, ConnectionEnd> {
    let mut starts_tls = false;
    loop {
        write_all(stream, &protocol.take_output(), limits.stall).await?;
        let (taken, event) = protocol.receive(input.waiting());
        input.take(taken);
        match event {
            None if taken > 0 => {}
            // No plain bytes follow the request for TLS.
            None if starts_tls => return Ok(NegotiationOutcome::StartTls),
            None => {
                if !input.fill(stream).await? {
                    return Err(ConnectionEnd::Gone);
                }
            }
            Some(ProtocolEvent::StartTls) => starts_tls = true,
            Some(event) => {
                write_all(stream, &protocol.take_output(), limits.stall).await?;
                match event {
                    ProtocolEvent::Ready(export) => return Ok(NegotiationOutcome::Export(export)),
                    ProtocolEvent::End(end) => return Err(ConnectionEnd::Client(end)),
                    ProtocolEvent::StartTls
                    | ProtocolEvent::Payload(_)
                    | ProtocolEvent::Request(_)
                    | ProtocolEvent::BlockStatus(_) => {
                        unreachable!("requests follow the choice of an export")
                    }
                }
            }
        }
    }
}

/// Reads requests and writes replies, until reading or writing ends.
async fn transmit(
    protocol: &mut Protocol,
    input: &mut Input,
    (mut reader, mut writer): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    export: &Export,
    shared: &SharedState,
) -> ConnectionEnd {
    let disk = &*export.disk;
    let (sender, replies) = unbounded_channel();
    let mut writing = pin!(write_replies(&mut writer, replies, disk, &shared.limits));
    let reading = read_requests(protocol, input, &mut reader, sender, disk, &shared.limits);
    let interrupted = race(export.hangup.wait(), stopped(&shared.stop));
    match race(race(reading, interrupted), writing.as_mut()).await {
        // Outstanding requests are answered. The last answer closes the channel, and that ends the writing.
        First::Left(read) => match (writing.await, read) {
            (Err(ended), _) | (Ok(()), First::Left(ended)) => ended,
            (Ok(()), First::Right(First::Left(()))) => ConnectionEnd::HungUp,
            (Ok(()), First::Right(First::Right(()))) => ConnectionEnd::Stopped,
        },
        First::Right(written) => written.err().unwrap_or(ConnectionEnd::Gone),
    }
}

/// A message to the writer of replies.
enum Message {
    /// Replies that need no drive.
    Said(Vec<u8>, AdmissionPermit),
    /// The drive's answer to a request.
    Answered(Ticket, Result<Vec<u8>, JobFailure>, AdmissionPermit),
    /// The drive's answer to a question for allocation.
    Allocation(Ticket, Result<Vec<AllocatedExtent>, JobFailure>, AdmissionPermit),
    /// An operation is complete, and a flush follows before its reply.
    Flush(PendingReply),
    /// The drive dropped a request.
    Lost,
}

/// A request whose reply is not written yet.
struct PendingReply {
    replies: UnboundedSender<Message>,
    ticket: Ticket,
    admitted: AdmissionPermit,
    then_flush: bool,
}

/// A request that the drive works on. Dropping it without an answer reports it as lost.
struct RequestGuard(Option<PendingReply>);

impl RequestGuard {
    fn answer(mut self, result: Result<Vec<u8>, JobFailure>) {
        let Some(open) = self.0.take() else { return };
        let replies = open.replies.clone();
        // The send fails only if the connection has ended.
        let _ = replies.send(match open.then_flush && result.is_ok() {
            true => Message::Flush(PendingReply { then_flush: false, ..open }),
            false => Message::Answered(open.ticket, result, open.admitted),
        });
    }

    fn answer_extents(mut self, result: Result<Vec<AllocatedExtent>, JobFailure>) {
        let Some(PendingReply { replies, ticket, admitted, .. }) = self.0.take() else { return };
        let _ = replies.send(Message::Allocation(ticket, result, admitted));
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        if let Some(open) = self.0.take() {
            let _ = open.replies.send(Message::Lost);
        }
    }
}

fn job(operation: Operation, (start, sectors): (Lba, Sectors), open: PendingReply) -> Job {
    let pending = RequestGuard(Some(open));
    Job::new(operation, start, sectors, move |result| pending.answer(result))
}

/// Passes requests to the drive until the client disconnects.
async fn read_requests(
    protocol: &mut Protocol,
    input: &mut Input,
    reader: &mut (impl AsyncRead + Unpin),
    replies: UnboundedSender<Message>,
    disk: &dyn Disk,
    limits: &Limits,
) -> ConnectionEnd {
    let mut intake = Intake::new([disk], limits);
    // The room of the write whose payload is being received.
    let mut payload = None;
    loop {
        let (taken, event) = protocol.receive(input.waiting());
        input.take(taken);
        let said = protocol.take_output();
        if !said.is_empty() {
            // The send fails only if the writing has failed, which ends the connection.
            let _ = replies.send(Message::Said(said, intake.admit(0).await));
        }
        match event {
            None if taken > 0 => {}
            None => {
                intake.submit();
                // Between requests a client may be silent for any time. Within a request it may not, because other clients may wait
                // for its place.
                let is_within = protocol.is_in_payload() || !input.waiting().is_empty();
                let filled = match is_within {
                    true => timeout(limits.stall, input.fill(reader)).await,
                    false => Ok(input.fill(reader).await),
                };
                match filled {
                    Ok(Ok(true)) => {}
                    Ok(Ok(false)) => return ConnectionEnd::Gone,
                    Ok(Err(error)) => return error.into(),
                    Err(_) => return ConnectionEnd::Unfinished,
                }
            }
            Some(ProtocolEvent::Payload(bytes)) => payload = Some(intake.admit(bytes).await),
            Some(ProtocolEvent::Request(request)) => {
                let admitted = match payload.take() {
                    Some(admitted) => admitted,
                    None => intake.admit(request.memory()).await,
                };
                let Request { operation, start, sectors, then_flush, ticket } = request;
                let open = PendingReply { replies: replies.clone(), ticket, admitted, then_flush };
                intake.push(0, job(operation, (start, sectors), open));
            }
            Some(ProtocolEvent::BlockStatus(BlockStatus { start, sectors, most, ticket })) => {
                let admitted = intake.admit(0).await;
                let open = PendingReply { replies: replies.clone(), ticket, admitted, then_flush: false };
                let pending = RequestGuard(Some(open));
                let answer = Box::new(move |result| pending.answer_extents(result));
                intake.ask(0, AllocationQuery { start, sectors, most, answer });
            }
            Some(ProtocolEvent::Ready(_) | ProtocolEvent::StartTls) => unreachable!("the export is chosen"),
            Some(ProtocolEvent::End(end)) => {
                intake.submit();
                return ConnectionEnd::Client(end);
            }
        }
    }
}

/// Writes replies until the last sender of messages is gone.
async fn write_replies(
    writer: &mut (impl AsyncWrite + Unpin),
    mut replies: UnboundedReceiver<Message>,
    disk: &dyn Disk,
    limits: &Limits,
) -> Result<(), ConnectionEnd> {
    let mut out = Vec::with_capacity(BATCH + 2 * COPIED);
    // The room of the replies in `out`.
    let mut admitted = Vec::new();
    while let Some(first) = replies.recv().await {
        let mut next = Some(first);
        while let Some(message) = next {
            let data = match message {
                Message::Lost => return Err(ConnectionEnd::Lost),
                Message::Said(bytes, room) => {
                    admitted.push(room);
                    bytes
                }
                Message::Answered(ticket, result, room) => {
                    admitted.push(room);
                    ticket.reply(result, &mut out)
                }
                Message::Allocation(ticket, result, room) => {
                    admitted.push(room);
                    ticket.reply_extents(result, &mut out);
                    Vec::new()
                }
                Message::Flush(open) => {
                    disk.submit(job(Operation::Flush, (Lba::new(0), Sectors::new(0)), open));
                    Vec::new()
                }
            };
            if data.len() > COPIED {
                write_all(writer, &out, limits.stall).await?;
                out.clear();
                write_all(writer, &data, limits.stall).await?;
            } else {
                out.extend_from_slice(&data);
            }
            next = if out.len() < BATCH { replies.try_recv().ok() } else { None };
        }
        write_all(writer, &out, limits.stall).await?;
        out.clear();
        admitted.clear();
    }
    Ok(())
}
