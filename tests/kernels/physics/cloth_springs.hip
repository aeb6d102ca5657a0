// Forces of springs between neighbours of a cloth: structural and shear ones, given by a table.
__global__ void cloth_springs(const float* positions, float* forces, int width, int height, float rest, float stiffness) {
    static const int offsets[8][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, -1}, {1, -1}, {-1, 1}, {1, 1}};
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float force[3] = {0.0f, 0.0f, 0.0f};
    const float* here = positions + 3 * (y * width + x);
    for (int k = 0; k < 8; ++k) {
        int u = x + offsets[k][0], v = y + offsets[k][1];
        if (u < 0 || v < 0 || u >= width || v >= height) continue;
        const float* other = positions + 3 * (v * width + u);
        float apart[3], length2 = 0.0f;
        for (int axis = 0; axis < 3; ++axis) {
            apart[axis] = other[axis] - here[axis];
            length2 += apart[axis] * apart[axis];
        }
        float length = sqrtf(length2), wanted = k < 4 ? rest : rest * 1.4142135f;
        for (int axis = 0; axis < 3; ++axis) force[axis] += stiffness * (length - wanted) / length * apart[axis];
    }
    for (int axis = 0; axis < 3; ++axis) forces[3 * (y * width + x) + axis] = force[axis];
}
