// p: 1 2 200 -1 42 98 3 8 1
enum class Mode { Fast, Exact = 5 };
enum Old { A = 3 };
template <Mode M> __device__ int mode() { if constexpr (M == Mode::Exact) return 1; else return 2; }
template <bool B, unsigned char C = 200> struct Flags { static constexpr int value = B ? C : -1; };
template <auto V> __device__ int any() { return V + 1; }
template <Old O> __device__ int old() { return O; }
template <typename T, typename U = T, int N = sizeof(U)> __device__ int sized() { return N; }

__global__ void k(int* p) {
    p[0] = mode<Mode::Exact>(); p[1] = mode<Mode::Fast>(); p[2] = Flags<true>::value; p[3] = Flags<false, 3>::value;
    p[4] = any<41>(); p[5] = any<'a'>(); p[6] = old<A>(); p[7] = sized<double>(); p[8] = sized<double, char>();
}
