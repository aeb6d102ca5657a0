use super::*;

const STREAM: u64 = 7;

fn segment(address: u64, bytes: u64) -> Segment {
    Segment { address, bytes }
}

/// A cache with one small segment at 4096, of which the first block is taken.
fn with_small_segment() -> (Cache, Taken) {
    let mut cache = Cache::new(u64::MAX);
    let taken = cache.add_segment(STREAM, segment(4096, 2 << 20), 512, 100);
    (cache, taken)
}

fn free(cache: &mut Cache, taken: Taken) {
    assert!(cache.give_back(taken.handle));
    cache.release(taken.handle);
}

#[test]
fn a_stale_handle_is_refused_and_changes_nothing() {
    let (mut cache, first) = with_small_segment();
    free(&mut cache, first);
    let before = cache.stats;
    assert!(!cache.give_back(first.handle));
    let second = cache.take(STREAM, 512, 512).unwrap();
    assert_eq!(second.address, first.address);
    assert!(!cache.is_live(first.handle) && cache.is_live(second.handle));
    assert!(!cache.give_back(first.handle));
    free(&mut cache, second);
    assert_eq!(cache.stats.active, before_plus_one(before).active);
}

/// The statistics after one more block came and went.
fn before_plus_one(mut stats: MemoryStats) -> MemoryStats {
    stats.active.increase(true, 1);
    stats.active.decrease(true, 1);
    stats
}

#[test]
fn freed_neighbours_are_joined_in_every_order() {
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let (mut cache, first) = with_small_segment();
        let others = [(); 2].map(|()| cache.take(STREAM, 1024, 1024).unwrap());
        let blocks = [first, others[0], others[1]];
        assert_eq!(blocks.map(|block| block.address), [4096, 4608, 5632]);
        for index in order {
            free(&mut cache, blocks[index]);
        }
        let snapshot = cache.snapshot("device");
        assert_eq!(snapshot[0].blocks.len(), 1, "{order:?}");
        assert_eq!(snapshot[0].blocks[0].size_bytes, 2 << 20);
        assert_eq!(cache.stats.inactive_split.all.current, 0);
        assert_eq!(cache.stats.active_bytes.all.current, 0);
    }
}

#[test]
fn a_block_still_in_use_by_a_stream_is_not_joined() {
    let (mut cache, first) = with_small_segment();
    let second = cache.take(STREAM, 512, 512).unwrap();
    assert!(cache.give_back(first.handle));
    free(&mut cache, second);
    let states: Vec<BlockState> = cache.snapshot("device")[0]
        .blocks
        .iter()
        .map(|block| block.state)
        .collect();
    assert_eq!(
        states,
        [BlockState::ActiveAwaitingFree, BlockState::Inactive]
    );
    assert!(cache.evict(Eviction::EVERYTHING).is_empty());
    cache.release(first.handle);
    assert_eq!(cache.evict(Eviction::EVERYTHING), [segment(4096, 2 << 20)]);
    assert_eq!(cache.stats.reserved_bytes.all.current, 0);
}

#[test]
fn only_what_was_given_back_before_the_tick_is_evicted() {
    let mut cache = Cache::new(u64::MAX);
    let old = cache.add_segment(STREAM, segment(1 << 30, 32 << 20), 32 << 20, 1);
    let new = cache.add_segment(STREAM, segment(2 << 30, 32 << 20), 32 << 20, 1);
    free(&mut cache, old);
    let before_tick = cache.next_tick();
    free(&mut cache, new);
    let eviction = Eviction {
        before_tick,
        ..Eviction::EVERYTHING
    };
    assert_eq!(cache.evict(eviction), [segment(1 << 30, 32 << 20)]);
    assert!(cache.evict(eviction).is_empty());
    assert_eq!(
        cache.evict(Eviction::EVERYTHING),
        [segment(2 << 30, 32 << 20)]
    );
}

#[test]
fn slots_of_streams_are_used_again() {
    let mut cache = Cache::new(u64::MAX);
    for stream in 0..1_000 {
        let taken = cache.add_segment(stream, segment(4096, 2 << 20), 512, 512);
        free(&mut cache, taken);
        assert_eq!(cache.evict(Eviction::EVERYTHING).len(), 1);
    }
    assert_eq!(cache.streams.len(), 1);
    assert!(cache.slots.is_empty());
    assert_eq!(cache.entries.len(), 2);
}

#[test]
fn large_blocks_keep_rests_that_are_too_small_to_split() {
    let mut cache = Cache::new(u64::MAX);
    let whole = cache.add_segment(STREAM, segment(1 << 30, 20 << 20), 19 << 20, 19 << 20);
    assert_eq!(whole.bytes, 20 << 20);
    free(&mut cache, whole);
    let split = cache.take(STREAM, (19 << 20) - 512, 1).unwrap();
    assert_eq!(split.bytes, (19 << 20) - 512);
    assert_eq!(
        cache.stats.inactive_split_bytes.large_pool.current,
        (1 << 20) + 512
    );
}

#[test]
fn small_blocks_come_back_as_they_were_cut_and_are_joined_for_other_sizes() {
    let (mut cache, first) = with_small_segment();
    let held = cache.take(STREAM, 1024, 1024).unwrap();
    let blocks =
        [512, 1024, 512, 1024, 512, 1024].map(|bytes| cache.take(STREAM, bytes, bytes).unwrap());
    for block in blocks {
        free(&mut cache, block);
    }
    // The last four wait; of those the newest of the very size is taken, whatever lies free before it.
    let taken = cache.take(STREAM, 512, 512).unwrap();
    assert_eq!(taken.address, blocks[4].address);
    assert_eq!(cache.take(STREAM + 1, 512, 512), None);
    free(&mut cache, taken);
    assert_eq!(cache.fit_bytes(STREAM, 2 << 20), None);
    let segment = &cache.snapshot("device")[0];
    assert_eq!(segment.blocks.len(), 3, "first, held and one free block");
    let wide = cache.take(STREAM, 4096, 4096).unwrap();
    assert_eq!(wide.address, blocks[0].address);
    for block in [first, held, wide] {
        free(&mut cache, block);
    }
    assert_eq!(cache.evict(Eviction::EVERYTHING).len(), 1);
    assert_eq!(cache.stats.inactive_split.all.current, 0);
}
