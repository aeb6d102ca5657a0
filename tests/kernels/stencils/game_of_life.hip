// One generation on a torus, cells as bytes.
__global__ void game_of_life(const unsigned char* cells, unsigned char* next, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int alive = 0;
    for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
            if (dx == 0 && dy == 0) continue;
            alive += cells[(y + dy + height) % height * width + (x + dx + width) % width];
        }
    }
    switch (alive) {
        case 2: next[y * width + x] = cells[y * width + x]; break;
        case 3: next[y * width + x] = 1; break;
        default: next[y * width + x] = 0;
    }
}
