// Edit distance of pairs of words, one pair for each work-item, with one row of the table in private memory.
#define LONGEST 20

__global__ void levenshtein(const char* words, const char* others, unsigned char* distances, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const char* a = words + i * LONGEST;
    const char* b = others + i * LONGEST;
    unsigned char row[LONGEST + 1];
    int length = 0;
    while (length < LONGEST && b[length]) ++length;
    for (int j = 0; j <= length; ++j) row[j] = j;
    for (int k = 0; k < LONGEST && a[k]; ++k) {
        int diagonal = row[0];
        row[0] = k + 1;
        for (int j = 1; j <= length; ++j) {
            int above = row[j];
            row[j] = min(min(above + 1, row[j - 1] + 1), diagonal + (a[k] != b[j - 1]));
            diagonal = above;
        }
    }
    distances[i] = row[length];
}
