"""Cooperative groups: executed on this machine and compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import CompileFailed, Kernels, emit

HEAD = """
#define N 1000
#define T(x) x
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <hip/hip_cooperative_groups.h>
#undef N
namespace cg = cooperative_groups;
"""
T = np.arange(96)


def test_groups_know_their_places() -> None:
    source = (
        HEAD
        + """
    __global__ void k(int* out) {
        cg::thread_block block = cg::this_thread_block();
        cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
        auto half = cg::tiled_partition<4>(tile);
        int t = block.thread_rank(), *row = out + t * 8;
        row[0] = t; row[1] = block.size() + 1000 * block.group_dim().y + 100000 * block.thread_index().y;
        row[2] = tile.thread_rank(); row[3] = tile.size(); row[4] = tile.meta_group_rank();
        row[5] = tile.meta_group_size(); row[6] = half.thread_rank() + 10 * half.num_threads();
        row[7] = cg::this_grid().thread_rank() - blockIdx.x * 96 + 1000 * cg::this_grid().size();
    }
    """
    )
    out = np.zeros((96, 8), np.int32)
    Kernels(source)("k", (1,), (16, 6), out)
    rows = [T, 96 + 6000 + 100_000 * (T // 16), T % 8, T * 0 + 8, T // 8, T * 0 + 12, T % 4 + 40, T + 96_000]
    assert np.array_equal(out, np.stack(rows, 1))


def test_tiles_exchange_vote_reduce_and_scan() -> None:
    source = (
        HEAD
        + """
    template <int Lanes> __device__ int tile_sum(cg::thread_block_tile<Lanes> tile, int v) {
        for (int step = tile.size() / 2; step > 0; step /= 2) v += tile.shfl_down(v, step);
        return tile.shfl(v, 0);
    }
    template <typename Group> __device__ float mean(const Group& g, float v) {
        return cg::reduce(g, v, cg::plus<float>()) / g.size();
    }
    __global__ void k(const int* in, int* out, float* means) {
        auto tile = cg::tiled_partition<16>(cg::this_thread_block());
        int t = threadIdx.x, v = in[t], all = 0, *row = out + t * 10;
        row[0] = tile_sum(tile, v);
        row[1] = cg::reduce(tile, v, cg::greater<int>());
        row[2] = tile.ballot(v % 2); row[3] = tile.any(v == 40) + 2 * tile.all(v < 90);
        row[4] = tile.match_any(v % 3); row[5] = tile.match_all(v / 1000, all) + all;
        row[6] = cg::inclusive_scan(tile, v, cg::plus<int>()); row[7] = cg::exclusive_scan(tile, v);
        row[8] = tile.shfl_up(v, 2) + 1000 * tile.shfl_xor(v, 3);
        means[t] = mean(tile, v);
        auto some = cg::binary_partition(tile, v % 2 == 0);
        row[9] = some.size() * 1000 + cg::reduce(some, v, cg::less<int>());
        tile.sync();
        cg::sync(tile);
    }
    """
    )
    v = (np.arange(96) * 37 % 101).astype(np.int32)
    out, means = np.zeros((96, 10), np.int32), np.zeros(96, np.float32)
    Kernels(source)("k", (1,), (96,), v, out, means)
    tiles = v.reshape(6, 16)
    rank = np.arange(16)

    def bits(held: np.ndarray) -> np.ndarray:
        return (held << rank).sum(1)

    def each(values: np.ndarray) -> np.ndarray:
        return np.repeat(values, 16)

    matches = np.stack([bits(tiles % 3 == tiles[:, lane : lane + 1] % 3) for lane in range(16)], 1).ravel()
    up = tiles[:, np.where(rank >= 2, rank - 2, rank)]
    even, odd = (np.where(tiles % 2 == parity, tiles, 999).min(1) for parity in (0, 1))
    evens = (tiles % 2 == 0).sum(1)
    rows = [
        each(tiles.sum(1)),
        each(tiles.max(1)),
        each(bits(tiles % 2)),
        each((tiles == 40).any(1) + 2 * (tiles < 90).all(1)),
        matches,
        each(np.full(6, 65535 + 1)),
        tiles.cumsum(1).ravel(),
        (tiles.cumsum(1) - tiles).ravel(),
        (up + 1000 * tiles[:, rank ^ 3]).ravel(),
        np.where(v % 2 == 0, each(evens * 1000 + even), each((16 - evens) * 1000 + odd)),
    ]
    assert np.array_equal(out, np.stack(rows, 1))
    assert np.array_equal(means, each(tiles.sum(1)) / np.float32(16))


def test_coalesced_lanes_take_numbers_together() -> None:
    source = (
        HEAD
        + """
    __device__ int take(int* counter) {
        auto here = cg::coalesced_threads();
        int first = 0;
        if (here.thread_rank() == 0) first = atomicAdd(counter, here.size());
        return here.shfl(first, 0) + here.thread_rank();
    }
    __global__ void k(const int* in, int* out, int* counter, int* labels) {
        int t = threadIdx.x;
        if (in[t] > 50) out[take(counter)] = in[t];
        cg::coalesced_group label = cg::labeled_partition(cg::coalesced_threads(), in[t] % 4);
        labels[t] = cg::reduce(label, in[t], cg::plus<int>()) + label.ballot(in[t] > 50) * 100000
            + label.shfl_down(in[t], 1);
    }
    """
    )
    v = (np.arange(64) * 29 % 103).astype(np.int32)
    out, counter, labels = np.zeros(64, np.int32), np.zeros(1, np.int32), np.zeros(64, np.int32)
    Kernels(source)("k", (1,), (64,), v, out, counter, labels)
    chosen = v[v > 50]
    assert counter[0] == chosen.size
    assert sorted(out[: chosen.size].tolist()) == sorted(chosen.tolist())
    for t in range(64):
        wave = v[t // 32 * 32 :][:32]
        group = wave[wave % 4 == v[t] % 4].tolist()
        mask = sum(1 << i for i, value in enumerate(group) if value > 50)
        # The values of one wave differ, so a value tells its place.
        below = group[min(group.index(v[t]) + 1, len(group) - 1)]
        assert labels[t] == (sum(group) + mask * 100_000 + below + 2**31) % 2**32 - 2**31, t


@pytest.mark.parametrize("ctype", ["__half", "__nv_bfloat16", "half2"])
def test_halves_travel_between_lanes(ctype: str) -> None:
    source = f"""__global__ void k(const {ctype}* in, {ctype}* out) {{
        int t = threadIdx.x;
        out[t] = __shfl_xor_sync(0xffffffff, in[t], 5); out[32 + t] = __shfl_down(in[t], 3, 8);
    }}"""
    words = np.arange(32).astype(np.uint32 if ctype == "half2" else np.uint16) * 1031
    out = np.zeros(64, words.dtype)
    Kernels(source)("k", (1,), (32,), words, out)
    lane = np.arange(32)
    assert np.array_equal(out[:32], words[lane ^ 5])
    assert np.array_equal(out[32:], words[np.where(lane % 8 < 5, lane + 3, lane)])


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100", "sm_90"])
def test_groups_compile_for_gpus(target: str) -> None:
    source = HEAD + (
        "__global__ void k(int* out) { auto tile = cg::tiled_partition<32>(cg::this_thread_block());"
        "out[threadIdx.x] = cg::reduce(tile, out[threadIdx.x], cg::bit_xor<int>()); }"
    )
    name = "shfl.sync" if target.startswith("sm") else "ds.bpermute"
    assert name in emit(source, "--target", target)["llvm_ir"]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("cg::tiled_partition<48>(cg::this_thread_block());", "tiles have 1, 2, 4, 8, 16 or 32 lanes"),
        ("cg::this_grid().sync();", "sync"),
    ],
)
def test_what_groups_cannot_do_is_an_error(statement: str, message: str) -> None:
    with pytest.raises(CompileFailed, match=message):
        emit(f"{HEAD}__global__ void k(int* out) {{ {statement} }}")


def test_names_of_groups_are_free_where_the_header_is_not_included() -> None:
    source = """
    struct plus { int x; };
    __device__ int reduce(plus a, int b) { return a.x + b; }
    __global__ void k(int* out) { out[0] = reduce(plus{1}, 2); }
    """
    out = np.zeros(1, np.int32)
    Kernels(source)("k", (1,), (1,), out)
    assert out[0] == 3
