//! What kernels of the CPU device are told of their launch, and launches that cannot be.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod scene {
    pub mod object;
}

use std::sync::{Arc, OnceLock};

use amdgpu_hal::cpu::DirectLaunch;
use amdgpu_hal::{DevicePointer, Function, LaunchConfig, registry};

use scene::object;

/// Writes eight words for each block: grid, block, shared memory and whether its arguments are aligned.
const SOURCE: &str = r"
typedef unsigned long long u64;
typedef unsigned int u32;
struct launch { u32 grid[3]; u32 block[3]; void *shared; u64 shared_bytes; };
struct arguments { u64 *out; u64 number; };
void tell(const struct arguments *arguments, const struct launch *launch, u64 begin, u64 end) {
    for (u64 block = begin; block < end; block++) {
        u64 *out = arguments->out + 8 * block;
        out[0] = launch->grid[0] + 1000 * launch->grid[1] + 1000000 * (u64)launch->grid[2];
        out[1] = launch->block[0] + 1000 * launch->block[1] + 1000000 * (u64)launch->block[2];
        out[2] = (u64)launch->shared;
        out[3] = launch->shared_bytes;
        out[4] = (u64)arguments % 16;
        out[5] = arguments->number;
        out[6] = block;
        for (u64 byte = 0; byte < launch->shared_bytes; byte++)
            ((volatile unsigned char *)launch->shared)[byte] = 1;
        out[7]++;
    }
}
";

fn tell() -> Arc<dyn Function> {
    static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();
    let image = IMAGE.get_or_init(|| object::compiled("launches", SOURCE));
    let device = registry::open_device("cpu:0").unwrap();
    device.load_module(image).unwrap().function("tell").unwrap()
}

/// Space for the words of as many blocks, and the arguments that lead there.
fn scene(blocks: usize, number: u64) -> (Vec<[u64; 8]>, Vec<u8>) {
    let mut words = vec![[0; 8]; blocks];
    let address = DevicePointer::from_host(words.as_mut_ptr()).address();
    let arguments = [address, number].into_iter().flat_map(u64::to_le_bytes);
    (words, arguments.collect())
}

#[test]
fn kernels_are_told_grid_block_and_shared_memory() {
    let (function, device) = (tell(), registry::open_device("cpu:0").unwrap());
    for stream in [
        Arc::clone(device.default_stream()),
        device.create_stream().unwrap(),
    ] {
        // Larger, then smaller again: memory that is kept between launches is large enough each time.
        for shared_bytes in [0, 1, 100, 65_536, 64] {
            let config = LaunchConfig {
                grid: [3, 2, 4],
                block: [5, 6, 7],
                shared_bytes,
            };
            let (words, arguments) = scene(24, 42);
            // Behind a byte that keeps the block of arguments from being aligned.
            let shifted = [&[0], arguments.as_slice()].concat();
            for arguments in [&arguments, &shifted[1..]] {
                // SAFETY: the kernel writes the words of its blocks, which outlive the wait.
                unsafe { stream.launch(function.as_ref(), &config, arguments) }.unwrap();
                stream.synchronize().unwrap();
            }
            for (block, told) in words.iter().enumerate() {
                let [grid, threads, shared, bytes, misaligned, number, own, count] = *told;
                assert_eq!((grid, threads), (4_002_003, 7_006_005));
                assert_eq!(
                    (bytes, number, own),
                    (u64::from(shared_bytes), 42, block as u64)
                );
                assert_eq!((shared == 0, shared % 64), (shared_bytes == 0, 0));
                assert_eq!(
                    (misaligned, count),
                    (0, 2),
                    "each block runs once in a launch"
                );
            }
        }
    }
}

#[test]
fn a_grid_beyond_all_numbers_is_an_error_of_its_stream() {
    let (function, device) = (tell(), registry::open_device("cpu:0").unwrap());
    let (words, arguments) = scene(1, 0);
    let config = LaunchConfig {
        grid: [u32::MAX; 3],
        block: [1; 3],
        shared_bytes: 0,
    };
    for stream in [
        Arc::clone(device.default_stream()),
        device.create_stream().unwrap(),
    ] {
        // SAFETY: nothing runs.
        unsafe { stream.launch(function.as_ref(), &config, &arguments) }.unwrap();
        assert_eq!(
            stream.synchronize().unwrap_err().to_string(),
            "cpu:0: launch failed: a grid of [4294967295, 4294967295, 4294967295] blocks is more than 2^64"
        );
        stream.synchronize().unwrap();
    }
    assert_eq!(words[0], [0; 8]);
    let none = LaunchConfig {
        grid: [0, 1, 1],
        ..config
    };
    // SAFETY: a grid without blocks runs nothing.
    unsafe {
        device
            .default_stream()
            .launch(function.as_ref(), &none, &arguments)
    }
    .unwrap();
    device.default_stream().synchronize().unwrap();
    assert_eq!(words[0], [0; 8]);
}

#[test]
fn direct_launches_run_the_blocks_that_they_are_told() {
    let function = tell();
    let config = LaunchConfig {
        grid: [4, 1, 1],
        block: [1; 3],
        shared_bytes: 32,
    };
    let (words, arguments) = scene(4, 1);
    let mut direct = DirectLaunch::new(function.as_ref(), &config, &arguments).unwrap();
    // SAFETY: the kernel writes the words of its blocks.
    unsafe { direct.run(1..3) };
    direct.set(8, &9_u64.to_le_bytes());
    // SAFETY: as above.
    unsafe { direct.run(3..4) };
    let told: Vec<_> = words.iter().map(|word| (word[5], word[7])).collect();
    assert_eq!(told, [(0, 0), (1, 1), (1, 1), (9, 1)]);
    assert_eq!(words[1][3], 32);
    assert!(words[1][2].is_multiple_of(64) && words[1][2] != 0);
}
