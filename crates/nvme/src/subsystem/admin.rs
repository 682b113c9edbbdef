//! Admin commands (NVMe base 2.0, section 5).

use std::time::Duration;

use super::{Answer, DriveCommand, Membership, Subsystem};
use crate::connection::Response;
use crate::controller::features::{self, Effect, FeatureAccess, Features, data_to_controller};
use crate::controller::{Controller, ControllerKind};
use crate::description::Drives;
use crate::entry::{SubmissionEntry, opcode::admin};
use crate::identify::Context;
use crate::maintenance::format;
use crate::status::Status;
use crate::{identify, log};

/// The field "select" of Get Features (NVMe base 2.0, section 5.15).
mod select {
    pub(super) const CURRENT: u32 = 0;
    pub(super) const CAPABILITIES: u32 = 3;
}

impl Subsystem {
    /// Answers an admin command.
    pub(crate) fn admin(
        &mut self,
        membership: &Membership,
        entry: &SubmissionEntry,
        data: &[u8],
        drives: &dyn Drives,
        now: Duration,
    ) -> Result<Answer, Status> {
        let others: Vec<u16> = match entry.opcode() {
            admin::IDENTIFY => self.io_controllers().map(|controller| controller.id).collect(),
            _ => Vec::new(),
        };
        let context = Self::context(&self.description, &self.config, drives, now);
        let this = self.controllers.get_mut(&membership.controller).ok_or(Status::INTERNAL_ERROR)?;
        if !this.properties.is_ready() {
            return Err(Status::COMMAND_SEQUENCE_ERROR.do_not_retry());
        }
        let maintenance = &mut self.maintenance;
        let is_io = this.kind == ControllerKind::Io;
        let response = match entry.opcode() {
            admin::IDENTIFY => sized(identify::identify(&context, this, &others, entry)?, entry)?,
            admin::GET_LOG_PAGE => Response::data(log::get(&context, this, maintenance, self.generation, entry)?),
            admin::GET_FEATURES => get_features(&context, this, entry)?,
            admin::SET_FEATURES => return set_features(&context, this, entry, data),
            admin::KEEP_ALIVE => Response::success(),
            admin::ASYNC_EVENT_REQUEST => {
                this.events.request(entry.command_id())?;
                return Ok(Answer::Held);
            }
            // Bit 0 of the result: the command was not aborted. The session aborts event requests.
            admin::ABORT => Response::result(1),
            admin::FORMAT_NVM | admin::SANITIZE | admin::DEVICE_SELF_TEST if !is_io => return Err(unknown()),
            admin::FORMAT_NVM => {
                if let Some(status) = maintenance.refusal() {
                    return Err(status);
                }
                return format(context.description, entry).map(|ids| Answer::Drive(DriveCommand::Format(ids)));
            }
            admin::SANITIZE if context.description.sanitize => match maintenance.sanitize(entry)? {
                true => return Ok(Answer::Drive(DriveCommand::Sanitize)),
                false => Response::success(),
            },
            admin::DEVICE_SELF_TEST => {
                maintenance.self_test(context.description, entry, now).map(|()| Response::success())?
            }
            admin::DIRECTIVE_SEND if has_directives(&context, this) => this.streams.send(context.description, entry)?,
            admin::DIRECTIVE_RECEIVE if has_directives(&context, this) => {
                this.streams.receive(context.description, entry)?
            }
            _ => return Err(unknown()),
        };
        Ok(Answer::Response(response))
    }

    /// Aborts the Asynchronous Event Request that an Abort command names; none if no such request waits.
    pub(crate) fn abort_event_request(&mut self, membership: &Membership, entry: &SubmissionEntry) -> Option<u16> {
        let (queue, command_id) = (entry.cdw(10) as u16, (entry.cdw(10) >> 16) as u16);
        let this = self.controllers.get_mut(&membership.controller)?;
        (entry.opcode() == admin::ABORT && queue == 0 && this.events.abort(command_id)).then_some(command_id)
    }
}

const fn unknown() -> Status {
    Status::INVALID_OPCODE.do_not_retry()
}

fn has_directives(context: &Context<'_>, this: &Controller) -> bool {
    this.kind == ControllerKind::Io && context.description.has_directives()
}

/// Data that the host must have room for as a whole.
fn sized(data: Vec<u8>, entry: &SubmissionEntry) -> Result<Response, Status> {
    if data.len() > entry.data_length() as usize {
        return Err(Status::SGL_LENGTH_INVALID.do_not_retry());
    }
    Ok(Response::data(data))
}

/// True if the controller has the feature.
fn is_supported(context: &Context<'_>, this: &Controller, id: u8) -> Option<(bool, bool)> {
    let (_, changeable, of_namespace) = features::SUPPORTED.into_iter().find(|(supported, ..)| *supported == id)?;
    let supported = match id {
        features::id::KEEP_ALIVE | features::id::ASYNC_EVENTS => true,
        _ if this.kind == ControllerKind::Discovery => false,
        features::id::VOLATILE_WRITE_CACHE => context.description.write_cache,
        features::id::PLACEMENT | features::id::PLACEMENT_EVENTS => context.description.has_placement(),
        _ => true,
    };
    supported.then_some((changeable, of_namespace))
}

fn get_features(context: &Context<'_>, this: &Controller, entry: &SubmissionEntry) -> Result<Response, Status> {
    let (id, selected) = (entry.cdw(10) as u8, entry.cdw(10) >> 8 & 7);
    let invalid = Status::INVALID_FIELD.do_not_retry();
    let (changeable, of_namespace) = is_supported(context, this, id).ok_or(invalid)?;
    if selected == select::CAPABILITIES {
        return Ok(Response::result(u64::from(of_namespace) << 1 | u64::from(changeable) << 2));
    }
    if selected > select::CAPABILITIES {
        return Err(invalid);
    }
    let access = FeatureAccess {
        namespace: entry.namespace(),
        cdw11: entry.cdw(11),
        cdw12: entry.cdw(12),
        data: &[],
        now: context.now,
    };
    match id {
        features::id::KEEP_ALIVE => {
            let timeout = if selected == select::CURRENT { this.keep_alive.timeout.as_millis() as u64 } else { 0 };
            return Ok(Response::result(timeout));
        }
        // Bit 0 of dword 11: the extended identifier, of 16 bytes. Connect had it.
        features::id::HOST_ID if entry.cdw(11) & 1 == 0 => return Err(Status::HOST_ID_FORMAT.do_not_retry()),
        features::id::HOST_ID => return sized(this.host.id.to_vec(), entry),
        _ => {}
    }
    let defaults;
    let features = if selected == select::CURRENT {
        &this.features
    } else {
        // Saved values are the default ones: nothing can be saved.
        defaults = Features::new(context.description);
        &defaults
    };
    let (result, mut data) = features.get(id, access, context.description)?;
    if id != features::id::PLACEMENT_EVENTS {
        return sized(data, entry).map(|response| Response { result: result.into(), ..response });
    }
    data.truncate(entry.data_length() as usize);
    Ok(Response { result: result.into(), ..Response::data(data) })
}

fn set_features(
    context: &Context<'_>,
    this: &mut Controller,
    entry: &SubmissionEntry,
    data: &[u8],
) -> Result<Answer, Status> {
    let (id, saves) = (entry.cdw(10) as u8, entry.cdw(10) >> 31 != 0);
    let (changeable, _) = is_supported(context, this, id).ok_or(Status::INVALID_FIELD.do_not_retry())?;
    if saves {
        return Err(Status::FEATURE_NOT_SAVEABLE.do_not_retry());
    }
    // Flexible Data Placement answers by itself: the present value can be set again.
    if !changeable && id != features::id::PLACEMENT && id != features::id::HOST_ID {
        return Err(Status::FEATURE_NOT_CHANGEABLE.do_not_retry());
    }
    if id == features::id::NUMBER_OF_QUEUES && !this.queues.is_empty() {
        return Err(Status::COMMAND_SEQUENCE_ERROR.do_not_retry());
    }
    if data.len() < data_to_controller(id, entry.cdw(11)) {
        return Err(Status::SGL_LENGTH_INVALID.do_not_retry());
    }
    let access = FeatureAccess {
        namespace: entry.namespace(),
        cdw11: entry.cdw(11),
        cdw12: entry.cdw(12),
        data,
        now: context.now,
    };
    let (result, effect) = this.features.set(id, access, context.description)?;
    match effect {
        Effect::None => Ok(Answer::Response(Response::result(result.into()))),
        Effect::KeepAlive(milliseconds) => {
            this.set_keep_alive(milliseconds);
            Ok(Answer::Response(Response::success()))
        }
        Effect::WriteCache(enabled) => Ok(Answer::Drive(DriveCommand::WriteCache(enabled))),
        Effect::PowerState(state) => Ok(Answer::Drive(DriveCommand::PowerState(state))),
    }
}
