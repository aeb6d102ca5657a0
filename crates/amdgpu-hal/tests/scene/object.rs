//! Kernels of tests, written in C: what the CPU device loads as a module.

use std::process::Command;

/// The object file of a source; `name` tells the folders of test programs apart.
pub fn compiled(name: &str, source: &str) -> Vec<u8> {
    let folder = std::env::temp_dir().join(format!("agpu-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (text, object) = (folder.join("kernels.c"), folder.join("kernels.o"));
    std::fs::write(&text, source).unwrap();
    let options = [
        "-c",
        "-O2",
        "-fPIC",
        "-ffreestanding",
        "-fno-stack-protector",
    ];
    let status = Command::new("cc")
        .args(options)
        .arg(&text)
        .arg("-o")
        .arg(&object)
        .status();
    assert!(status.expect("the tests need a C compiler").success());
    let image = std::fs::read(&object).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    image
}
