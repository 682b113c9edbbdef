//! The blocks of a page: files, commands, and the commands' outputs.

/// A command and the lines shown of its output.
#[derive(Clone, Debug)]
pub(crate) struct ShownCommand {
    /// The line of the command in the page, counted from one.
    pub(crate) line: usize,
    /// The command, without its comment.
    pub(crate) command: String,
    /// True if the comment of the command gives minutes.
    pub(crate) takes_minutes: bool,
    /// The shown lines; `...` stands for omitted ones.
    pub(crate) output: Vec<String>,
    /// The number of lines of the page before the shown lines.
    pub(crate) output_at: usize,
}

#[derive(Clone, Debug)]
pub(crate) enum FencedBlock {
    /// ```` ```toml NAME ````, also `csv`, `ini`, `sh`, `text`, `xml` and `yaml`: the name and the text of a file.
    File(String, String),
    Console(Vec<ShownCommand>),
    /// ```` ```text ````: forms of commands, not commands.
    Forms(String),
    /// ```` ```rust ```` or ```` ```python ```` with nothing but `{{#include PATH}}`: the path. What it includes is compiled or
    /// run elsewhere.
    Include(String),
    /// ```` ```toml ````, a quotation, or ```` ```console,norun ````: a page that has these has a test of its own for them.
    Quotation(usize),
    /// Any other block, with its line.
    Unknown(usize, String),
}

pub(crate) fn blocks(text: &str) -> Vec<FencedBlock> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else { continue };
        let body: Vec<(usize, &str)> = lines.by_ref().take_while(|(_, line)| !line.starts_with("```")).collect();
        let text = || body.iter().map(|(_, line)| format!("{line}\n")).collect::<String>();
        blocks.push(match kind.split_whitespace().collect::<Vec<_>>()[..] {
            ["toml" | "csv" | "ini" | "sh" | "text" | "xml" | "yaml", name] => {
                FencedBlock::File(name.to_owned(), text())
            }
            ["console"] => FencedBlock::Console(commands(&body)),
            ["text"] => FencedBlock::Forms(text()),
            ["toml"] | ["console,norun"] => FencedBlock::Quotation(at + 1),
            ["rust" | "python"] => {
                match text().trim().strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}")) {
                    Some(path) if body.len() == 1 => FencedBlock::Include(path.to_owned()),
                    _ => FencedBlock::Unknown(at + 1, kind.to_owned()),
                }
            }
            _ => FencedBlock::Unknown(at + 1, kind.to_owned()),
        });
    }
    blocks
}

fn commands(body: &[(usize, &str)]) -> Vec<ShownCommand> {
    let mut all: Vec<ShownCommand> = Vec::new();
    let mut goes_on = false;
    for (at, line) in body {
        let part = line.strip_prefix("$ ").or(goes_on.then_some(*line));
        let Some(part) = part else {
            let shown = all.last_mut().unwrap_or_else(|| panic!("line {}: output of no command", at + 1));
            if shown.output.is_empty() {
                shown.output_at = *at;
            }
            shown.output.push((*line).to_owned());
            continue;
        };
        let (part, comment) = part.split_once(" #").unwrap_or((part, ""));
        let words = part.trim_end().trim_end_matches('\\').trim();
        let takes_minutes = comment.contains("minute");
        if goes_on {
            let shown = all.last_mut().expect("its first line");
            shown.command = format!("{} {words}", shown.command);
            shown.takes_minutes |= takes_minutes;
        } else {
            all.push(ShownCommand {
                line: at + 1,
                command: words.to_owned(),
                takes_minutes,
                output: Vec::new(),
                output_at: 0,
            });
        }
        goes_on = part.trim_end().ends_with('\\');
    }
    all
}

impl ShownCommand {
    /// The first shown line that `printed` lacks or has in another order.
    pub(crate) fn differs(&self, printed: &str) -> Option<String> {
        let printed: Vec<&str> = printed.trim_end().lines().map(str::trim_end).collect();
        let (mut at, mut anywhere) = (0, false);
        for part in self.output.split_inclusive(|line| line == "...") {
            let cut = part.last().is_some_and(|line| line == "...");
            let wanted: Vec<&str> = part[..part.len() - usize::from(cut)].iter().map(|line| line.trim_end()).collect();
            let last = printed.len().checked_sub(wanted.len());
            let fits = |from: usize| printed[from..from + wanted.len()] == wanted[..];
            let found = match last {
                Some(last) if anywhere => (at..=last).find(|from| fits(*from)),
                Some(last) => (at <= last && fits(at)).then_some(at),
                None => None,
            };
            let Some(from) = found else {
                return Some(format!("from line {at} on there is not:\n{}", wanted.join("\n")));
            };
            (at, anywhere) = (from + wanted.len(), cut);
        }
        (!anywhere && at < printed.len()).then(|| format!("more is printed:\n{}", printed[at..].join("\n")))
    }
}
