// p: 0 303 10 6 5 9 1 0 1 103 2 4 6 42 42 79 1006
template <typename... Ts> __device__ int count(Ts... values) { return sizeof...(Ts) * 100 + sizeof...(values); }
template <typename T> __device__ T total(T x) { return x; }
template <typename T, typename... Ts> __device__ T total(T x, Ts... rest) { return x + total(rest...); }
template <typename... Ts> __device__ auto sum(Ts... x) { return (x + ...); }
template <typename... Ts> __device__ int difference(Ts... x) { return (... - x); }
template <typename... Ts> __device__ int right_difference(Ts... x) { return (x - ...); }
template <typename... Ts> __device__ bool all(Ts... x) { return (... && x); }
template <typename... Ts> __device__ int from(int start, Ts... x) { return (start + ... + x); }
template <typename... Ts> __device__ void store(int* p, Ts... x) { int i = 0; ((p[i++] = x * 2), ...); }
template <int... Ns> __device__ int product() { return (1 * ... * Ns); }
template <typename F, typename... Ts> __device__ auto apply(F f, Ts&&... x) { return f(std::forward<Ts>(x)...); }
template <typename... Ts> __device__ int listed(Ts... x) { int a[] = {x...}; return a[0] * 10 + a[sizeof...(Ts) - 1]; }
template <typename... Ts> __device__ int caught(Ts... x) { auto f = [=](int k) { return k + (x + ...); }; return f(1000); }

__global__ void k(int* p) {
    p[0] = count(); p[1] = count(1, 2.0f, 'c'); p[2] = total(1, 2, 3, 4); p[3] = sum(1, 2, 3);
    p[4] = difference(10, 3, 2); p[5] = right_difference(10, 3, 2); p[6] = all(true, 1 < 2);
    p[7] = all(true, false, true); p[8] = all(); p[9] = from(100, 1, 2); store(p + 10, 1, 2, 3);
    p[13] = product<2, 3, 7>(); p[14] = apply([](int a, int b) { return a * 10 + b; }, 4, 2);
    p[15] = listed(7, 8, 9); p[16] = caught(1, 2, 3);
}
