//! What watchers of this process are told about memory: pools, segments, blocks, owners, leaks.

use std::collections::BTreeMap;

use amdgpu_telemetry::Lazy;
use amdgpu_telemetry::attach::{self, Question, Topic};
use serde_json::{Value, json};

use crate::pool::{Fit, Pool, siblings};
use crate::snapshot::{BlockState, SegmentSnapshot};

/// Blocks of one answer; segments past them are left out and counted. An answer of this size takes a few megabytes.
const MAX_BLOCKS: usize = 20_000;
/// Leaks of one answer.
const MAX_LEAKS: usize = 1000;

/// Lets watchers ask.
pub(crate) fn provide() {
    attach::provide(Topic::Memory, all_memory);
    amdgpu_telemetry::set_refresher(Lazy::Pools, publish);
}

/// Brings the series of all pools up to date.
fn publish() {
    let pools = siblings::all();
    for pool in pools.iter().filter(|pool| pool.is_current()) {
        pool.publish();
    }
}

#[derive(Default)]
struct Answer {
    /// Pools by device.
    devices: BTreeMap<String, Vec<Value>>,
    /// Blocks and bytes by device and owner.
    owners: BTreeMap<(String, String), (u64, u64)>,
    leaks: Vec<Value>,
    blocks_left: usize,
    reserved_bytes: u64,
    /// Free, but not to be given back, because their segment is in use.
    stuck_bytes: u64,
}

#[expect(clippy::unnecessary_wraps, reason = "the type of every provider")]
fn all_memory(question: &Question) -> Result<Value, String> {
    let mut answer = Answer {
        blocks_left: MAX_BLOCKS,
        ..Answer::default()
    };
    for pool in siblings::all() {
        if pool.is_current() {
            answer.add(&pool, question.size_bytes);
        }
    }
    Ok(answer.finish())
}

/// Nothing for blocks that nobody put a name on.
fn name_of(owner: &str) -> Option<&str> {
    (!owner.is_empty()).then_some(owner)
}

impl Answer {
    fn add(&mut self, pool: &Pool, size_bytes: Option<u64>) {
        let (stats, segments) = (pool.stats(), pool.snapshot());
        let device = pool.device.info().name.clone();
        if segments.is_empty() && stats.cache_misses == 0 {
            return;
        }
        self.reserved_bytes += stats.reserved_bytes.all.current;
        self.stuck_bytes += stats.inactive_split_bytes.all.current;
        let texts = amdgpu_telemetry::names_of(
            segments
                .iter()
                .flat_map(|segment| segment.blocks.iter().map(|block| block.owner)),
        );
        let text = |owner| texts.get(&owner).map_or("", |text| text);
        let is_closed = pool.is_device_closed();
        for block in segments.iter().flat_map(|segment| &segment.blocks) {
            if block.state != BlockState::ActiveAllocated {
                continue;
            }
            let owner = text(block.owner);
            let key = (device.clone(), owner.to_owned());
            let sum = self.owners.entry(key).or_default();
            *sum = (sum.0 + 1, sum.1 + block.size_bytes);
            if is_closed && self.leaks.len() < MAX_LEAKS {
                self.leaks.push(json!({
                    "device": device,
                    "pool": pool.kind.name(),
                    "address": block.address,
                    "size_bytes": block.size_bytes,
                    "owner": name_of(owner),
                    "reason": "its device was closed, and it is still held",
                }));
            }
        }
        if stats.num_device_free_failures > 0 {
            self.leaks.push(json!({
                "device": device,
                "pool": pool.kind.name(),
                "address": null,
                "size_bytes": null,
                "owner": null,
                "reason": format!("the device did not take {} segments back", stats.num_device_free_failures),
            }));
        }
        let (kept, left_out) = self.keep(&segments);
        let row = json!({
            "pool": pool.kind.name(),
            "number": pool.number,
            "is_device_closed": is_closed,
            "active_bytes": stats.active_bytes.all.current,
            "allocated_bytes": stats.allocated_bytes.all.current,
            "reserved_bytes": stats.reserved_bytes.all.current,
            "inactive_bytes": stats.reserved_bytes.all.current - stats.active_bytes.all.current,
            "requested_bytes": stats.requested_bytes.all.current,
            "peak_active_bytes": stats.active_bytes.all.peak,
            "fragmentation_ratio": stats.fragmentation_ratio(),
            "largest_free_bytes": largest_free_bytes(&segments),
            "fit": size_bytes.map(|bytes| fit_row(pool, bytes)),
            "cache_hits": stats.cache_hits,
            "cache_misses": stats.cache_misses,
            "out_of_memory": stats.num_ooms,
            "segments": segments[..kept].iter().map(|segment| segment_row(segment, &text)).collect::<Vec<_>>(),
            "segments_left_out": left_out,
        });
        self.devices.entry(device).or_default().push(row);
    }

    /// How many segments find room in the answer, and how many do not.
    fn keep(&mut self, segments: &[SegmentSnapshot]) -> (usize, usize) {
        let mut kept = 0;
        for segment in segments {
            if segment.blocks.len() > self.blocks_left {
                break;
            }
            self.blocks_left -= segment.blocks.len();
            kept += 1;
        }
        (kept, segments.len() - kept)
    }

    fn finish(self) -> Value {
        let mut owners: Vec<_> = self.owners.into_iter().collect();
        owners.sort_by_key(|(_, (_, bytes))| std::cmp::Reverse(*bytes));
        let owners = owners.iter().map(|((device, owner), (blocks, bytes))| {
            json!({"device": device, "owner": name_of(owner), "blocks": blocks, "bytes": bytes})
        });
        let devices = self
            .devices
            .iter()
            .map(|(device, pools)| json!({"device": device, "pools": pools}));
        let ratio =
            (self.reserved_bytes > 0).then(|| self.stuck_bytes as f64 / self.reserved_bytes as f64);
        json!({
            "devices": devices.collect::<Vec<_>>(),
            "owners": owners.collect::<Vec<_>>(),
            "fragmentation_ratio": ratio,
            "leaks": self.leaks,
        })
    }
}

/// The largest block that is free now, of all streams.
fn largest_free_bytes(segments: &[SegmentSnapshot]) -> u64 {
    let blocks = segments.iter().flat_map(|segment| &segment.blocks);
    let free = blocks.filter(|block| block.state == BlockState::Inactive);
    free.map(|block| block.size_bytes).max().unwrap_or(0)
}

fn fit_row(pool: &Pool, bytes: u64) -> Value {
    let (free_block_bytes, segment_bytes) = match pool.fit(bytes) {
        Some(Fit::FreeBlock(bytes)) => (Some(bytes), None),
        Some(Fit::Segment(bytes)) => (None, Some(bytes)),
        None => (None, None),
    };
    json!({
        "requested_bytes": bytes,
        "free_block_bytes": free_block_bytes,
        "segment_bytes": segment_bytes,
    })
}

fn segment_row<'a>(
    segment: &SegmentSnapshot,
    text: &impl Fn(amdgpu_telemetry::NameId) -> &'a str,
) -> Value {
    let blocks = segment.blocks.iter().map(|block| {
        json!({
            "address": block.address,
            "size_bytes": block.size_bytes,
            "requested_bytes": block.requested_bytes,
            "state": block.state.name(),
            "owner": match block.state {
                BlockState::Inactive => None,
                _ => name_of(text(block.owner)),
            },
        })
    });
    json!({
        "address": segment.address,
        "total_bytes": segment.total_bytes,
        "active_bytes": segment.active_bytes,
        "stream": segment.stream,
        "segment_type": segment.segment_type,
        "blocks": blocks.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use amdgpu_hal::registry;
    use serde_json::Value;

    use super::*;
    use crate::{Allocator, AllocatorOptions, Owner};

    fn blocks_of(owner: &str) -> Vec<Value> {
        let answer = all_memory(&Question::default()).unwrap();
        let all = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
        all(&answer, "devices")
            .iter()
            .flat_map(|device| all(device, "pools"))
            .flat_map(|pool| all(&pool, "segments"))
            .flat_map(|segment| all(&segment, "blocks"))
            .filter(|block| block["owner"] == owner)
            .collect()
    }

    #[test]
    fn blocks_have_their_owners_until_they_are_free() {
        static OWNER: Owner = Owner::new("a test of owners");
        let device = registry::open_device("cpu:0").unwrap();
        let allocator = Allocator::new(device, AllocatorOptions::default()).unwrap();
        let block = {
            let _owner = OWNER.enter();
            allocator.allocate(3000, None).unwrap()
        };
        let other = allocator.allocate(3000, None).unwrap();
        let listed = blocks_of("a test of owners");
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0]["address"], block.ptr().address());
        assert_eq!(listed[0]["requested_bytes"], 3000);
        assert_eq!(listed[0]["state"], "active_allocated");
        drop(block);
        assert!(blocks_of("a test of owners").is_empty());
        drop(other);
    }

    /// The device pool of an allocator as watchers see it, told apart by a block that is in use in it.
    fn pool_with(address: u64, question: &Question) -> Value {
        let answer = all_memory(question).unwrap();
        let all = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
        let pools = all(&answer, "devices")
            .iter()
            .flat_map(|device| all(device, "pools"))
            .collect::<Vec<_>>();
        let holds = |pool: &&Value| {
            all(pool, "segments")
                .iter()
                .flat_map(|segment| all(segment, "blocks"))
                .any(|block| block["address"] == address)
        };
        pools.iter().find(holds).cloned().unwrap()
    }

    #[test]
    fn pools_say_what_a_request_would_find_and_it_does() {
        let device = registry::open_device("cpu:0").unwrap();
        let allocator = Allocator::new(device, AllocatorOptions::default()).unwrap();
        let held = allocator.allocate(1000, None).unwrap();
        let address = held.ptr().address();
        for requested in [512, 1 << 20, (1 << 20) + 1, 30 << 20] {
            let question = Question {
                size_bytes: Some(requested),
                ..Question::default()
            };
            let pool = pool_with(address, &question);
            let (fit, before) = (&pool["fit"], allocator.stats());
            let block = allocator.allocate(requested, None).unwrap();
            let after = allocator.stats();
            assert_eq!(fit["requested_bytes"], requested);
            let is_hit = after.cache_hits > before.cache_hits;
            assert_eq!(
                fit["free_block_bytes"].is_u64(),
                is_hit,
                "{requested}: {fit}"
            );
            let grown = after.reserved_bytes.all.current - before.reserved_bytes.all.current;
            assert_eq!(
                fit["segment_bytes"].as_u64().unwrap_or(0),
                grown,
                "{requested}"
            );
            drop(block);
        }
        // The last one was given back and is kept.
        let pool = pool_with(address, &Question::default());
        assert!(pool["fit"].is_null());
        assert_eq!(pool["largest_free_bytes"], 30 << 20);
    }

    #[test]
    fn pools_of_one_name_have_different_numbers() {
        let device = registry::open_device("cpu:0").unwrap();
        let make = || Allocator::new(std::sync::Arc::clone(&device), AllocatorOptions::default());
        let allocators = [make().unwrap(), make().unwrap()];
        let blocks = allocators
            .each_ref()
            .map(|one| one.allocate(1000, None).unwrap());
        let numbers = blocks
            .each_ref()
            .map(|block| pool_with(block.ptr().address(), &Question::default())["number"].clone());
        assert_ne!(numbers[0], numbers[1]);
    }

    #[test]
    fn what_outlives_its_device_is_a_leak() {
        static OWNER: Owner = Owner::new("a test of leaks");
        let device = registry::open_device("cpu:0").unwrap();
        let allocator = Allocator::new(device, AllocatorOptions::default()).unwrap();
        let block = {
            let _owner = OWNER.enter();
            allocator.allocate(1000, None).unwrap()
        };
        let leaks = || -> usize {
            let answer = all_memory(&Question::default()).unwrap();
            let leaks = answer["leaks"].as_array().cloned().unwrap_or_default();
            leaks
                .iter()
                .filter(|leak| leak["owner"] == "a test of leaks")
                .count()
        };
        assert_eq!(leaks(), 0);
        allocator.set_device_closed(true);
        assert_eq!(leaks(), 1);
        drop(block);
        assert_eq!(leaks(), 0);
    }
}
