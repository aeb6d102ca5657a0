// p: 0 1 2 3 0 1 1 2 3 120 14
template <typename T> struct Kind { static constexpr int value = 0; };
template <typename T> struct Kind<T*> { static constexpr int value = 1; };
template <typename T> struct Kind<const T*> { static constexpr int value = 2; };
template <typename T, int N> struct Kind<T[N]> { static constexpr int value = 10 + N; };
template <> struct Kind<float*> { static constexpr int value = 3; };
template <typename A, typename B> struct Same { static constexpr int value = 0; };
template <typename A> struct Same<A, A> { static constexpr int value = 1; };
template <typename T> __device__ int which(T x) { return 1; }
template <> __device__ int which<float>(float x) { return 2; }
template <> __device__ int which(double x) { return 3; }
template <int N> __device__ int factorial() { return N * factorial<N - 1>(); }
template <> __device__ int factorial<0>() { return 1; }

__global__ void k(int* p) {
    p[0] = Kind<int>::value; p[1] = Kind<int*>::value; p[2] = Kind<const int*>::value; p[3] = Kind<float*>::value;
    p[4] = Same<int, float>::value; p[5] = Same<int, int>::value; p[6] = which(1); p[7] = which(1.0f);
    p[8] = which(1.0); p[9] = factorial<5>(); p[10] = Kind<int[4]>::value;
}
