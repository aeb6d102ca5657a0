// Solutions of the puzzle by backtracking over bits; each work-item has its own first row.
__global__ void n_queens(unsigned* counts, int size) {
    int first = threadIdx.x;
    if (first >= size) return;
    unsigned all = (1u << size) - 1, columns[16], left[16], right[16], open[16];
    int depth = 1;
    columns[1] = 1u << first;
    left[1] = columns[1] << 1;
    right[1] = columns[1] >> 1;
    open[1] = all & ~(columns[1] | left[1] | right[1]);
    unsigned found = 0;
    if (size == 1) found = 1;
    while (depth > 0 && size > 1) {
        if (!open[depth]) {
            --depth;
            continue;
        }
        unsigned place = open[depth] & -open[depth];
        open[depth] ^= place;
        if (depth == size - 1) {
            ++found;
            continue;
        }
        columns[depth + 1] = columns[depth] | place;
        left[depth + 1] = (left[depth] | place) << 1;
        right[depth + 1] = (right[depth] | place) >> 1;
        ++depth;
        open[depth] = all & ~(columns[depth] | left[depth] | right[depth]);
    }
    counts[first] = found;
}
