// p: 6 4 5 9 9
struct Iterator { int* p; __device__ int& operator*() const { return *p; } __device__ Iterator& operator++() { ++p; return *this; } __device__ bool operator!=(const Iterator& o) const { return p != o.p; } };
struct Pointer { int* p; __device__ int* operator->() { return p; } };
struct View { float* data; int w; __device__ float& operator()(int y, int x) { return data[y * w + x]; } __device__ float operator[](int i) const { return data[i]; } };
struct Cell { int a, b; };
struct Smart { Cell* c; __device__ Cell* operator->() const { return c; } __device__ Cell& operator*() const { return *c; } };

__global__ void k(int* p) {
    int a[3] = {1, 2, 3}; Iterator i{a} , e{a + 3}; int s = 0; for (; i != e; ++i) s += *i; p[0] = s;
    float d[6] = {0}; View v{d, 3}; v(1, 2) = 4; p[1] = v[5]; Cell c{5, 6}; Smart m{&c}; p[2] = m->a; (*m).b = 9;
    p[3] = c.b; p[4] = m.operator->()->b;
}
