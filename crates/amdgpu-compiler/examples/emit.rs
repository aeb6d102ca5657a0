//! Compiles a file and writes one JSON object: the compiled unit, or `{"error": "..."}` with exit status 1.
//!
//! `cargo run -p amdgpu-compiler --example emit -- FILE [--target NAME] [--cpu NAME --features LIST --triple TRIPLE]
//! [--level LEVEL] [--disable PASS] [--kernel 'NAME<ARGUMENTS>'] [--dump]`

use std::process::ExitCode;

use amdgpu_compiler::{CompileOptions, Compiler, OptimizationLevel, Target};

fn run() -> Result<String, String> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("a file is needed")?;
    let mut options = CompileOptions {
        name: file.clone(),
        ..CompileOptions::default()
    };
    let (mut target, mut triple, mut cpu, mut features) =
        ("x86_64".to_owned(), None, String::new(), String::new());
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{flag} needs a value"));
        match flag.as_str() {
            "--target" => target = value()?,
            "--triple" => triple = Some(value()?),
            "--cpu" => cpu = value()?,
            "--features" => features = value()?,
            "--level" => {
                let level = OptimizationLevel::parse(&value()?);
                options.optimization_level = level.ok_or("levels are none, low, high, max")?;
            }
            "--disable" => options.disabled_passes.push(value()?),
            "--kernel" => options.name_expressions.push(value()?),
            "--fast-math" => options.fast_math = true,
            "--dump" => options.dump_ir = true,
            other => return Err(format!("unknown argument {other}")),
        }
    }
    let source = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let target = match triple {
        Some(triple) => Target::host(&triple, &cpu, &features),
        None => Target::parse(&target).ok_or(format!("unknown target {target}"))?,
    };
    let unit = Compiler::new()
        .compile(&source, &options, &target)
        .map_err(|error| error.to_string())?;
    serde_json::to_string(&unit).map_err(|error| error.to_string())
}

fn main() -> ExitCode {
    match run() {
        Ok(json) => {
            println!("{json}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
