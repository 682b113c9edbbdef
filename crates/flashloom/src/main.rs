//! The `flashloom` command. [`flashloom::command`] has the command line.

fn main() -> std::process::ExitCode {
    flashloom::command(std::env::args_os()).into()
}
