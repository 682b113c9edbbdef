//! Identify (NVMe base 2.0, section 5.17).

pub(crate) mod controller;
pub(crate) mod namespace;

use std::time::Duration;

use crate::connection::Config;
use crate::controller::{Controller, ControllerKind};
use crate::description::{ALL_NAMESPACES, Description, Drives, Namespace};
use crate::entry::SubmissionEntry;
use crate::status::Status;
use namespace::{NVM, ZONED, command_set};

/// The qualified name of every discovery service (NVMe base 2.0, section 4.5.1).
pub const DISCOVERY_NQN: &str = "nqn.2014-08.org.nvmexpress.discovery";

/// The state from which admin commands are answered.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) description: &'a Description,
    pub(crate) config: &'a Config,
    pub(crate) drives: &'a dyn Drives,
    pub(crate) now: Duration,
}

/// Values of CNS (NVMe base 2.0, section 5.17).
mod cns {
    pub(super) const NAMESPACE: u8 = 0x00;
    pub(super) const CONTROLLER: u8 = 0x01;
    pub(super) const ACTIVE: u8 = 0x02;
    pub(super) const DESCRIPTORS: u8 = 0x03;
    pub(super) const NAMESPACE_OF_SET: u8 = 0x05;
    pub(super) const CONTROLLER_OF_SET: u8 = 0x06;
    pub(super) const ACTIVE_OF_SET: u8 = 0x07;
    pub(super) const INDEPENDENT: u8 = 0x08;
    pub(super) const ALLOCATED: u8 = 0x10;
    pub(super) const ALLOCATED_NAMESPACE: u8 = 0x11;
    pub(super) const CONTROLLERS_OF_NAMESPACE: u8 = 0x12;
    pub(super) const CONTROLLERS: u8 = 0x13;
    pub(super) const ENDURANCE_GROUPS: u8 = 0x19;
    pub(super) const ALLOCATED_OF_SET: u8 = 0x1a;
    pub(super) const COMMAND_SETS: u8 = 0x1c;
}

/// Bytes of each data structure.
const SIZE: usize = 4096;

fn padded(mut data: Vec<u8>) -> Vec<u8> {
    data.resize(SIZE, 0);
    data
}

/// Answers Identify. `others` are the identifiers of the subsystem's controllers for I/O, in order.
pub(crate) fn identify(
    context: &Context<'_>,
    this: &Controller,
    others: &[u16],
    entry: &SubmissionEntry,
) -> Result<Vec<u8>, Status> {
    let (cns, from) = (entry.cdw(10) as u8, (entry.cdw(10) >> 16) as u16);
    let (set, nsid) = ((entry.cdw(11) >> 24) as u8, entry.namespace());
    let Context { description, .. } = context;
    if this.kind == ControllerKind::Discovery && cns != cns::CONTROLLER {
        return Err(Status::INVALID_FIELD.do_not_retry());
    }
    // Without CC.CSS for all command sets, the host sees the NVM command set only.
    let all = this.properties.has_all_command_sets();
    let visible = |namespace: &Namespace| all || command_set(namespace) == NVM;
    let find = |nsid: u32| find(description, nsid).map(|found| found.filter(|namespace| visible(namespace)));
    let active = |nsid: u32| active(description, nsid);
    let known = |set: u8| set == NVM || set == ZONED && description.has_zones();
    match cns {
        cns::CONTROLLER => Ok(controller::controller(context, this)),
        cns::NAMESPACE | cns::ALLOCATED_NAMESPACE => match find(nsid)? {
            Some(found) => Ok(namespace::namespace(context, found)),
            None => Ok(vec![0; SIZE]),
        },
        cns::ACTIVE | cns::ALLOCATED => list(description, nsid, visible),
        cns::ACTIVE_OF_SET | cns::ALLOCATED_OF_SET if known(set) => {
            list(description, nsid, |namespace| command_set(namespace) == set)
        }
        cns::DESCRIPTORS => active(nsid).map(namespace::descriptors),
        cns::NAMESPACE_OF_SET => match (find(nsid)?, set) {
            (None, _) | (Some(_), NVM) => Ok(vec![0; SIZE]),
            (Some(Namespace { zones: Some(zones), .. }), ZONED) => Ok(namespace::zoned(zones)),
            _ => Err(Status::INVALID_FIELD.do_not_retry()),
        },
        cns::CONTROLLER_OF_SET => match set {
            NVM => Ok(controller::nvm()),
            ZONED if known(set) => Ok(controller::zoned(context)),
            _ => Err(Status::INVALID_FIELD.do_not_retry()),
        },
        cns::INDEPENDENT => match find(nsid)? {
            Some(found) => Ok(namespace::independent(context, found)),
            None => Ok(vec![0; SIZE]),
        },
        cns::CONTROLLERS_OF_NAMESPACE => active(nsid).map(|_| identifiers(others, from)),
        cns::CONTROLLERS => Ok(identifiers(others, from)),
        cns::ENDURANCE_GROUPS => {
            let groups: Vec<u16> = description.namespaces.iter().map(|namespace| namespace.id as u16).collect();
            Ok(identifiers(&groups, (entry.cdw(11) & 0xffff) as u16))
        }
        // One combination: the NVM command set, and zones where the drive has some.
        cns::COMMAND_SETS => {
            let vector = 1_u64 << NVM | u64::from(description.has_zones()) << ZONED;
            Ok(padded(vector.to_le_bytes().to_vec()))
        }
        _ => Err(Status::INVALID_FIELD.do_not_retry()),
    }
}

/// The namespace with this identifier; none if it is valid but not active.
fn find(description: &Description, id: u32) -> Result<Option<&Namespace>, Status> {
    if id == 0 || id > description.last_namespace() {
        return Err(Status::INVALID_NAMESPACE.do_not_retry());
    }
    Ok(description.namespace(id))
}

fn active(description: &Description, id: u32) -> Result<&Namespace, Status> {
    description.namespace(id).ok_or(Status::INVALID_NAMESPACE.do_not_retry())
}

/// A namespace list: the identifiers above `after` of the namespaces that `takes` accepts (NVMe base 2.0, section 5.17.2.2).
fn list(description: &Description, after: u32, takes: impl Fn(&Namespace) -> bool) -> Result<Vec<u8>, Status> {
    if after >= ALL_NAMESPACES - 1 {
        return Err(Status::INVALID_NAMESPACE.do_not_retry());
    }
    let taken = description.namespaces.iter().filter(|namespace| namespace.id > after && takes(namespace));
    Ok(padded(taken.take(SIZE / 4).flat_map(|namespace| namespace.id.to_le_bytes()).collect()))
}

/// A list of controllers or endurance groups, with identifiers from `from` on: their number first (NVMe base 2.0, section 5.17.2).
fn identifiers(all: &[u16], from: u16) -> Vec<u8> {
    let listed: Vec<u16> = all.iter().copied().filter(|id| *id >= from).take(SIZE / 2 - 1).collect();
    let count = (listed.len() as u16).to_le_bytes();
    padded(count.into_iter().chain(listed.into_iter().flat_map(u16::to_le_bytes)).collect())
}
