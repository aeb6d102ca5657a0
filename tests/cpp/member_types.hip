// p: 8 1 5 4 12 2 7 3 8
template <typename T> struct Rank { typedef int Element; static constexpr int value = 5; };
template <typename T> struct Rank<T*> { typedef T Element; };
struct Plain { typedef short Word; enum { count = 3 }; };
template <typename T> struct Holder { T a, b, c; };
namespace deep { template <typename T> struct Box { typedef T Kept; }; }
extern __device__ int later;
namespace deep { extern __constant__ int table[2]; }
__device__ int read() { return later + deep::table[1]; }
__device__ int later = 3;
namespace deep { __constant__ int table[2] = {1, 4}; }
extern __device__ int started = 3;

__global__ void k(int* p) {
    p[0] = sizeof(Rank<double*>::Element); p[1] = sizeof(typename Rank<char*>::Element); p[2] = Rank<int>::value;
    p[3] = sizeof(Rank<double>::value); p[4] = sizeof(Holder<Rank<int*>::Element>); p[5] = sizeof(Plain::Word);
    p[6] = read(); p[7] = started; p[8] = sizeof(deep::Box<long>::Kept);
}
