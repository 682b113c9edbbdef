//! The last incidents of a served drive, for its live page: power, commands, failures, clients.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::command::Reply;

/// The most incidents that are kept.
const KEPT: usize = 100;

/// The kind of an incident, which decides its look on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum IncidentKind {
    /// The power was cut or switched, or the drive recovered.
    Power,
    /// An operation, a die or a drive failed, or a command planned its failure.
    Fault,
    /// A command that is neither of the power nor a fault.
    Command,
    /// A client came or went.
    Client,
}

/// An event in the life of a served drive that its live page shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Incident {
    /// The number of the incident, counted from 1.
    pub number: u64,
    /// The time of the wall clock in milliseconds since 1970.
    pub at_ms: u64,
    /// The kind, by which the page shows the incident.
    pub kind: IncidentKind,
    /// One sentence on the incident.
    pub text: String,
}

/// The last incidents. Clones are the same list.
#[derive(Clone, Debug, Default)]
pub struct Incidents(Arc<Mutex<IncidentLog>>);

#[derive(Debug, Default)]
struct IncidentLog {
    last: VecDeque<Incident>,
    number: u64,
    clients: u64,
}

/// The time of the wall clock.
#[allow(clippy::disallowed_methods)] // An incident is told with the time at which somebody saw it.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl Incidents {
    fn kept(&self) -> MutexGuard<'_, IncidentLog> {
        // The list is consistent between any two operations, so a poisoned lock does no harm.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an incident with the present time to the list.
    pub fn note(&self, kind: IncidentKind, text: impl Into<String>) {
        self.kept().note(kind, text.into());
    }

    /// Notes a client that has connected.
    pub fn client_came(&self) {
        let mut kept = self.kept();
        kept.clients += 1;
        let text = format!("a client has connected; {} now", count(kept.clients, "connection"));
        kept.note(IncidentKind::Client, text);
    }

    /// Notes a client whose connection has ended.
    pub fn client_left(&self, why: impl std::fmt::Display) {
        let mut kept = self.kept();
        kept.clients = kept.clients.saturating_sub(1);
        kept.note(IncidentKind::Client, format!("a connection has ended: {why}"));
    }

    /// Connections that are open.
    #[must_use]
    pub fn clients(&self) -> u64 {
        self.kept().clients
    }

    /// The incidents after incident `number`, as far as they are kept.
    #[must_use]
    pub fn after(&self, number: u64) -> Vec<Incident> {
        self.kept().last.iter().filter(|incident| incident.number > number).cloned().collect()
    }

    /// Notes the effect of a command.
    pub(super) fn carried_out(&self, reply: &Reply) {
        let (kind, text) = match reply {
            Reply::Status(_) => return,
            Reply::Cut(cut) => {
                let then = match cut.held {
                    0 => format!("{} failed", count(cut.failed as u64, "request")),
                    held => format!("{} wait", count(held as u64, "request")),
                };
                (IncidentKind::Power, format!("the power was cut: {} torn, {then}", cut.torn))
            }
            Reply::Off(time) => (IncidentKind::Power, format!("the power was switched off in order, after {time}")),
            Reply::On(recovery) => {
                (IncidentKind::Power, format!("the power is on: recovery takes {} of simulated time", recovery.time))
            }
            Reply::Pace(pace) => (IncidentKind::Command, format!("the pace is {pace}")),
            Reply::Fault(fault) => (IncidentKind::Fault, format!("told: {fault}")),
            Reply::DieFailed(die) => (IncidentKind::Fault, format!("told: die {die} has failed")),
            Reply::DriveFailed(drive, None) => (IncidentKind::Fault, format!("told: drive {drive} has failed")),
            Reply::DriveFailed(drive, Some(spare)) => {
                (IncidentKind::Fault, format!("told: drive {drive} has failed; spare {spare} takes its place"))
            }
            Reply::PowerState(state, transition) => {
                (IncidentKind::Command, format!("the power state is {state}, after {transition}"))
            }
            Reply::HostMemory(used, _) => {
                (IncidentKind::Command, format!("the drive uses {used} of the host's memory"))
            }
            Reply::Snapshot(_) => (IncidentKind::Command, "a snapshot was written".to_owned()),
        };
        self.note(kind, text);
    }
}

impl IncidentLog {
    fn note(&mut self, kind: IncidentKind, text: String) {
        self.number += 1;
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(Incident { number: self.number, at_ms: now_ms(), kind, text });
    }
}

fn count(n: u64, of: &str) -> String {
    if n == 1 { format!("1 {of}") } else { format!("{n} {of}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_kept_and_clients_counted() {
        let incidents = Incidents::default();
        incidents.client_came();
        incidents.client_came();
        incidents.client_left("the client has gone");
        assert_eq!(incidents.clients(), 1);
        let texts: Vec<_> = incidents.after(0).into_iter().map(|incident| incident.text).collect();
        let wanted = [
            "a client has connected; 1 connection now",
            "a client has connected; 2 connections now",
            "a connection has ended: the client has gone",
        ];
        assert_eq!(texts, wanted);
        (0..KEPT).for_each(|n| incidents.clone().note(IncidentKind::Fault, n.to_string()));
        assert_eq!(incidents.after(0).len(), KEPT);
        let last = incidents.after(KEPT as u64 + 2);
        assert_eq!((last.len(), last[0].text.as_str(), last[0].number), (1, "99", KEPT as u64 + 3));
    }
}
