// Harmonic bonds; forces are collected in fixed point, so that the order of the atomics does not matter.
struct Bond {
    int a, b;
    float length, stiffness;
};

__device__ void push(unsigned long long* force, float x, float y, float z, float sign) {
    const float scale = 1048576.0f;
    atomicAdd(force, (unsigned long long)(long long)(sign * x * scale));
    atomicAdd(force + 1, (unsigned long long)(long long)(sign * y * scale));
    atomicAdd(force + 2, (unsigned long long)(long long)(sign * z * scale));
}

__global__ void bonded_forces(const float4* positions, const Bond* bonds, unsigned long long* forces, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const Bond bond = bonds[i];
    float4 a = positions[bond.a], b = positions[bond.b];
    float dx = b.x - a.x, dy = b.y - a.y, dz = b.z - a.z;
    float distance = sqrtf(dx * dx + dy * dy + dz * dz);
    float pull = bond.stiffness * (distance - bond.length) / distance;
    push(forces + 3 * bond.a, pull * dx, pull * dy, pull * dz, 1.0f);
    push(forces + 3 * bond.b, pull * dx, pull * dy, pull * dz, -1.0f);
}
