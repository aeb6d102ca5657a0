#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

// Sums of tiles of sixteen by cooperative groups, then of the block through shared memory.
__global__ void group_reduction(const int* values, int* tiles, int* blocks, int n) {
    __shared__ int total;
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
    if (block.thread_rank() == 0) total = 0;
    block.sync();
    int i = blockIdx.x * blockDim.x + block.thread_rank();
    int sum = i < n ? values[i] : 0;
    for (int offset = tile.size() / 2; offset > 0; offset /= 2) sum += tile.shfl_down(sum, offset);
    if (tile.thread_rank() == 0) {
        tiles[(blockIdx.x * blockDim.x + block.thread_rank()) / 16] = sum;
        atomicAdd(&total, sum);
    }
    block.sync();
    if (block.thread_rank() == 0) blocks[blockIdx.x] = total;
}
