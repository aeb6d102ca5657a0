struct Box {
    double size[3];
    double step;
    int periodic;
};

// Velocity Verlet: half a kick and a drift, with the box given by value.
__global__ void verlet_step(double3* positions, double3* velocities, const double3* forces, const double* masses, Box box, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double factor = 0.5 * box.step / masses[i];
    double3 v = velocities[i], f = forces[i];
    v.x += factor * f.x;
    v.y += factor * f.y;
    v.z += factor * f.z;
    double p[3] = {positions[i].x + box.step * v.x, positions[i].y + box.step * v.y, positions[i].z + box.step * v.z};
    for (int axis = 0; axis < 3; ++axis) {
        if (box.periodic >> axis & 1) p[axis] -= box.size[axis] * floor(p[axis] / box.size[axis]);
    }
    positions[i] = make_double3(p[0], p[1], p[2]);
    velocities[i] = v;
}
