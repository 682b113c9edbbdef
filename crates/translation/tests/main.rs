//! A translation from outside: one program of all tests, because each would be linked anew.

mod behaviour;
