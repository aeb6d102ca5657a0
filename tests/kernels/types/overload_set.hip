// Which function is called: by type, by constness of a reference, by number of arguments, template against function.
__device__ int which(int) { return 1; }
__device__ int which(unsigned) { return 2; }
__device__ int which(float) { return 3; }
__device__ int which(double) { return 4; }
__device__ int which(const int*) { return 5; }
__device__ int which(int, int) { return 6; }
template <typename T>
__device__ int which(T, T, T) { return 7 + (int)sizeof(T); }
template <typename T>
__device__ int pick(T) { return 100; }
__device__ int pick(float) { return 200; }
__device__ int by_default(int a, int b = 30, int c = 400) { return a + b + c; }
namespace inner {
__device__ int which(char) { return 50; }
}

__global__ void overload_set(int* out) {
    const float f = 1.0f;
    short s = 3;
    out[0] = which(1);
    out[1] = which(1u);
    out[2] = which(f);
    out[3] = which(1.0);
    out[4] = which(out);
    out[5] = which(1, 2);
    out[6] = which('a', 'b', 'c');
    out[7] = which(1.0, 2.0, 3.0);
    out[8] = which(s);
    out[9] = which(true);
    out[10] = pick(1);
    out[11] = pick(f);
    out[12] = pick<float>(f);
    out[13] = by_default(1) + by_default(1, 2) + by_default(1, 2, 3);
    out[14] = inner::which('x');
    out[15] = sizeof(s + s);
}
