// p: 11 15 42 15 9 8 4 3
template <typename A, typename B> __device__ auto add(A a, B b) -> decltype(a + b) { return a + b; }
template <typename T> __device__ decltype(auto) twice(T x) { return x + x; }
__device__ auto plain(int x) { return x * 2.5f; }

__global__ void k(int* p) {
    decltype(1.0f) f = 2.75f; p[0] = f * 4; p[1] = add(1, 0.5f) * 10; p[2] = twice(21); p[3] = plain(3) * 2;
    decltype(p[0]) r = p[4]; r = 9; decltype(p) q = p + 5; *q = sizeof(decltype(1ll + 1));
    auto g = [](auto x) -> decltype(x) { return x / 2; }; p[6] = g(9); decltype(f) h = 1.5f; p[7] = h * 2;
}
