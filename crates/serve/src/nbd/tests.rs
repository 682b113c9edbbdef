//! Transcripts, and any split of any input.

mod any_input;
mod conversation;
mod transcripts;
