//! The syntax of job files: sections, options, comments, and the defaults of `[global]`.

use super::options::canonical;
use crate::fault::Faults;

/// One option as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// Line, counted from one.
    pub(super) line: u64,
    /// Its section.
    pub(super) section: String,
    /// Its canonical name in fio's manual.
    pub(super) key: String,
    /// Its value; `None` for an option without a value, which is a true boolean.
    pub(super) value: Option<String>,
}

impl Setting {
    /// The place of the setting, as faults name it.
    pub(super) fn path(&self) -> String {
        format!("line {}, [{}] {}", self.line, self.section, self.key)
    }
}

/// One job with all its settings, defaults included. A later setting of a key replaces an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job {
    /// Line of its header.
    pub(super) line: u64,
    pub(super) name: String,
    pub(super) settings: Vec<Setting>,
}

impl Job {
    /// The setting of `key`, if there is one.
    pub(super) fn get(&self, key: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.key == key)
    }

    fn set(&mut self, setting: Setting) {
        self.settings.retain(|old| old.key != setting.key);
        self.settings.push(setting);
    }
}

/// The jobs in the order of the file. The `[global]` sections above a job are its defaults.
pub(super) fn jobs(text: &str, faults: &mut Faults) -> Vec<Job> {
    let mut global = Job { line: 0, name: "global".to_owned(), settings: Vec::new() };
    let mut jobs: Vec<Job> = Vec::new();
    // `None` before the first section; then whether settings are defaults or belong to the last job.
    let mut section = None;
    for (index, raw) in text.lines().enumerate() {
        let line = index as u64 + 1;
        let written = raw.trim();
        if written.is_empty() || written.starts_with([';', '#']) {
            continue;
        }
        if let Some(name) = written.strip_prefix('[') {
            let Some(name) = name.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty()) else {
                faults.add(format!("line {line}"), format!("`{written}` is not a section"), "write [name of the job]");
                continue;
            };
            section = Some(name == "global");
            if name != "global" {
                jobs.push(Job { line, name: name.to_owned(), settings: global.settings.clone() });
            }
            continue;
        }
        let Some(in_global) = section else {
            let message = format!("`{written}` stands before the first section");
            faults.add(format!("line {line}"), message, "put it below [global] or the [name] of a job");
            continue;
        };
        let job = if in_global { &mut global } else { jobs.last_mut().expect("a section has begun") };
        let (key, value) = match written.split_once('=') {
            Some((key, value)) => (key.trim_end(), Some(value.trim_start().to_owned())),
            None => (written, None),
        };
        let setting = Setting { line, section: job.name.clone(), key: canonical(key).to_owned(), value };
        if key.split_whitespace().next() == Some("include") {
            faults.add(setting.path(), "other files are not included", "paste the file's options here");
        } else if let Some(value) = setting.value.as_deref().filter(|v| v.contains("${") || is_computed(v)) {
            let message = format!("`{value}` is a variable or an expression, which Flashloom does not evaluate");
            faults.add(setting.path(), message, "write the number itself");
        } else {
            job.set(setting);
        }
    }
    if jobs.is_empty() {
        faults.add("line 1", "the file has no job", "add a section [name] below [global]");
    }
    jobs
}

/// True for keywords that fio replaces, and for arithmetic in parentheses.
fn is_computed(value: &str) -> bool {
    value.contains("$pagesize") || value.contains("$mb_memory") || value.contains("$ncpus") || value.starts_with('(')
}
