//! Conversations between both ends, transcripts of what Linux sends, and any input in any pieces.

mod admin;
mod any_command;
mod any_input;
mod association;
mod commands;
mod conversation;
mod host;
mod linux;
mod mandatory;
mod rules;
