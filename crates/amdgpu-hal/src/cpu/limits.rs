//! How much memory and how many threads this process may use.

use std::fs;
use std::path::Path;

use amdgpu_abi::environment::{self, CPU_MEMORY_LIMIT_BYTES, CPU_THREADS};

use super::memory::Budget;
use super::pool::MAX_THREADS;
use crate::{Error, Result};

const THREADS_EXPECTED: &str = "a number of threads, 1 to 1024";

/// Bytes that the CPU device lets this process allocate: the environment's word, or physical memory and the limits of the cgroups.
pub(super) fn memory_limit_bytes() -> Result<u64> {
    if let Some(text) = environment::read(CPU_MEMORY_LIMIT_BYTES) {
        return parse(CPU_MEMORY_LIMIT_BYTES, &text, "a positive number of bytes");
    }
    let physical = meminfo_bytes("MemTotal:").unwrap_or(u64::MAX);
    Ok(physical.min(Cgroup::of_this_process().limit_bytes()))
}

/// Bytes the system could still give out; `None` where it does not tell.
#[must_use]
pub fn available_bytes() -> Option<u64> {
    let available = meminfo_bytes("MemAvailable:");
    let cgroup = Cgroup::of_this_process().free_bytes();
    lesser(available, cgroup)
}

/// The lesser of two limits, or the one that is known.
fn lesser(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Bytes that work on the host for another device may still take: what the system could give out, and no more than the CPU device would.
///
/// # Errors
///
/// The environment's limit is no number of bytes.
pub fn free_host_bytes() -> Result<u64> {
    let left = memory_limit_bytes()?.saturating_sub(Budget::used_by_process());
    Ok(available_bytes().map_or(left, |available| available.min(left)))
}

/// Threads of the pool, the caller included.
pub(super) fn thread_count() -> Result<u32> {
    match environment::read(CPU_THREADS) {
        Some(text) => parse_threads(&text),
        None => Ok(logical_cores().min(MAX_THREADS)),
    }
}

fn parse_threads(text: &str) -> Result<u32> {
    let count = parse(CPU_THREADS, text, THREADS_EXPECTED)?;
    u32::try_from(count)
        .ok()
        .filter(|&count| count <= MAX_THREADS)
        .ok_or_else(|| Error::InvalidEnvironment {
            variable: CPU_THREADS,
            value: text.to_owned(),
            expected: THREADS_EXPECTED,
        })
}

/// Cores this process may run on: affinity mask and cgroup quota considered.
pub(super) fn logical_cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

fn parse(variable: &'static str, text: &str, expected: &'static str) -> Result<u64> {
    match text.trim().parse::<u64>() {
        Ok(value) if value > 0 => Ok(value),
        _ => Err(Error::InvalidEnvironment {
            variable,
            value: text.to_string(),
            expected,
        }),
    }
}

fn meminfo_bytes(key: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The memory controllers above this process, as pairs of (limit, usage) files from the inside out.
struct Cgroup {
    levels: Vec<(u64, Option<u64>)>,
}

impl Cgroup {
    fn of_this_process() -> Self {
        let membership = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self::read(&membership, Path::new("/sys/fs/cgroup"))
    }

    /// `membership` is the text of `/proc/self/cgroup`: lines of `id:controllers:path`. Version 2 has one line with an empty controller
    /// list; version 1 mounts the memory controller in a folder of its own. Inside a container the path is often that of the outside
    /// and not to be found; the mount's root is then the container's own group, and is always looked at.
    fn read(membership: &str, root: &Path) -> Self {
        let mut levels = Vec::new();
        for line in membership.lines() {
            let mut fields = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) =
                (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let (mount, limit_name, usage_name) = if controllers.is_empty() {
                (root.to_path_buf(), "memory.max", "memory.current")
            } else if controllers.split(',').any(|name| name == "memory") {
                (
                    root.join("memory"),
                    "memory.limit_in_bytes",
                    "memory.usage_in_bytes",
                )
            } else {
                continue;
            };
            let relative = Path::new(path.trim_start_matches('/'));
            for level in relative.ancestors() {
                let folder = mount.join(level);
                // Version 2 writes `max` for no limit, which does not parse; version 1 writes a number beyond all memory.
                if let Some(limit) = read_number(&folder.join(limit_name)) {
                    levels.push((limit, read_number(&folder.join(usage_name))));
                }
            }
        }
        Self { levels }
    }

    fn limit_bytes(&self) -> u64 {
        self.levels
            .iter()
            .map(|&(limit, _)| limit)
            .min()
            .unwrap_or(u64::MAX)
    }

    fn free_bytes(&self) -> Option<u64> {
        self.levels
            .iter()
            .filter_map(|&(limit, usage)| Some(limit.saturating_sub(usage?)))
            .min()
    }
}

fn read_number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str, files: &[(&str, &str)]) -> std::path::PathBuf {
        let root = std::env::temp_dir().join(format!("agpu-limits-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn version_2_takes_the_tightest_level() {
        let root = folder(
            "v2",
            &[
                ("a/memory.max", "1000\n"),
                ("a/memory.current", "900\n"),
                ("a/b/memory.max", "max\n"),
                ("a/b/c/memory.max", "2000\n"),
                ("a/b/c/memory.current", "100\n"),
            ],
        );
        let group = Cgroup::read("0::/a/b/c\n", &root);
        fs::remove_dir_all(root).unwrap();
        assert_eq!(group.limit_bytes(), 1000);
        assert_eq!(group.free_bytes(), Some(100));
    }

    #[test]
    fn version_1_uses_the_memory_controller_and_the_mount_root() {
        let root = folder(
            "v1",
            &[
                ("memory/memory.limit_in_bytes", "5000\n"),
                ("memory/memory.usage_in_bytes", "1\n"),
            ],
        );
        let group = Cgroup::read(
            "nonsense\n7:cpu,cpuacct:/x\n4:memory:/not/mounted/here\n0::/x\n",
            &root,
        );
        fs::remove_dir_all(root).unwrap();
        assert_eq!(group.limit_bytes(), 5000);
        assert_eq!(group.free_bytes(), Some(4999));
    }

    #[test]
    fn no_cgroup_means_no_limit() {
        let group = Cgroup::read("nonsense\n1:name=systemd:/\n", Path::new("/nonexistent"));
        assert_eq!(group.limit_bytes(), u64::MAX);
        assert_eq!(group.free_bytes(), None);
    }

    #[test]
    fn numbers_that_are_not_positive_are_refused() {
        for text in ["0", "-1", "many", "1.5", "99999999999999999999"] {
            assert!(
                parse(CPU_MEMORY_LIMIT_BYTES, text, "a number").is_err(),
                "{text}"
            );
        }
        assert_eq!(
            parse(CPU_MEMORY_LIMIT_BYTES, " 4096 ", "a number"),
            Ok(4096)
        );
    }

    #[test]
    fn threads_are_1_to_1024() {
        for (text, count) in [("1", 1), (" 7 ", 7), ("1023", 1023), ("1024", 1024)] {
            assert_eq!(parse_threads(text), Ok(count));
        }
        for text in ["0", "1025", "4294967297", "-1", "", "two"] {
            let error = parse_threads(text).unwrap_err().to_string();
            assert!(error.contains("1 to 1024"), "{error}");
        }
    }

    #[test]
    fn the_tighter_of_two_limits_counts() {
        for (one, other, expected) in [
            (Some(3), Some(5), Some(3)),
            (Some(5), Some(3), Some(3)),
            (Some(3), None, Some(3)),
            (None, Some(5), Some(5)),
            (None, None, None),
        ] {
            assert_eq!(lesser(one, other), expected);
        }
    }

    #[test]
    fn this_machine_tells_its_memory() {
        assert!(meminfo_bytes("MemTotal:").unwrap() > 1 << 20);
        assert!(available_bytes().unwrap() > 0);
    }
}
