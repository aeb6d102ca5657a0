// p: 2 5 15 10 6 2 7 2
struct Box { int v; template <typename T> __device__ T as() const { return (T)v / 2; } template <int N> __device__ int plus() { return v + N; } };
template <typename B> __device__ float half_of(B b) { return b.template as<float>(); }

__global__ void k(int* p) {
    Box b{5}; p[0] = b.as<int>(); p[1] = b.as<float>() * 2; p[2] = b.plus<10>(); p[3] = half_of(b) * 4; Box* q = &b;
    p[4] = q->plus<1>(); p[5] = min<int>(3, 2.9f); p[6] = std::max<int>(7u, -1); p[7] = std::min(4, 2);
}
