//! Tests of whole translations: one program, because each would link all crates again.

mod behaviour;
