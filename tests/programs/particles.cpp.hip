// C++ with classes: a vector type for both sides, functors, namespaces, host classes around device memory.
#include "hip/hip_runtime.h"
#include <array>
#include <chrono>
#include <functional>
#include <iostream>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#if defined(__HIPCC__) || defined(__CUDACC__)
#define HD __host__ __device__ __forceinline__
#else
#define HD inline
#endif

namespace math {
template <typename T>
struct Vec3 {
    T x{}, y{}, z{};
    HD constexpr Vec3() = default;
    HD constexpr Vec3(T a, T b, T c) : x(a), y(b), z(c) {}
    HD explicit constexpr Vec3(T s) : Vec3(s, s, s) {}
    HD Vec3 operator+(const Vec3& o) const { return {x + o.x, y + o.y, z + o.z}; }
    HD Vec3 operator-(const Vec3& o) const { return {x - o.x, y - o.y, z - o.z}; }
    HD Vec3 operator*(T s) const { return {x * s, y * s, z * s}; }
    HD Vec3& operator+=(const Vec3& o) { x += o.x; y += o.y; z += o.z; return *this; }
    HD T dot(const Vec3& o) const { return x * o.x + y * o.y + z * o.z; }
    HD const T& operator[](int i) const { return i == 0 ? x : i == 1 ? y : z; }
    friend std::ostream& operator<<(std::ostream& out, const Vec3& v) { return out << v.x << ' ' << v.y << ' ' << v.z; }
};
template <typename T>
HD Vec3<T> operator*(T s, const Vec3<T>& v) { return v * s; }
using Vec3f = Vec3<float>;
}  // namespace math

namespace sim {
using math::Vec3f;

enum class Boundary : int { Open, Periodic };

struct Particle {
    Vec3f position;
    Vec3f velocity;
    float mass = 1.0f;
};

struct Gravity {
    Vec3f g{0.0f, -9.8125f, 0.0f};
    HD Vec3f operator()(const Particle& p) const { return p.mass * g; }
};

struct Drag {
    float c;
    HD Vec3f operator()(const Particle& p) const { return p.velocity * (-c); }
};

template <typename... Forces>
struct Sum;
template <>
struct Sum<> {
    HD Vec3f operator()(const Particle&) const { return Vec3f(0.0f); }
};
template <typename First, typename... Rest>
struct Sum<First, Rest...> : Sum<Rest...> {
    First first;
    HD Sum(First f, Rest... rest) : Sum<Rest...>(rest...), first(f) {}
    HD Vec3f operator()(const Particle& p) const { return first(p) + Sum<Rest...>::operator()(p); }
};

template <Boundary B>
HD float wrap(float v, float length) {
    if constexpr (B == Boundary::Periodic) {
        return v < 0.0f ? v + length : v >= length ? v - length : v;
    } else {
        (void)length;
        return v;
    }
}

template <Boundary B, typename Force>
__device__ void advance(Particle& p, const Force& force, float dt, float length) {
    const Vec3f acceleration = force(p) * (1.0f / p.mass);
    p.velocity += acceleration * dt;
    p.position += p.velocity * dt;
    p.position.x = wrap<B>(p.position.x, length);
}

__global__ void __launch_bounds__(128) step(Particle* particles, int count, float dt, float length) {
    const auto index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (index >= count) return;
    Sum<Gravity, Drag> force(Gravity{}, Drag{0.5f});
    auto& p = particles[index];
    advance<Boundary::Periodic>(p, force, dt, length);
}
}  // namespace sim

class DeviceError : public std::runtime_error {
public:
    explicit DeviceError(const std::string& what) : std::runtime_error(what) {}
};

template <typename T>
class DeviceBuffer {
public:
    explicit DeviceBuffer(std::size_t count) : count_(count) {
        if (hipMalloc(&data_, count * sizeof(T)) != hipSuccess) throw DeviceError("out of memory");
    }
    ~DeviceBuffer() { (void)hipFree(data_); }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    void upload(const std::vector<T>& host) { (void)hipMemcpy(data_, host.data(), count_ * sizeof(T), hipMemcpyHostToDevice); }
    T* get() const noexcept { return data_; }

private:
    T* data_ = nullptr;
    std::size_t count_;
};

static auto now() { return std::chrono::steady_clock::now(); }
std::function<float(float)> scaler(float s) { return [s](float x) { return s * x; }; }
const std::array<const char*, 2> names{"open", "periodic"};

int main(int argc, char** argv) try {
    std::mt19937 generator{42};
    std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
    std::vector<sim::Particle> host(argc > 1 ? std::stoi(argv[1]) : 1000);
    for (auto& p : host) p.position = math::Vec3f{uniform(generator), uniform(generator), uniform(generator)};
    DeviceBuffer<sim::Particle> device(host.size());
    device.upload(host);
    const auto begin = now();
    for (int i = 0; i < 10; ++i) sim::step<<<(host.size() + 127) / 128, 128>>>(device.get(), int(host.size()), 0.01f, 10.0f);
    (void)hipDeviceSynchronize();
    std::cout << host.front().position << '\n' << std::chrono::duration<double>(now() - begin).count() << '\n';
    return 0;
} catch (const DeviceError& error) {
    std::cerr << error.what() << std::endl;
    return 1;
}
