//! The program; what it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    trustbed_agent::run()
}
