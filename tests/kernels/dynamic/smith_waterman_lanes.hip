// Local alignment of a query with many sequences by affine gaps (Gotoh): a sequence for each work-item.
struct Cell {
    short score, gap;
};

__global__ void smith_waterman_lanes(const char* query, int query_length, const char* sequences, short* best, int length, int count) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= count) return;
    Cell column[16];
    for (int i = 0; i < query_length; ++i) column[i] = {0, -100};
    short highest = 0;
    for (int j = 0; j < length; ++j) {
        char letter = sequences[s * length + j];
        short diagonal = 0, vertical = -100, above = 0;
        for (int i = 0; i < query_length; ++i) {
            short horizontal = max(column[i].score - 5, column[i].gap - 1);
            vertical = max(above - 5, vertical - 1);
            short score = diagonal + (query[i] == letter ? 3 : -2);
            score = max(max((int)score, 0), max((int)horizontal, (int)vertical));
            diagonal = column[i].score;
            column[i] = {score, horizontal};
            above = score;
            highest = max(highest, score);
        }
    }
    best[s] = highest;
}
