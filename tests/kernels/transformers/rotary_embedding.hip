// Rotates pairs of a head's numbers by angles that grow with the position and fall with the pair's place.
__global__ void rotary_embedding(float* x, const int* positions, int heads, int half, float base) {
    int token = blockIdx.x, head = blockIdx.y;
    float* mine = x + (token * heads + head) * 2 * half;
    for (int i = threadIdx.x; i < half; i += blockDim.x) {
        float angle = positions[token] * powf(base, -(float)i / half);
        float s, c;
        sincosf(angle, &s, &c);
        float a = mine[i], b = mine[i + half];
        mine[i] = a * c - b * s;
        mine[i + half] = a * s + b * c;
    }
}
