//! The host that a request is for.

use std::net::{Ipv4Addr, Ipv6Addr};

/// True if this is a name of this machine on its loopback interface, with or without a port.
pub(super) fn is_this_machine(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else { return false };
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let Some((name, rest)) = rest.split_once(']') else { return false };
            if !name.parse::<Ipv6Addr>().is_ok_and(|name| name.is_loopback()) {
                return false;
            }
            ("localhost", rest.strip_prefix(':').or(rest.is_empty().then_some("0")).unwrap_or("none"))
        }
        None => host.split_once(':').unwrap_or((host, "0")),
    };
    let is_port = port.parse::<u16>().is_ok();
    is_port && (name.eq_ignore_ascii_case("localhost") || name.parse::<Ipv4Addr>().is_ok_and(|name| name.is_loopback()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_loopback_interface() {
        let ours = ["localhost", "LocalHost:9100", "127.0.0.1", "127.0.0.1:80", "127.9.9.9:1", "[::1]", "[::1]:8080"];
        for host in ours {
            assert!(is_this_machine(host.as_bytes()), "{host}");
        }
        let others = [
            "",
            "example.com",
            "localhost.example.com",
            "127.0.0.1.example.com",
            "example.com:80",
            "192.0.2.1",
            "0.0.0.0",
            "127.1",
            "localhost:",
            "localhost:x",
            "127.0.0.1:80:80",
            "[::1",
            "[::1]x",
            "[::2]",
            "::1",
            "user@localhost",
            "\u{e9}",
        ];
        for host in others {
            assert!(!is_this_machine(host.as_bytes()), "{host}");
        }
        assert!(!is_this_machine(&[0xff]));
    }
}
