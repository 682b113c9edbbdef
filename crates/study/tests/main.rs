//! Runs from outside: one program of all tests, because each would be linked anew.

mod extremes;
mod reference;
