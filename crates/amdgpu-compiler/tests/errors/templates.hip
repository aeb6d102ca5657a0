// Mistakes in templates are told with the instance they belong to.
template <typename T> __device__ T twice(T x) { return x.missing + 1; }
template <typename T> __device__ T outer(T x) { return twice<T>(x); }
template <typename T, int N> struct Row { T data[N]; __device__ T first() const { return data[0] + unknown; } };
template <typename T> __device__ T same(T a, T b) { return a; }
template <typename T> __global__ void scale(T* p) { p[0] = 1; }
struct Point {
    float x, y;
    __device__ Point(float x, float y) : x(x), y(y), z(0) {}
    __device__ float sum() const { x = 1; return x + y; }
};
struct Plain {
    float x;
    __device__ float sum() const { x = 1; return x + z; }
    __device__ static float none() { return x; }
    void on_host();
};
__global__ void k(float* p, int* q) {
    p[0] = outer(p[1]);
    Row<float, 4> row;
    p[1] = row.first();
    Row<float> short_of_one;
    Row<4, float> swapped;
    q[1] = same(1, 2.0f);
    q[2] = same<int*>(3, 4);
    Plain plain = {1};
    plain.none(2);
    plain.on_host();
    plain.z();
    p[2] = plain + 1;
    plain();
    int captured = 1;
    auto f = [](int x) { return x + captured; };
    q[3] = f(1);
    q[4] = f(1, 2);
    auto g = [&](auto x) { return x.y; };
    g(3);
    if constexpr (q[0] > 1) q[1] = 0;
    static_assert(sizeof(int) == 8, "never");
}
