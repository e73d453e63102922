//! A new migration is part of the next build. Cargo knows only the files that the last build read.

fn main() {
    println!("cargo:rerun-if-changed=../migrations");
}
