// Each work-item sorts a short row in private memory.
__global__ void insertion_sort_rows(const short* in, short* out, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    short values[12];
    for (int i = 0; i < 12; ++i) {
        short value = in[row * 12 + i];
        int place = i;
        while (place > 0 && values[place - 1] > value) {
            values[place] = values[place - 1];
            --place;
        }
        values[place] = value;
    }
    for (int i = 0; i < 12; ++i) out[row * 12 + i] = values[i];
}
