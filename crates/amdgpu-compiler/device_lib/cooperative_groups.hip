// What <cooperative_groups.h>, <cooperative_groups/reduce.h>, <cooperative_groups/scan.h> and <hip/hip_cooperative_groups.h> declare:
// the block, tiles of a wave, the lanes that are there, the grid without its barrier. Read only where one of them is included.

namespace cooperative_groups {

struct thread_block {
    __device__ static void sync() { __syncthreads(); }
    __device__ static unsigned int thread_rank() {
        return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    }
    __device__ static unsigned int size() { return blockDim.x * blockDim.y * blockDim.z; }
    __device__ static unsigned int num_threads() { return size(); }
    __device__ static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    __device__ static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    __device__ static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
    __device__ static dim3 dim_threads() { return group_dim(); }
};

struct grid_group {
    __device__ static unsigned long long block_rank() {
        return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
    }
    __device__ static unsigned long long num_blocks() {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    __device__ static unsigned long long thread_rank() {
        return block_rank() * thread_block::size() + thread_block::thread_rank();
    }
    __device__ static unsigned long long size() { return num_blocks() * thread_block::size(); }
    __device__ static unsigned long long num_threads() { return size(); }
    __device__ static dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
    __device__ static dim3 dim_blocks() { return group_dim(); }
    __device__ static dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
};

// Lanes in a row, as many as a power of two.
template <unsigned int TileSize, typename Parent = void> struct thread_block_tile {
    __device__ static unsigned int thread_rank() { return __lane_id() & (TileSize - 1); }
    __device__ static unsigned int size() { return TileSize; }
    __device__ static unsigned int num_threads() { return TileSize; }
    __device__ static unsigned int meta_group_rank() { return thread_block::thread_rank() / TileSize; }
    __device__ static unsigned int meta_group_size() { return (thread_block::size() + TileSize - 1) / TileSize; }
    __device__ static unsigned int __agpu_first() { return __lane_id() & ~(TileSize - 1); }
    __device__ static unsigned long long __agpu_mask() { return (0xffffffffull >> (32 - TileSize)) << __agpu_first(); }
    __device__ static void sync() { __syncwarp(__agpu_mask()); }
    template <typename Element> __device__ static Element shfl(Element value, int rank) {
        return __shfl_sync(__agpu_mask(), value, rank, TileSize);
    }
    template <typename Element> __device__ static Element shfl_up(Element value, unsigned int delta) {
        return __shfl_up_sync(__agpu_mask(), value, delta, TileSize);
    }
    template <typename Element> __device__ static Element shfl_down(Element value, unsigned int delta) {
        return __shfl_down_sync(__agpu_mask(), value, delta, TileSize);
    }
    template <typename Element> __device__ static Element shfl_xor(Element value, int lane_mask) {
        return __shfl_xor_sync(__agpu_mask(), value, lane_mask, TileSize);
    }
    __device__ static int any(int predicate) { return __any_sync(__agpu_mask(), predicate); }
    __device__ static int all(int predicate) { return __all_sync(__agpu_mask(), predicate); }
    __device__ static unsigned int ballot(int predicate) {
        return (unsigned int)(__ballot_sync(__agpu_mask(), predicate) >> __agpu_first());
    }
    template <typename Element> __device__ static unsigned int match_any(Element value) {
        return (unsigned int)(__match_any_sync(__agpu_mask(), value) >> __agpu_first());
    }
    template <typename Element> __device__ static unsigned int match_all(Element value, int& all) {
        return (unsigned int)(__match_all_sync(__agpu_mask(), value, &all) >> __agpu_first());
    }
};

// Some lanes of a wave, numbered without gaps.
struct coalesced_group {
    unsigned long long lanes;
    __device__ unsigned int thread_rank() const { return __popcll(lanes & __lanemask_lt()); }
    __device__ unsigned int size() const { return __popcll(lanes); }
    __device__ unsigned int num_threads() const { return size(); }
    __device__ static unsigned int meta_group_rank() { return 0; }
    __device__ static unsigned int meta_group_size() { return 1; }
    __device__ void sync() const { __syncwarp(lanes); }
    __device__ int __agpu_lane(unsigned int rank) const {
        unsigned long long rest = lanes;
        for (unsigned int i = rank % size(); i > 0; --i) rest &= rest - 1;
        return __ffsll((long long)rest) - 1;
    }
    template <typename Element> __device__ Element shfl(Element value, unsigned int rank) const {
        return __shfl_sync(lanes, value, __agpu_lane(rank));
    }
    template <typename Element> __device__ Element shfl_up(Element value, unsigned int delta) const {
        unsigned int rank = thread_rank();
        return __shfl_sync(lanes, value, __agpu_lane(delta > rank ? rank : rank - delta));
    }
    template <typename Element> __device__ Element shfl_down(Element value, unsigned int delta) const {
        unsigned int rank = thread_rank();
        return __shfl_sync(lanes, value, __agpu_lane(delta >= size() - rank ? rank : rank + delta));
    }
    __device__ int any(int predicate) const { return __any_sync(lanes, predicate); }
    __device__ int all(int predicate) const { return __all_sync(lanes, predicate); }
    __device__ unsigned int __agpu_ranks(unsigned long long some) const {
        unsigned int result = 0, rank = 0;
        for (unsigned long long rest = lanes; rest != 0; rest &= rest - 1, ++rank)
            if ((some & rest & (0 - rest)) != 0) result |= 1u << rank;
        return result;
    }
    __device__ unsigned int ballot(int predicate) const { return __agpu_ranks(__ballot_sync(lanes, predicate)); }
    template <typename Element> __device__ unsigned int match_any(Element value) const {
        return __agpu_ranks(__match_any_sync(lanes, value));
    }
};

__device__ inline thread_block this_thread_block() { return thread_block(); }
__device__ inline grid_group this_grid() { return grid_group(); }
__device__ inline coalesced_group coalesced_threads() { return coalesced_group{__activemask()}; }

template <unsigned int TileSize, typename Parent> __device__ thread_block_tile<TileSize> tiled_partition(const Parent&) {
    static_assert(TileSize >= 1 && TileSize <= 32 && (TileSize & (TileSize - 1)) == 0, "tiles have 1, 2, 4, 8, 16 or 32 lanes");
    return thread_block_tile<TileSize>();
}
template <unsigned int TileSize> __device__ coalesced_group binary_partition(const thread_block_tile<TileSize>& group, bool predicate) {
    unsigned long long mask = thread_block_tile<TileSize>::__agpu_mask(), yes = __ballot_sync(mask, predicate);
    return coalesced_group{predicate ? yes : mask & ~yes};
}
__device__ inline coalesced_group binary_partition(const coalesced_group& group, bool predicate) {
    unsigned long long yes = __ballot_sync(group.lanes, predicate);
    return coalesced_group{predicate ? yes : group.lanes & ~yes};
}
template <unsigned int TileSize, typename Element>
__device__ coalesced_group labeled_partition(const thread_block_tile<TileSize>& group, Element label) {
    return coalesced_group{__match_any_sync(thread_block_tile<TileSize>::__agpu_mask(), label)};
}
template <typename Element> __device__ coalesced_group labeled_partition(const coalesced_group& group, Element label) {
    return coalesced_group{__match_any_sync(group.lanes, label)};
}
template <typename Group> __device__ void sync(const Group& group) { group.sync(); }

template <typename Element> struct plus { __device__ Element operator()(Element a, Element b) const { return a + b; } };
template <typename Element> struct less { __device__ Element operator()(Element a, Element b) const { return b < a ? b : a; } };
template <typename Element> struct greater { __device__ Element operator()(Element a, Element b) const { return a < b ? b : a; } };
template <typename Element> struct bit_and { __device__ Element operator()(Element a, Element b) const { return a & b; } };
template <typename Element> struct bit_or { __device__ Element operator()(Element a, Element b) const { return a | b; } };
template <typename Element> struct bit_xor { __device__ Element operator()(Element a, Element b) const { return a ^ b; } };

// In a butterfly: every lane computes the same sum, so floats have the same bits in all of them.
template <unsigned int TileSize, typename Element, typename Operation>
__device__ Element reduce(const thread_block_tile<TileSize>& group, Element value, Operation op) {
    for (unsigned int step = 1; step < TileSize; step *= 2) {
        Element other = group.shfl_xor(value, step);
        value = (group.thread_rank() & step) == 0 ? op(value, other) : op(other, value);
    }
    return value;
}
// From the first lane to the last.
template <typename Element, typename Operation>
__device__ Element reduce(const coalesced_group& group, Element value, Operation op) {
    Element result = group.shfl(value, 0);
    for (unsigned int rank = 1; rank < group.size(); ++rank) result = op(result, group.shfl(value, rank));
    return result;
}
template <typename Group, typename Element, typename Operation>
__device__ Element inclusive_scan(const Group& group, Element value, Operation op) {
    for (unsigned int step = 1; step < group.size(); step *= 2) {
        Element other = group.shfl_up(value, step);
        if (group.thread_rank() >= step) value = op(other, value);
    }
    return value;
}
template <typename Group, typename Element>
__device__ Element inclusive_scan(const Group& group, Element value) {
    return inclusive_scan(group, value, plus<Element>());
}
// The first lane gets a value without content.
template <typename Group, typename Element, typename Operation>
__device__ Element exclusive_scan(const Group& group, Element value, Operation op) {
    Element sum = inclusive_scan(group, value, op), before = group.shfl_up(sum, 1);
    return group.thread_rank() == 0 ? Element() : before;
}
template <typename Group, typename Element>
__device__ Element exclusive_scan(const Group& group, Element value) {
    return exclusive_scan(group, value, plus<Element>());
}

}  // namespace cooperative_groups
