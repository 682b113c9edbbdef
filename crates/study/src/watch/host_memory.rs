//! Makes the time in which a request's look-ups read the host's memory legs of its own.

use base::units::Time;

use super::journey::{JourneyPart, Leg};

/// Splits the legs in the FTL: the time that overlaps a read of the host's memory becomes a leg of its own. `reads` are
/// in the order of their ends.
pub(super) fn part(legs: &mut Vec<Leg>, reads: &[(Time, Time)]) {
    for (from, until) in reads {
        let Some(place) =
            legs.iter().position(|leg| leg.part == JourneyPart::Ftl && leg.from < *until && *from < leg.until)
        else {
            continue;
        };
        let leg = legs[place];
        let (from, until) = ((*from).max(leg.from), (*until).min(leg.until));
        let parts = [
            (leg.from, from, JourneyPart::Ftl),
            (from, until, JourneyPart::HostMemory),
            (until, leg.until, JourneyPart::Ftl),
        ];
        let parts = parts.into_iter().filter(|(from, until, _)| from < until);
        legs.splice(place..=place, parts.map(|(from, until, part)| Leg { part, from, until, at: None, drive: None }));
    }
}

#[cfg(test)]
mod tests {
    use base::units::Span;

    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn leg((from, until): (u64, u64), part: JourneyPart) -> Leg {
        Leg { part, from: at(from), until: at(until), at: None, drive: None }
    }

    #[test]
    fn a_read_of_host_memory_parts_the_leg_in_the_ftl_and_no_other() {
        let mut legs =
            vec![leg((0, 2), JourneyPart::Link), leg((2, 10), JourneyPart::Ftl), leg((10, 60), JourneyPart::Array)];
        part(&mut legs, &[(at(3), at(5)), (at(6), at(12)), (at(20), at(30))]);
        assert_eq!(
            legs,
            [
                leg((0, 2), JourneyPart::Link),
                leg((2, 3), JourneyPart::Ftl),
                leg((3, 5), JourneyPart::HostMemory),
                leg((5, 6), JourneyPart::Ftl),
                leg((6, 10), JourneyPart::HostMemory),
                leg((10, 60), JourneyPart::Array)
            ]
        );
    }

    #[test]
    fn a_read_that_began_before_the_request_counts_from_its_arrival_in_the_ftl() {
        let mut legs = vec![leg((4, 6), JourneyPart::Ftl)];
        part(&mut legs, &[(at(0), at(6))]);
        assert_eq!(legs, [leg((4, 6), JourneyPart::HostMemory)]);
    }
}
