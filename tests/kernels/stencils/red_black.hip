enum class Colour : int { red = 0, black = 1 };

// Half a sweep of Gauss and Seidel: cells of one colour from their neighbours of the other, in place.
__global__ void red_black(float* u, const float* f, int width, int height, int colour) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
    Colour mine = ((x + y) & 1) ? Colour::black : Colour::red;
    if ((int)mine != colour) return;
    int here = y * width + x;
    u[here] = 0.25f * (u[here - 1] + u[here + 1] + u[here - width] + u[here + width] - f[here]);
}
