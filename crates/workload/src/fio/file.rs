//! The syntax of job files: sections, options, comments, and the defaults of `[global]`.

use super::options;
use crate::fault::Faults;

/// One option as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// Line, counted from one.
    pub(super) line: u64,
    pub(super) section: String,
    /// The option's name in fio's manual; an alias is replaced by it.
    pub(super) key: String,
    /// The name as written.
    pub(super) written: String,
    /// The option's value; `None` for an option without a value, which is a true boolean.
    pub(super) value: Option<String>,
}

impl Setting {
    /// The place of the setting as it appears in faults.
    pub(super) fn path(&self) -> String {
        format!("line {}, [{}] {}", self.line, self.section, self.written)
    }

    /// True if fio would replace a part of the value by a variable of its environment, or by a number of the machine.
    pub(super) fn is_computed(&self) -> bool {
        const WORDS: [&str; 4] = ["${", "$pagesize", "$mb_memory", "$ncpus"];
        self.value.as_deref().is_some_and(|value| WORDS.iter().any(|word| value.contains(word)))
    }
}

/// One job with all its settings, defaults included. A later setting of a key replaces an earlier setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job {
    /// The line of the job's header, counted from one.
    pub(super) line: u64,
    pub(super) name: String,
    pub(super) settings: Vec<Setting>,
}

impl Job {
    /// The setting of `key`, if there is one.
    pub(super) fn get(&self, key: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.key == key)
    }

    /// The place of the job as it appears in faults.
    pub(super) fn path(&self) -> String {
        format!("line {}, [{}]", self.line, self.name)
    }

    /// The place of `key`, or of the job if the job does not have the option.
    pub(super) fn path_of(&self, key: &str) -> String {
        self.get(key).map_or_else(|| format!("{} {key}", self.path()), Setting::path)
    }

    fn set(&mut self, setting: Setting) {
        self.settings.retain(|old| old.key != setting.key);
        self.settings.push(setting);
    }
}

/// Removes the comment of a line, which begins with `;` or `#` at any position, and the blanks around the rest.
fn stripped(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or_default().trim_matches(|c: char| c.is_whitespace() || c.is_control())
}

/// The jobs in the order of the file. The `[global]` sections above a job are its defaults.
pub(super) fn jobs(text: &str, faults: &mut Faults) -> Vec<Job> {
    let mut global = Job { line: 0, name: "global".to_owned(), settings: Vec::new() };
    let mut jobs: Vec<Job> = Vec::new();
    // `None` before the first section; then true while settings are defaults, false while they belong to the last job.
    let mut section = None;
    for (index, raw) in text.lines().enumerate() {
        let line = index as u64 + 1;
        let written = stripped(raw);
        if written.is_empty() {
            continue;
        }
        if let Some(rest) = written.strip_prefix('[') {
            let name = rest.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
            let Some(name) = name else {
                faults.add(format!("line {line}"), format!("`{written}` is not a section"), "write [name of the job]");
                continue;
            };
            // fio compares only the first six letters.
            let is_global = name.starts_with("global");
            section = Some(is_global);
            if !is_global {
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
        let (name, value) = match written.split_once('=') {
            Some((name, value)) => (name.trim_end(), Some(value.trim_start().to_owned())),
            None => match written.split_once(char::is_whitespace) {
                Some(("include", file)) => ("include", Some(file.trim_start().to_owned())),
                _ => (written, None),
            },
        };
        let key = options::find(name).map_or(name, |option| option.name).to_owned();
        job.set(Setting { line, section: job.name.clone(), key, written: name.to_owned(), value });
    }
    if jobs.is_empty() {
        faults.add("line 1", "the file has no job", "add a section [name] below [global]");
    }
    jobs
}
