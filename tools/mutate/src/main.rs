//! `mutate CRATE_ROOT...`: prints, as JSON, every fault that can be put into the functions of the crates with these root files.
//!
//! A fault is one edit of one function: bytes of the source file and the text that takes their place. Applying it, building
//! and running the tests is the business of `./x mutate`.

mod configuration;
mod faults;
mod functions;
mod modules;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let roots: Vec<String> = std::env::args().skip(1).collect();
    if roots.is_empty() {
        eprintln!("usage: mutate CRATE_ROOT...   (for example crates/amdgpu-hal/src/lib.rs)");
        return ExitCode::from(2);
    }
    let mut found = Vec::new();
    for root in &roots {
        match modules::files_of_crate(Path::new(root)) {
            Ok(files) => {
                for file in &files {
                    found.extend(functions::faults_of_file(file));
                }
            }
            Err(error) => {
                eprintln!("mutate: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    match serde_json::to_string(&found) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("mutate: {error}");
            ExitCode::FAILURE
        }
    }
}
