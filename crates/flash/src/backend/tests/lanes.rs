//! Timing diagrams as text: a lane for each bus and die, a column for each step of time.

use super::*;

/// The letter of a phase in a lane: small for the host, capital for the background.
fn letter(phase: &Phase) -> char {
    let letter = match phase.primitive {
        Primitive::Command | Primitive::Status => 'c',
        Primitive::DataIn | Primitive::DataOut => 't',
        Primitive::Hold => return '=',
        Primitive::Read | Primitive::Retry => 'r',
        Primitive::Program => 'p',
        Primitive::Erase => 'e',
        Primitive::CopyBack => 'b',
        Primitive::Decode => 'd',
        Primitive::Suspend => '>',
        Primitive::Resume => '<',
    };
    if phase.cause == Cause::Host { letter } else { letter.to_ascii_uppercase() }
}

/// Draws a lane for the channel, one for the dies that it works for, and one for the array of each die in `dies`, in
/// steps of `column` from `from` on.
pub(super) fn lanes(phases: &[Phase], dies: &[u32], from: Time, column: Span) -> String {
    let end = phases.iter().map(|phase| phase.until).max().unwrap_or(from);
    let columns = (end.saturating_since(from).as_ps()).div_ceil(column.as_ps());
    let lane = |name: String, resource: Resource, show: &dyn Fn(&Phase) -> char| {
        let cell = |i: u64| {
            let at = from + column * i;
            let now = phases.iter().filter(|phase| phase.resource == resource);
            let mut now = now.filter(|phase| phase.from <= at && at < phase.until);
            let cell = now.next().map_or('.', show);
            assert!(now.next().is_none(), "two phases at once of {resource:?}");
            cell
        };
        let cells: String = (0..columns).map(cell).collect();
        format!("{name:<5} {}\n", cells)
    };
    let digit = |phase: &Phase| char::from_digit(phase.die, 10).expect("fewer than ten dies");
    let mut text = lane("bus".into(), Resource::Channel(0), &letter);
    text += &lane("for".into(), Resource::Channel(0), &digit);
    for die in dies {
        text += &lane(format!("die {die}"), Resource::Array(*die), &letter);
    }
    text
}
