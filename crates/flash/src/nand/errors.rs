//! Raw bit errors: the number of wrong bits of a page, and the attempt that succeeds in reading the page.
//!
//! A page collects errors with the erases of its block, the time since its program, and the reads of its block. A power
//! law that was fitted to a chip gives their number ([`rber`](super::ErrorTable::rber)); page type, layer and block
//! multiply the result. A codeword with more errors than the decoder's limit needs another attempt: the chip reads
//! again with shifted reference voltages (a *step* of its retry table), and in the end several times for soft decoding.
//!
//! The errors of a codeword are drawn once for each read, from the tail of the binomial distribution: with one uniform
//! number `u`, an attempt with bit error rate `p` fails if `u < P(errors > limit)`. So an attempt at a lower rate never
//! fails if one at a higher rate succeeds, and the one draw decides the number of attempts.
//!
//! Two effects are left out because each needs state for every page: reads of a page disturb its neighbouring word
//! lines more than the rest of the block (here reads count for all pages of a block alike), and a page keeps errors
//! when it is copied (here a copy is corrected first; copy-backs are refused).

mod arrhenius;
mod model;
mod powers;
mod tail;

pub use arrhenius::acceleration;
pub(crate) use model::PageProperties;
pub use model::{Attempt, Decoding, ErrorModel, ErrorSettings, SoftLimit};
pub(crate) use powers::Powers;
