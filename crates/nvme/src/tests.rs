//! Conversations between both ends, transcripts of what Linux sends, and any input in any pieces.

mod any_command;
mod any_input;
mod conversation;
mod linux;
mod rules;
