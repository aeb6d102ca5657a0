// One source that uses the whole language of this version.
#include <hip/hip_runtime.h>
#define BLOCK 256
#define MIN2(a, b) ((a) < (b) ? (a) : (b))
#if defined(__HIP__) && BLOCK > 100
typedef unsigned int word;
#else
#error unreachable
#endif

enum Mode { FLAT, STEEP = 4, LAST };
enum class Kind : unsigned char { none, some = 3 };
using real = float;
constexpr int SIZE = BLOCK / 64;
__constant__ float weights[SIZE] = {0.25f, 0.5f, 0.75f, 1.0f};
static_assert(SIZE == 4, "size");

struct Particle {
    float x, y;
    int id;
};

__device__ inline float square(float x) { return x * x; }
__device__ inline double square(double x) { return x * x; }
__host__ __device__ constexpr int twice(int x) { return 2 * x; }
__device__ void exchange(float& a, float& b) {
    float t = a;
    a = b;
    b = t;
}
__device__ Particle moved(Particle p, float by) {
    p.x += by;
    p.y -= by;
    return p;
}
__device__ int factorial(int n) { return n <= 1 ? 1 : n * factorial(n - 1); }
__device__ word index() { return blockIdx.x * blockDim.x + threadIdx.x; }

extern "C" __global__ void __launch_bounds__(BLOCK, 2) language(const float* __restrict__ in, float* __restrict__ out, Particle* particles, int n, bool flag, double scale, unsigned char mode) {
    const word i = index();
    if (i >= n) return;
    float a = in[i], b = square(a) + 1.0f;
    float table[SIZE] = {1, 2};
    for (int k = 0; k < SIZE; ++k) {
        if (k == 3) continue;
        table[k] += a * weights[k];
    }
    Particle p = particles[i];
    p = moved(p, b);
    Particle* q = &particles[i];
    q->x = p.x;
    (*q).y = flag ? p.y : -p.y;
    q->id ^= 0x5a;
    exchange(a, b);
    int steps = 0;
    while (true) {
        if (++steps > 7 || a > 1e6f) break;
        a *= 1.5f;
    }
    do {
        steps--;
    } while (steps > 0 && b < 100.0f);
    switch (mode) {
        case FLAT: b += 1; break;
        case 2:
        case 3: b -= 1;
        case STEEP: b *= 2; break;
        default: b = 0;
    }
    Kind kind = i & 1 ? Kind::some : Kind::none;
    if (kind == Kind::some) b = -b;
    unsigned shifted = (i << 3) >> 1;
    int quotient = (int)i / MIN2(n, 3) % 5, packed = static_cast<int>(shifted) | ~quotient & 0xff;
    long long wide = (long long)packed * twice(3);
    short narrow = wide;
    wide += narrow, wide -= sizeof(Particle);
    real result = table[i & 3] + fmaf(a, b, float(wide)) + sqrtf(fabsf(a)) + fminf(a, b) + expf(-a * a) + sinf(b) + factorial(3);
    result += square(scale) > 2.0 ? 1 : 0;
    float4 v = make_float4(a, b, 1, 2);
    v.w += v.x;
    out[i] = result + v.w - MIN2(a, b) + (out + n > out ? 1 : 0) + max(i, 7u) + __popc(i);
}

int main() {
    float* d = nullptr;
    language<<<1, BLOCK>>>(d, d, nullptr, 0, true, 1.0, 2);
    return 0;
}
