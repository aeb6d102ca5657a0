// Code points of a text: every byte that begins one decodes it; others are left out by a scan of the beginnings.
__global__ void utf8_decode(const unsigned char* text, unsigned* points, int* count, int n) {
    __shared__ int places[128];
    int t = threadIdx.x;
    bool is_first = t < n && (text[t] & 0xC0) != 0x80;
    places[t] = is_first ? 1 : 0;
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        int other = t >= d ? places[t - d] : 0;
        __syncthreads();
        places[t] += other;
        __syncthreads();
    }
    if (is_first) {
        unsigned lead = text[t];
        int more = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
        unsigned point = more == 0 ? lead : lead & (0x3Fu >> more);
        for (int i = 1; i <= more; ++i) point = point << 6 | (text[t + i] & 0x3Fu);
        points[places[t] - 1] = point;
    }
    if (t == 127) *count = places[t];
}
