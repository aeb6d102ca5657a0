struct Ray {
    float3 origin, direction;
};
struct Sphere {
    float3 centre;
    float radius;
};

__device__ inline float dot(const float3& a, const float3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ inline float3 operator-(const float3& a, const float3& b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }

// Distance along the ray, negative when it misses.
__device__ float hit(const Ray& ray, const Sphere& sphere) {
    float3 apart = ray.origin - sphere.centre;
    float b = dot(apart, ray.direction), c = dot(apart, apart) - sphere.radius * sphere.radius;
    float inside = b * b - c;
    if (inside < 0.0f) return -1.0f;
    float root = sqrtf(inside);
    float near = -b - root;
    return near > 0.0f ? near : -b + root;
}

__global__ void ray_sphere(const Ray* rays, const Sphere* spheres, int* nearest, float* distances, int count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int best = -1;
    float distance = INFINITY;
    for (int s = 0; s < count; ++s) {
        float t = hit(rays[i], spheres[s]);
        if (t > 0.0f && t < distance) {
            distance = t;
            best = s;
        }
    }
    nearest[i] = best;
    distances[i] = distance;
}
