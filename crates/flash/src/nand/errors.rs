//! Raw bit errors: how many bits of a page are wrong, and which attempt to read it succeeds.
//!
//! A page collects errors with the erases of its block, the time since its program, and the reads of its block. A power
//! law that was fitted to a chip says how many ([`rber`](super::ErrorTable::rber)); page type, layer and block multiply its result.
//! A codeword with more errors than the decoder's limit needs another attempt: the chip reads again with shifted reference
//! voltages (a *step* of its retry table), and in the end several times for soft decoding.
//!
//! The errors of a codeword are drawn once for each read, from the tail of the binomial distribution: one uniform number
//! `u`, and an attempt with bit error rate `p` fails if `u < P(errors > limit)`. So an attempt at a lower rate never
//! fails where one at a higher rate succeeds, and the number of attempts follows from the one draw.
//!
//! Two effects are left out because each needs state for every page: that reads of one page disturb its neighbouring word
//! lines more than the rest of the block (reads count for all pages of a block alike), and that a page keeps errors
//! when it is copied (a copy is corrected first; copy-backs are refused).

mod arrhenius;
mod model;
mod powers;
mod tail;

pub use arrhenius::acceleration;
pub(crate) use model::Page;
pub use model::{Attempt, Decoding, ErrorModel, ErrorSettings, SoftLimit};
pub(crate) use powers::Powers;
