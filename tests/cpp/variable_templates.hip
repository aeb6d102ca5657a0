// p: 314 3 0 7 144 6
template <typename T> constexpr T pi = T(3.14159265358979);
template <typename T> constexpr int rank = 0;
template <> constexpr int rank<float> = 7;
template <int N> constexpr int square = N * N;
template <typename T> using Pointer = T*;

__global__ void k(int* p) {
    p[0] = pi<float> * 100; p[1] = pi<int>; p[2] = rank<int>; p[3] = rank<float>; p[4] = square<12>;
    Pointer<int> q = p + 5; *q = 6;
}
