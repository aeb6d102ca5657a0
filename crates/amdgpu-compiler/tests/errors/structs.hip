struct Particle {
    float x, y;
    float mass;
};

__global__ void structs(Particle* particles, float* out) {
    Particle p = particles[threadIdx.x];
    out[0] = p.z;
    out[1] = particles.x;
    out[2] = particles->mass + p;
    Particle q = {1, 2, 3, 4};
    p.x = q;
    if (p) out[3] = 1;
}
