//! The live page of a served drive: its events with a plain client, its power by POST, and the page in Chromium under load.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::browser::{Browser, LOOKS, Look};
use crate::common::WorkFolder;
use crate::page::chromium;
use crate::reading::examination;
use crate::serve::{Server, client, place, reply, request};

/// A timeout that only a hanging test reaches.
const PATIENCE: Duration = Duration::from_secs(60);

/// The server of a drive with a page.
struct Live {
    server: Server,
    url: String,
    /// The address of the page.
    at: String,
    token: String,
}

impl Live {
    fn start(place: &WorkFolder, arguments: &[&str]) -> Self {
        let web = ["--socket", "s", "--web", "127.0.0.1:0", "--on-cut", "hold"];
        let mut server = Server::start(place, &[arguments, &web].concat());
        let lines = BufReader::new(server.child.stderr.as_mut().expect("piped")).lines();
        let mut urls = lines.map(|line| line.expect("text"));
        let url =
            urls.find_map(|line| line.strip_prefix("its live page: ").map(ToOwned::to_owned)).expect("the address");
        let (at, token) = url.strip_prefix("http://").and_then(|url| url.split_once("/#token=")).expect("both");
        let (at, token) = (at.to_owned(), token.to_owned());
        Self { server, url, at, token }
    }

    /// Sends the head of a request.
    fn sent(&self, head: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.at).expect("somebody listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.write_all(format!("{head}\r\nHost: {}\r\n\r\n", self.at).as_bytes()).expect("sent");
        stream
    }

    fn asked(&self, head: &str) -> String {
        let mut text = String::new();
        self.sent(head).read_to_string(&mut text).expect("an answer");
        text
    }

    /// The frames of the page from now on.
    fn frames(&self) -> impl Iterator<Item = Value> {
        let lines = BufReader::new(self.sent("GET /events HTTP/1.1")).lines().map(|line| line.expect("an event"));
        let frames = lines.scan(false, |is_frame, line| {
            *is_frame = line.strip_prefix("event: ").map_or(*is_frame, |name| name == "frame");
            Some(line.strip_prefix("data: ").filter(|_| *is_frame).map(ToOwned::to_owned))
        });
        frames.flatten().map(|data| serde_json::from_str(&data).expect("JSON"))
    }
}

/// Clients that write and read until they are stopped.
struct ClientLoad {
    is_over: Arc<AtomicBool>,
    clients: Vec<std::thread::JoinHandle<()>>,
}

impl ClientLoad {
    /// The number of blocks of 4 KiB that the clients use.
    const BLOCKS: u64 = 128;

    fn start(place: &WorkFolder) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let streams = [(); 3].map(|()| client(place, "s", ""));
        let of = |(number, mut stream)| {
            let is_over = Arc::clone(&is_over);
            std::thread::Builder::new().spawn(move || {
                let mut block = number as u64;
                while !is_over.load(Ordering::Relaxed) {
                    block = block.wrapping_mul(25_214_903_917).wrapping_add(11);
                    let offset = (block >> 16) % Self::BLOCKS * 4096;
                    request(&mut stream, 1, offset, 4096, &[block as u8; 4096]);
                    reply(&mut stream, 0);
                    for read in 0..2 {
                        request(&mut stream, 0, (offset + read * 8192) % (Self::BLOCKS * 4096), 4096, &[]);
                        reply(&mut stream, 4096);
                    }
                }
            })
        };
        let clients = streams.into_iter().enumerate().map(of).map(|client| client.expect("a thread")).collect();
        Self { clients, is_over }
    }

    fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.clients.into_iter().for_each(|client| client.join().expect("it was served"));
    }
}

#[test]
fn a_plain_client_hears_of_the_load_and_of_the_clients() {
    let place = place();
    let live = Live::start(&place, &["d.toml", "--pace", "max"]);
    let load = ClientLoad::start(&place);
    let all = Mutex::new(Vec::new());
    let wanted = |frame: &Value| {
        let texts = frame["incidents"].as_array().expect("a list").iter();
        all.lock().expect("one").extend(texts.map(|one| one["text"].as_str().expect("a text").to_owned()));
        let busy = frame["arrays"][0]["busy"].as_array().expect("dies").iter().any(|share| share.as_f64() > Some(0.0));
        let rates = ["reads_per_s", "writes_per_s"].iter().all(|of| frame["point"][of].as_f64() > Some(0.0));
        rates && busy && frame["clients"] == 3
    };
    assert!(live.frames().take(200).any(|frame| wanted(&frame)), "no such frame");
    load.end();
    let left = |frame: &Value| frame["clients"] == 0;
    assert!(live.frames().take(200).any(|frame| left(&frame)));
    assert!(live.asked("GET /metrics HTTP/1.1").contains("flashloom_requests_total{kind=\"read\",result=\"done\"} "));
    assert!(live.asked("GET /healthz HTTP/1.1").ends_with("ok\n"));
    let (code, said) = live.server.end("TERM");
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_post_cuts_the_power_only_with_the_token() {
    let place = place();
    let live = Live::start(&place, &["d.toml", "--pace", "max"]);
    let mut nbd = client(&place, "s", "");
    request(&mut nbd, 0, 0, 4096, &[]);
    reply(&mut nbd, 4096);
    for head in ["POST /power/cut HTTP/1.1", "POST /power/cut HTTP/1.1\r\nX-Flashloom-Token: 0123"] {
        let answer = live.asked(head);
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("this needs the token"), "{answer}");
    }
    let post = |what: &str| live.asked(&format!("POST /power/{what} HTTP/1.1\r\nX-Flashloom-Token: {}", live.token));
    assert!(live.frames().next().is_some_and(|frame| frame["is_on"] == true), "wrong tokens have done nothing");
    assert!(post("cut").starts_with("HTTP/1.1 200 "));
    assert!(live.frames().take(200).any(|frame| frame["is_on"] == false));
    // The request is answered once the power is back.
    request(&mut nbd, 0, 0, 4096, &[]);
    assert!(post("on").contains("the power is on"));
    reply(&mut nbd, 4096);
    drop(nbd);
    assert_eq!(live.server.end("INT").0, Some(0));
}

/// Opens the page under load in every look. The pictures stay in the build's folder for temporary files.
#[test]
fn the_page_lives_in_a_browser() {
    let Some(program) = chromium() else { return };
    let place = place();
    let live = Live::start(&place, &["d.toml", "--pace", "max", "--verify"]);
    let load = ClientLoad::start(&place);
    let (mut browser, examination) = (Browser::start(program), examination());
    for look @ Look { width, dark } in LOOKS {
        browser.visit("about:blank", look);
        browser.visit(&live.url, look);
        // The tiles of the rates, and lines of some length.
        browser.until(
            "[...document.querySelectorAll('#tiles dd:not(.more)')].slice(0, 6).every((tile) => /[1-9]/.test(tile.textContent)) \
             && [...document.querySelectorAll('path.line')].filter((line) => line.getTotalLength() > 20).length >= 12",
        );
        browser.until(
            "/health *no fault[1-9][^a-z]*[kM]? *sectors verified/.test(document.getElementById('tiles').textContent)",
        );
        assert_eq!(browser.eval("document.querySelectorAll('rect.die').length > 5"), true);
        assert_eq!(
            browser.eval("document.documentElement.scrollWidth <= innerWidth"),
            true,
            "{look:?}: it is too wide"
        );
        assert_eq!(browser.eval("document.documentElement.dataset.theme"), if dark { "dark" } else { "light" });
        assert_eq!(browser.console, Vec::<String>::new());
        if let Some([axe, examine]) = &examination {
            browser.eval(axe);
            let result = browser.eval(examine);
            assert_eq!(result["found"], Value::Array(Vec::new()), "{look:?}");
            assert!(result["passed"].as_u64() > Some(20), "{result}");
            // axe-core writes to the console, too.
            browser.console.clear();
        }
        let name = format!("live-{width}-{}.png", if dark { "dark" } else { "light" });
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let picture = browser.picture();
        assert!(picture.starts_with(b"\x89PNG") && picture.len() > 20_000, "{} bytes", picture.len());
        std::fs::write(&path, picture).expect("written");
        println!("a picture of the live page: {}", path.display());
    }
    browser.eval("document.getElementById('cut').click()");
    browser
        .until("document.getElementById('state').dataset.state === 'off' && !document.getElementById('on').disabled");
    browser.until("/power was cut/.test(document.getElementById('incidents').textContent)");
    browser.eval("document.getElementById('on').click()");
    browser.until("document.getElementById('state').dataset.state === 'on'");
    // Without the token the page has no buttons for the power.
    browser.visit("about:blank", LOOKS[0]);
    browser.visit(live.url.split('#').next().expect("the address"), LOOKS[0]);
    browser.until("document.getElementById('state')?.dataset.state === 'on'");
    assert_eq!(browser.eval("document.getElementById('cut').disabled"), true);
    assert_eq!(browser.console, Vec::<String>::new());
    drop(browser);
    load.end();
    let (code, said) = live.server.end("TERM");
    assert_eq!(code, Some(0), "{said}");
}
