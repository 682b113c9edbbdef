//! A headless Chromium under the DevTools protocol: pages at the width of a phone, in dark, under the keyboard and on paper.
//!
//! The protocol runs over a pipe (`--remote-debugging-pipe`): the browser reads file 3 and writes file 4, which a shell connects
//! to its standard input and output. Messages are JSON and end with a zero byte.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The width and the theme in which a page is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) width: u32,
    pub(crate) dark: bool,
}

/// A desktop and a phone, each light and dark.
pub(crate) const LOOKS: [Look; 4] = [
    Look { width: 1280, dark: false },
    Look { width: 1280, dark: true },
    Look { width: 390, dark: false },
    Look { width: 390, dark: true },
];

pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    number: u64,
    session: Option<String>,
    /// Messages that pages wrote to the console, and their errors.
    pub(crate) console: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Browser {
    pub(crate) fn start(program: &str) -> Self {
        let profile = tempfile::tempdir().expect("a directory");
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 >/dev/null 2>&1 </dev/null", program]).args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-extensions",
            "--no-first-run",
            "--remote-debugging-pipe",
        ]);
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let (to, from) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let from = BufReader::new(from);
        let mut browser = Self { child, to, from, number: 0, session: None, console: Vec::new(), _profile: profile };
        let targets = browser.call("Target.getTargets", &json!({}));
        let page = targets["targetInfos"].as_array().expect("targets").iter().find(|target| target["type"] == "page");
        let id = page.expect("a page")["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", &json!({ "targetId": id, "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(ToOwned::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        // A page in a headless window has no focus of its own.
        browser.call("Emulation.setFocusEmulationEnabled", &json!({ "enabled": true }));
        browser
    }

    /// Calls a method of the protocol, and keeps the console messages that arrive meanwhile.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        write!(self.to, "{message}\0").expect("the browser listens");
        self.to.flush().expect("the browser listens");
        loop {
            let mut answer = Vec::new();
            self.from.read_until(0, &mut answer).expect("the browser answers");
            assert_eq!(answer.pop(), Some(0), "the browser ended in {method}");
            let answer: Value = serde_json::from_slice(&answer).expect("JSON");
            if answer["id"] == self.number {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            if ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"]
                .iter()
                .any(|of| answer["method"] == *of)
            {
                self.console.push(answer["params"].to_string());
            }
        }
    }

    /// Opens a file in this look, and waits until its charts are drawn.
    pub(crate) fn open(&mut self, file: &Path, look: Look) {
        self.visit(&format!("file://{}", file.display()), look);
        self.drawn();
    }

    /// Opens an address in this look.
    pub(crate) fn visit(&mut self, url: &str, look: Look) {
        let Look { width, dark } = look;
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500 });
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let scheme = json!({ "name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" } });
        self.call("Emulation.setEmulatedMedia", &json!({ "media": "", "features": [scheme] }));
        self.call("Page.navigate", &json!({ "url": url }));
    }

    /// Waits until a JavaScript expression is true.
    pub(crate) fn until(&mut self, expression: &str) {
        let looked = format!(
            "new Promise((done) => {{ const end = Date.now() + 60000; const look = () => ({expression}) ? done(true) : \
             Date.now() > end ? done(false) : setTimeout(look, 20); look(); }})"
        );
        assert_eq!(self.eval(&looked), true, "it never becomes true: {expression}");
    }

    /// The whole page as a picture, in PNG.
    pub(crate) fn picture(&mut self) -> Vec<u8> {
        let params = json!({ "format": "png", "captureBeyondViewport": true });
        let answer = self.call("Page.captureScreenshot", &params);
        from_base64(answer["data"].as_str().expect("a picture"))
    }

    /// Waits until all charts are drawn.
    pub(crate) fn drawn(&mut self) {
        self.eval(
            "new Promise((done) => { const look = () => document.documentElement.dataset.drawn ? done(1) : setTimeout(look, 20); \
             document.readyState === 'complete' ? look() : addEventListener('load', look); })",
        );
    }

    /// The value of a JavaScript expression. Waits for the value of a promise.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", &params);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    pub(crate) fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", &json!({ "type": kind, "key": key, "code": key }));
        }
    }
}

/// The bytes of a text in base64.
fn from_base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |byte| DIGITS.iter().position(|digit| *digit == byte).expect("base64") as u32;
    let digits: Vec<_> = text.trim_end_matches('=').bytes().map(digit).collect();
    let group = |group: &[u32]| {
        let bits = group.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - group.len()));
        bits.to_be_bytes()[1..group.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}

#[test]
fn base64_is_read() {
    let of = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmFy", "+/8="].map(from_base64);
    assert_eq!(of, [&b""[..], b"f", b"fo", b"foo", b"foob", b"foobar", b"\xfb\xff"]);
}

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
