// Walks on a square lattice by two bits of a linear congruential generator; where they end and how often they were at home.
__global__ void random_walk(short2* ends, int* returns, unsigned seed, int steps, int walkers) {
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= walkers) return;
    unsigned state = seed + 2654435769u * w;
    short x = 0, y = 0;
    int home = 0;
    for (int i = 0; i < steps; ++i) {
        state = state * 1664525u + 1013904223u;
        switch (state >> 30) {
            case 0: x += 1; break;
            case 1: x -= 1; break;
            case 2: ++y; break;
            case 3: --y; break;
        }
        home += x == 0 && y == 0;
    }
    ends[w] = make_short2(x, y);
    returns[w] = home;
}
