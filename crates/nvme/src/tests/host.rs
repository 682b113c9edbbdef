//! The rules of the transport, broken by a controller: the host ends the connection with the error that NVMe/TCP asks for.

use crate::entry::CompletionEntry;
use crate::host::{Completion, Host, HostCommand, HostConfig, HostError, HostEvent};
use crate::pdu::{Digests, FatalError, InitializeResponse, LAST, SUCCESS, encode_data, encode_response, fatal, kind};
use crate::status::Status;

const NONE: Digests = Digests { header: false, data: false };

fn response() -> InitializeResponse {
    InitializeResponse { max_data: 4096, ..InitializeResponse::default() }
}

/// A host with a write of 20 KiB (0) and a read of 8 KiB (1).
fn host() -> Host {
    let mut host = Host::new(HostConfig::default());
    let (taken, event) = host.receive(&response().encode());
    assert_eq!((taken, event), (128, Some(HostEvent::Ready)));
    host.submit(HostCommand::write(1, 0, 5, vec![1; 20480]));
    host.submit(HostCommand::read(1, 0, 2, 8192));
    host.output().take();
    host
}

fn data(command_id: u16, offset: u32, length: u32, flags: u8) -> Vec<u8> {
    let mut pdu = encode_data(kind::CONTROLLER_DATA, flags, (command_id, 0), (offset, length), (NONE, 0));
    pdu.extend(vec![7; length as usize]);
    pdu
}

fn r2t(command_id: u16, offset: u32, length: u32) -> Vec<u8> {
    encode_data(kind::R2T, 0, (command_id, 3), (offset, length), (NONE, 0))
}

fn events(host: &mut Host, bytes: &[u8]) -> Vec<HostEvent> {
    let (mut taken, mut all) = (0, Vec::new());
    loop {
        let (more, event) = host.receive(&bytes[taken..]);
        taken += more;
        match event {
            None if more == 0 => return all,
            None => {}
            Some(HostEvent::Error(error)) => {
                all.push(HostEvent::Error(error));
                return all;
            }
            Some(event) => all.push(event),
        }
    }
}

fn assert_fatal(bytes: &[u8], status: u16, information: u32) {
    let mut host = host();
    let error = FatalError { status, information };
    assert_eq!(events(&mut host, bytes), [HostEvent::Error(HostError::Fatal(error))], "{error}");
    let said: Vec<u8> = host.output().take().concat();
    assert_eq!((said[0], said[2], said[8]), (kind::HOST_TERM, 24, status as u8));
}

#[test]
fn wrong_answers_to_the_initialization_are_refused() {
    let mut none = response();
    none.digests = 1;
    let mut version = response();
    version.version = 1;
    let mut short = response();
    short.max_data = 4092;
    for (response, status, information) in [
        (none, fatal::INVALID_HEADER_FIELD, 11),
        (version, fatal::UNSUPPORTED_PARAMETER, 8),
        (short, fatal::INVALID_HEADER_FIELD, 12),
    ] {
        let mut host = Host::new(HostConfig::default());
        let error = HostError::Fatal(FatalError { status, information });
        assert_eq!(events(&mut host, &response.encode()), [HostEvent::Error(error)]);
    }
    let digests = Digests { header: true, data: false };
    let mut host = Host::new(HostConfig { digests, ..HostConfig::default() });
    let error = HostError::Fatal(FatalError { status: fatal::UNSUPPORTED_PARAMETER, information: 11 });
    assert_eq!(events(&mut host, &response().encode()), [HostEvent::Error(error)], "the digest was not granted");
    assert_fatal(&response().encode(), fatal::SEQUENCE, 0);
}

#[test]
fn data_that_do_not_fit_end_the_connection() {
    assert_fatal(&data(9, 0, 4096, 0), fatal::INVALID_HEADER_FIELD, 8);
    assert_fatal(&data(0, 0, 4096, 0), fatal::SEQUENCE, 0);
    assert_fatal(&data(1, 4096, 4096, 0), fatal::SEQUENCE, 0);
    assert_fatal(&data(1, 4096, 8192, 0), fatal::DATA_OUT_OF_RANGE, 0);
    assert_fatal(&data(1, 0, 4096, SUCCESS), fatal::INVALID_HEADER_FIELD, 1);
    assert_fatal(&[data(1, 0, 4096, LAST), data(1, 4096, 4096, 0)].concat(), fatal::SEQUENCE, 0);
    assert_fatal(&r2t(9, 0, 4096), fatal::INVALID_HEADER_FIELD, 8);
    assert_fatal(&r2t(0, 16384, 8192), fatal::DATA_OUT_OF_RANGE, 0);
    assert_fatal(&r2t(0, 0, 0), fatal::DATA_OUT_OF_RANGE, 0);
    assert_fatal(&[4, 0, 72, 0, 72, 0, 0, 0], fatal::INVALID_HEADER_FIELD, 0);
}

#[test]
fn a_read_ends_with_its_data_or_with_its_response() {
    let mut host = host();
    let ended = events(&mut host, &[data(1, 0, 4096, 0), data(1, 4096, 4096, LAST | SUCCESS)].concat());
    let completion = |status, head, length| {
        HostEvent::Completed(Completion { command_id: 1, status, result: 0, head, data: vec![7; length] })
    };
    assert_eq!(ended, [completion(Status::SUCCESS, None, 8192)]);
    let mut host = self::host();
    let entry = CompletionEntry { command_id: 1, status: Status::POWER_LOSS, result: 0, head: 5 };
    let ended = events(&mut host, &[data(1, 0, 4096, 0), encode_response(entry, NONE)].concat());
    assert_eq!(ended, [completion(Status::POWER_LOSS, Some(5), 4096)]);
    let again = HostError::Fatal(FatalError::field(20));
    assert_eq!(events(&mut host, &encode_response(entry, NONE)), [HostEvent::Error(again)], "a second response");
}

#[test]
fn requested_data_are_sent_in_pieces_of_the_controllers_limit() {
    let mut host = host();
    assert_eq!(events(&mut host, &r2t(0, 4096, 10240)), []);
    let said: Vec<u8> = host.output().take().concat();
    let headers: Vec<(u8, u32, u32)> = [0, 24 + 4096, 48 + 8192]
        .map(|at| {
            let field = |offset: usize| u32::from_le_bytes(said[at + offset..][..4].try_into().expect("four bytes"));
            (said[at + 1], field(12), field(16))
        })
        .to_vec();
    assert_eq!(headers, [(0, 4096, 4096), (0, 8192, 4096), (LAST, 12288, 2048)]);
    assert_eq!(said.len(), 3 * 24 + 10240);
    assert_eq!(said[10..12], [3, 0], "the tag");
}

#[test]
fn a_termination_request_of_the_controller_ends_the_connection() {
    let mut host = host();
    let mut term = vec![3, 0, 24, 0, 24, 0, 0, 0, 2, 0];
    term.resize(24, 0);
    let error = HostError::Terminated(FatalError { status: fatal::SEQUENCE, information: 0 });
    assert_eq!(events(&mut host, &term), [HostEvent::Error(error)]);
    assert!(host.output().is_empty(), "it is not answered");
}
