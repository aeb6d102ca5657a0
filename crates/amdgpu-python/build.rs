//! The name that libamdgpu.so carries inside, by which the loader finds that a process has it already.

fn main() {
    println!("cargo::rustc-link-arg-cdylib=-Wl,-soname,libamdgpu.so");
    println!("cargo::rerun-if-changed=build.rs");
}
