template <template <typename> class T> __device__ void of_templates() {}
template <typename T> struct Some { T x; };
template <typename T> __device__ T partial(T x, int n) { return x; }
template <typename T> __device__ T* partial<T*>(T* x, int n) { return x; }
template <typename... T, typename U> __device__ void pack_first(U x) {}
struct Abstract { virtual __device__ int get(); };
struct Above { int a; };
struct Shared : virtual Above { __device__ int get() { return 1; } };
struct Owner { int* p; __device__ ~Owner() { p[0] = 1; } };
__device__ Owner make(int* p) { return Owner{p}; }
__device__ void take(Owner o) {}
__device__ int apply(int (*f)(int), int x) { return x; }
template <typename T> concept Small = sizeof(T) < 4;
template <> __device__ float absent<float>(float x) { return x; }
template <typename... Ts> __device__ int unexpanded(Ts... x) { return x; }
template <typename... Ts> __device__ int no_start(Ts... x) { return (x + ...); }
__global__ void k(int* p) {
    p[0] = unexpanded(1, 2) + no_start();
    make(p);
    Owner many[2];
    thread_local int t = 1;
    p[1] = typeid(p) == 1;
}
