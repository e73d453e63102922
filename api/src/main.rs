//! The binary. What it does is in the library beside it, which the compiler begins while the crates below are not done yet.

use std::process::ExitCode;

fn main() -> ExitCode {
    muniment::main()
}
