//! Links an AMD object: `cargo run -p amdgpu-compiler --example link_object -- IN.o OUT.hsaco`; prints what kernels occupy.

use std::error::Error;
use std::{env, fs};

use amdgpu_compiler::link;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [input, output] = arguments.as_slice() else {
        return Err("usage: link_object IN.o OUT.hsaco".into());
    };
    let linked = link::link(&fs::read(input)?)?;
    for kernel in link::resources(&linked)? {
        println!("{kernel:?}");
    }
    fs::write(output, linked)?;
    Ok(())
}
