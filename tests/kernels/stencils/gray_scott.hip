struct Species {
    float u, v;
    __device__ Species operator+(Species other) const { return {u + other.u, v + other.v}; }
    __device__ Species operator-(Species other) const { return {u - other.u, v - other.v}; }
};
__device__ Species operator*(float factor, Species s) { return {factor * s.u, factor * s.v}; }

// Reaction and diffusion of two species that lie side by side in memory.
__global__ void gray_scott(const Species* in, Species* out, int width, int height, float feed, float kill) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    auto at = [=](int column, int row) { return in[(row + height) % height * width + (column + width) % width]; };
    Species here = at(x, y);
    Species laplace = at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1) - 4.0f * here;
    float reaction = here.u * here.v * here.v;
    Species& to = out[y * width + x];
    to.u = here.u + 0.16f * laplace.u - reaction + feed * (1.0f - here.u);
    to.v = here.v + 0.08f * laplace.v + reaction - (feed + kill) * here.v;
}
