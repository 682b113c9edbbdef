//! The `flashloom` command. [`flashloom::command`] has the command line.

fn main() -> std::process::ExitCode {
    flashloom::command_with(std::env::args_os(), None).into()
}
