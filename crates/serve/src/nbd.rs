//! The Network Block Device protocol, fixed newstyle, as a state machine: bytes in, requests and bytes out. It knows no
//! socket, no clock and no drive.
//!
//! A [`Protocol`] is the server's end of one connection. Its owner passes it what the client sent
//! ([`Protocol::receive`]), sends the output to the client ([`Protocol::take_output`]), and carries out the requests
//! ([`ProtocolEvent::Request`]). Each request has a [`Ticket`], which turns the drive's result into a reply as soon as the result is there,
//! so replies may leave in any order.
//!
//! All numbers are from "The NBD protocol", `doc/proto.md` of `github.com/NetworkBlockDevice/nbd`. The document leaves these
//! choices to the server:
//!
//! * Requests that are unaligned, empty, unknown or have flags that do not belong to them get EINVAL. A range that ends
//!   behind the drive gets ENOSPC from writes, EINVAL from all others. The payload of a refused write is skipped, however
//!   long, so that the connection goes on.
//! * CACHE reads the range and sends nothing. FAST_ZERO gets ENOTSUP, because zeros are written at the speed of data.
//!   NO_HOLE changes nothing, because no write runs out of space.
//! * The only metadata context is `base:allocation`. A deallocated range is a hole that reads as zeros. A
//!   reply to BLOCK_STATUS has at most 1024 extents, and may end before the range does.
//! * Replies are structured for all commands once the client asks for structured replies, so every error has a message. A read
//!   is one chunk.

mod end;
mod handshake;
mod protocol;
mod reply;
mod samples;
mod transmission;
mod wire;

pub use end::End;
pub use handshake::ExportInfo;
pub use protocol::{Protocol, ProtocolEvent};
pub use reply::Ticket;
pub use samples::{sample_exports, samples, samples_with_tls};
pub use transmission::{BlockStatus, Request};
pub use wire::LARGEST;

#[cfg(test)]
mod tests;
