// Forces between atoms by neighbour lists (SHOC's MD): lists are stored column by column, the cut-off is squared.
template <typename T>
struct Vector3 {
    T x, y, z;
    __device__ Vector3() : x(0), y(0), z(0) {}
    __device__ Vector3(T x_, T y_, T z_) : x(x_), y(y_), z(z_) {}
    __device__ T squared() const { return x * x + y * y + z * z; }
    __device__ Vector3& operator+=(const Vector3& other) {
        x += other.x, y += other.y, z += other.z;
        return *this;
    }
    friend __device__ Vector3 operator-(const Vector3& a, const Vector3& b) { return Vector3(a.x - b.x, a.y - b.y, a.z - b.z); }
    friend __device__ Vector3 operator*(T factor, const Vector3& a) { return Vector3(factor * a.x, factor * a.y, factor * a.z); }
};

template <typename T>
__global__ void lennard_jones(const Vector3<T>* positions, const int* neighbours, const int* counts, Vector3<T>* forces, T* energies,
                              T cutoff2, int atoms) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= atoms) return;
    Vector3<T> here = positions[i], force;
    T energy = 0;
    for (int k = 0; k < counts[i]; ++k) {
        Vector3<T> apart = here - positions[neighbours[k * atoms + i]];
        T r2 = apart.squared();
        if (r2 >= cutoff2) continue;
        T inverse2 = T(1) / r2, inverse6 = inverse2 * inverse2 * inverse2;
        force += T(24) * inverse2 * inverse6 * (T(2) * inverse6 - T(1)) * apart;
        energy += T(2) * inverse6 * (inverse6 - T(1));
    }
    forces[i] = force;
    energies[i] = energy;
}
template __global__ void lennard_jones<double>(const Vector3<double>*, const int*, const int*, Vector3<double>*, double*, double, int);
template __global__ void lennard_jones<float>(const Vector3<float>*, const int*, const int*, Vector3<float>*, float*, float, int);
