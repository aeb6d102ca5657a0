// Merges two sorted arrays: each work-item finds its piece of the path by bisection and merges eight elements.
__global__ void merge_path(const int* a, const int* b, int* out, int count_a, int count_b) {
    const int each = 8;
    int diagonal = (blockIdx.x * blockDim.x + threadIdx.x) * each;
    int total = count_a + count_b;
    if (diagonal >= total) return;
    int low = max(0, diagonal - count_b), high = min(diagonal, count_a);
    while (low < high) {
        int middle = (low + high) / 2;
        if (a[middle] <= b[diagonal - 1 - middle]) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    int i = low, j = diagonal - low;
    for (int k = diagonal; k < min(diagonal + each, total); ++k) {
        bool takes_a = j >= count_b || (i < count_a && a[i] <= b[j]);
        out[k] = takes_a ? a[i++] : b[j++];
    }
}
