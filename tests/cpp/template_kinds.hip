// p: 1443210 28 555 12 3628800 81 22 15 2116 2117 54 11232 964 10 7114 34 148 427 32 7 1243 618 5551 7375 8 5 811 34 7
template <typename T> struct Traits { static constexpr int kind = 0; using Same = T; };
template <typename T> struct Traits<T*> { static constexpr int kind = 1; using Same = typename Traits<T>::Same; };
template <typename T> struct Traits<const T> { static constexpr int kind = 2; using Same = T; };
template <typename T> struct Traits<const T*> { static constexpr int kind = 3; using Same = T; };
template <typename T, int N> struct Traits<T[N]> { static constexpr int kind = 10 + N; using Same = T; };
template <> struct Traits<float> { static constexpr int kind = 4; using Same = double; };
template <typename A, typename B> struct Pair { A a; B b; __device__ Pair(A x, B y) : a(x), b(y) {} template <typename C> __device__ C sum() const { return (C)a + (C)b; } };
template <typename A> struct Pair<A, A> { A both[2]; __device__ Pair(A x, A y) : both{x, y} {} template <typename C> __device__ C sum() const { return (C)(both[0] * both[1]); } };
template <int N> struct Fact { static constexpr long long value = N * Fact<N - 1>::value; };
template <> struct Fact<0> { static constexpr long long value = 1; };
template <bool B, typename T, typename F> struct If { using type = T; };
template <typename T, typename F> struct If<false, T, F> { using type = F; };
template <typename T, typename... R> struct First { using type = T; static constexpr int rest = sizeof...(R); };
template <typename... T> struct Size { static constexpr int value = (0 + ... + sizeof(T)); };
template <typename T> constexpr int bits = sizeof(T) * 8;
template <typename T> constexpr int bits<T*> = 1;
template <> constexpr int bits<bool> = 2;
template <typename T> using Pointer = T*;
template <typename T, int N = 2, typename U = T> struct Stack { U data[N]; int n = 0; __device__ void push(T x) { if (n < N) data[n++] = (U)x; } __device__ T pop() { return n ? (T)data[--n] : T(); } template <int M> __device__ int over() const { return N > M; } static constexpr int room = N; };
template <typename T, T V> struct Constant { static constexpr T value = V; };
template <typename F, typename... A> __device__ auto apply(F f, A... a) { return f(a...); }
template <typename... T> __device__ int folds(T... x) { return (x + ...) * 1000 + (... - x) * 100 + (x && ...) * 10 + (... || x) + (int)sizeof...(x); }
template <typename T, typename... R> __device__ T maximum(T x, R... rest) { if constexpr (sizeof...(rest) == 0) return x; else { T y = maximum(rest...); return x > y ? x : y; } }
template <typename T> __device__ int kind_of(T x) { if constexpr (sizeof(T) == 8) return 8; else if constexpr (Traits<T>::kind == 4) return 4; return 1; }
template <int... I> __device__ int digits() { int s = 0; ((s = s * 10 + I), ...); return s; }
template <typename T, int N> __device__ T dot(const T (&a)[N], const T (&b)[N]) { T s = 0; for (int i = 0; i < N; ++i) s += a[i] * b[i]; return s; }
template <typename T> struct Node { T value; __device__ Node operator+(const Node& o) const { return {value + o.value}; } __device__ friend T raw(const Node& n) { return n.value; } };
template <int N> __device__ int power(int x) { if constexpr (N == 0) return 1; else if constexpr (N % 2) return x * power<N - 1>(x); else { int h = power<N / 2>(x); return h * h; } }
struct Base { int tag = 3; template <typename T> __device__ T scaled(T x) const { return x * tag; } };
template <typename T> struct Child : Base { T extra; __device__ Child(T x) : extra(x) {} __device__ T both() const { return scaled(extra) + tag; } };
constexpr int fib(int n) { int a = 0, b = 1; for (int i = 0; i < n; ++i) { int t = a + b; a = b; b = t; } return a; }
constexpr int table[5] = {fib(1), fib(5), fib(10), fib(15), fib(20)};
__global__ void k(int* p) {
    p[0] = Traits<int>::kind + Traits<int*>::kind * 10 + Traits<const int>::kind * 100 + Traits<const int*>::kind * 1000 + Traits<float>::kind * 10000 + Traits<short[4]>::kind * 100000; p[1] = sizeof(Traits<float*>::Same) + sizeof(Traits<short**>::Same) * 10;
    Pair<int, float> a(3, 2.5f); Pair<int, int> b(3, 4); p[2] = a.sum<int>() + (int)(a.sum<float>() * 10) * 10; p[3] = b.sum<int>(); p[4] = (int)Fact<10>::value; p[5] = sizeof(If<true, char, int>::type) + sizeof(If<(2 > 3), char, double>::type) * 10;
    p[6] = sizeof(First<short, int, double>::type) + First<int>::rest + First<int, int, int>::rest * 10; p[7] = Size<char, short, int, double>::value + Size<>::value; p[8] = bits<short> + bits<int*> * 100 + bits<bool> * 1000; Pointer<int> q = p; p[9] = q[8] + 1;
    Stack<int> s; s.push(4); s.push(5); s.push(6); p[10] = s.pop() * 10; p[10] += s.pop(); p[10] += s.pop() * 1000; Stack<float, 3, short> t; t.push(2.75f); p[11] = (int)t.pop() + Stack<float, 3, short>::room * 10 + (int)sizeof(t) * 100 + t.over<2>() * 10000 + s.over<2>() * 100000; p[12] = Constant<int, -7>::value + Constant<char, 'a'>::value * 10 + Constant<bool, true>::value;
    p[13] = apply([](int x, float y) { return (int)(x * y); }, 4, 2.5f); p[14] = folds(4, 1, 2); p[15] = maximum(3, 9, 4) + maximum(2.5f, 1.0f) * 10; p[16] = kind_of(1.0) + kind_of(1.0f) * 10 + kind_of(1) * 100; p[17] = digits<4, 2, 7>(); int u[3] = {1, 2, 3}, v[3] = {4, 5, 6}; p[18] = dot(u, v);
    Node<int> m{3}, n{4}; p[19] = raw(m + n); p[20] = power<5>(3) + power<0>(9) * 1000; Child<int> c(5); p[21] = c.both() + c.scaled(2) * 100; p[22] = table[0] + table[1] * 10 + table[2] * 100; p[23] = table[3] + table[4]; int fixed[fib(6)]; p[24] = sizeof(fixed) / sizeof(fixed[0]); static_assert(fib(12) == 144); p[25] = Stack<int, fib(5)>::room;
    decltype(a.b) w = 2.75f; p[26] = (int)(w * 4) + (int)sizeof(decltype(1 + 1LL)) * 100; auto x = Pair<char, short>(1, 2); p[27] = sizeof(x) + x.sum<int>() * 10; typename If<sizeof(int) == 4, int, float>::type y = 7.9f; p[28] = y;
}
