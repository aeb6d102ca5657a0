// Kernel parameters and memory of every shape.
struct Inner { char c; short s; int i; long long l; float f; double d; bool b; };
union Word { unsigned u; float f; unsigned char bytes[4]; };
union Wide { double d; long long l; short s[4]; };
struct Bits { unsigned a : 3, b : 29; };
struct Mixed { Inner one; Word word; Wide wide; Bits bits; float4 v; int list[3]; int* at; };
struct alignas(32) Aligned { float x, y; };
struct Empty {};
enum class Kind : unsigned char { none, some };
__constant__ float table[8] = {1, 2, 3, 4};
__constant__ Inner preset = {1, 2, 3, 4, 5.5f, 6.5, true};
__device__ int counter = 7;
__device__ unsigned char bytes[5] = {1, 2, 255};
__device__ double wide[2][3] = {{1, 2, 3}, {4}};
static __device__ short hidden[4];
__global__ void shapes(Inner inner, Word word, Wide wide2, Bits bits, Mixed mixed, Aligned aligned, Kind kind, bool flag, char c, unsigned short us, long long l, double d, float3 v3, uchar4 u4, int* out, Empty empty, const volatile float* in) {
    out[0] = inner.c + inner.s + inner.i + (int)inner.l + (int)inner.f + (int)inner.d + inner.b;
    out[1] = word.bytes[2] + (int)wide2.s[3] + bits.a + bits.b + mixed.one.s + mixed.word.bytes[1] + (int)mixed.wide.l + mixed.bits.b;
    out[2] = (int)mixed.v.w + mixed.list[out[9] & 1] + *mixed.at + (int)aligned.y + (int)kind + flag + c + us + (int)l + (int)d + (int)v3.z + u4.w + (int)in[3];
    Mixed copy = mixed; copy.list[1] = 5; copy.one.d = 2.5; int* at = &copy.list[0]; out[3] = at[out[8] & 1] + (int)copy.one.d; mixed.at[1] = copy.word.u;
    out[4] = (int)table[out[7] & 7] + preset.i + (int)preset.d + counter + bytes[out[6] & 3] + (int)wide[1][out[5] & 1] + hidden[out[5] & 3];
    counter += 1; bytes[4] = (unsigned char)out[0]; hidden[1] = (short)out[1]; wide[0][2] = 8;
}
extern __shared__ float dynamic[];
__global__ void spaces(float* out, int n) {
    __shared__ Inner one; __shared__ float4 rows[3]; __shared__ unsigned char raw[7]; float own[6] = {1, 2}; Inner local = {};
    float* pointers[3] = {out, dynamic, own}; one.i = n; rows[n % 3].y = 2; raw[n % 7] = 3; local.l = n; own[n % 6] = 4; dynamic[threadIdx.x] = 5; __syncthreads();
    out[0] = one.i + rows[1].y + raw[2] + own[3] + (float)local.l + pointers[n % 3][1] + dynamic[n]; float2* pairs = (float2*)dynamic; out[1] = pairs[n].y; *(int*)&out[2] = n;
    for (int i = 0; i < 3; ++i) { rows[i] = make_float4(own[i], own[i + 1], 0, n); one = local; } __syncthreads(); out[3] = rows[n % 3].x + (float)one.l;
}
