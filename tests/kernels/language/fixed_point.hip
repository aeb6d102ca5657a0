// A number type with conversions both ways, all operators, and functions found by it.
template <int BITS>
class Fixed {
public:
    __device__ Fixed() = default;
    __device__ Fixed(int whole) : raw(whole << BITS) {}
    __device__ static Fixed from_raw(int r) {
        Fixed f;
        f.raw = r;
        return f;
    }
    __device__ explicit operator int() const { return raw >> BITS; }
    __device__ Fixed operator-() const { return from_raw(-raw); }
    __device__ Fixed& operator+=(Fixed o) { raw += o.raw; return *this; }
    __device__ Fixed& operator*=(Fixed o) { raw = (int)((long long)raw * o.raw >> BITS); return *this; }
    friend __device__ Fixed operator+(Fixed a, Fixed b) { return a += b; }
    friend __device__ Fixed operator*(Fixed a, Fixed b) { return a *= b; }
    friend __device__ Fixed operator/(Fixed a, Fixed b) { return from_raw((int)(((long long)a.raw << BITS) / b.raw)); }
    friend __device__ bool operator<(Fixed a, Fixed b) { return a.raw < b.raw; }
    __device__ int bits() const { return raw; }

private:
    int raw = 0;
};
using Q16 = Fixed<16>;

__device__ Q16 absolute(Q16 x) { return x < Q16(0) ? -x : x; }

// Horner's scheme, then a division.
__global__ void fixed_point(const int* raw, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Q16 x = Q16::from_raw(raw[i]), sum;
    for (int k = 3; k >= 0; --k) sum = sum * x + Q16(k - 1);
    Q16 quotient = sum / (absolute(x) + Q16(1));
    out[2 * i] = quotient.bits();
    out[2 * i + 1] = (int)quotient;
}
