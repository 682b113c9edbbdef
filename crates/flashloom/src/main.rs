//! The `flashloom` command: its library has the command line, [`flashloom::command`].

fn main() -> std::process::ExitCode {
    flashloom::command(std::env::args_os()).into()
}
