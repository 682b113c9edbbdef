//! A RAID from outside: one program of all tests, because each would be linked anew.

mod content;
mod failures;
mod journal;
mod stops;
mod timing;
mod volatile;
