// Barriers that tell every work-item something about all of the block. Before the first one others may still read the last
// result; all write the same value to start with, so it does not matter who does.

__device__ int __syncthreads_count(int predicate) {
    __shared__ int total;
    __syncthreads();
    total = 0;
    __syncthreads();
    if (predicate != 0) atomicAdd(&total, 1);
    __syncthreads();
    return total;
}

__device__ int __syncthreads_or(int predicate) {
    __shared__ int any;
    __syncthreads();
    any = 0;
    __syncthreads();
    if (predicate != 0) atomicOr(&any, 1);
    __syncthreads();
    return any;
}

__device__ int __syncthreads_and(int predicate) {
    __shared__ int all;
    __syncthreads();
    all = 1;
    __syncthreads();
    if (predicate == 0) atomicAnd(&all, 0);
    __syncthreads();
    return all;
}
