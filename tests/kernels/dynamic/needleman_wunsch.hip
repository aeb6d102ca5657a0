// Global alignment score of two sequences: a block walks over the anti-diagonals of the table in shared memory.
__global__ void needleman_wunsch(const char* a, const char* b, int* score, int length_a, int length_b, int gap) {
    __shared__ int diagonals[3][65];
    int i = threadIdx.x;
    int before = 0, last = 1, now = 2;
    for (int d = 0; d <= length_a + length_b; ++d) {
        int j = d - i;
        if (i <= length_a && j >= 0 && j <= length_b) {
            int best;
            if (i == 0) best = -gap * j;
            else if (j == 0) best = -gap * i;
            else {
                int match = diagonals[before][i - 1] + (a[i - 1] == b[j - 1] ? 2 : -1);
                best = max(match, max(diagonals[last][i - 1], diagonals[last][i]) - gap);
            }
            diagonals[now][i] = best;
            if (i == length_a && j == length_b) *score = best;
        }
        __syncthreads();
        int kept = before;
        before = last;
        last = now;
        now = kept;
    }
}
