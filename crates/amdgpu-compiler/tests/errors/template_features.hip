template <typename... T> __device__ void pack(T... x) {}
template <template <typename> class T> __device__ void of_templates() {}
template <typename T> struct Some { T x; };
template <typename T> struct Some<T*> { T x; };
struct Base { int a; };
struct Derived : Base { __device__ int get() const { return a; } };
struct Abstract { virtual __device__ int get(); };
struct Owner { __device__ ~Owner() {} };
struct Convertible { int x; __device__ operator float() const { return x; } };
template <typename T> __device__ auto declared(T x) -> decltype(x + 1) { return x; }
__global__ void k(int* p) { p[0] = 1; }
