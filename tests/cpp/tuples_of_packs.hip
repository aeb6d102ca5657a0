// p: 5 5 97 2
template <typename... Ts> struct Tuple;
template <> struct Tuple<> { static constexpr int size = 0; };
template <typename T, typename... Ts> struct Tuple<T, Ts...> {
T head; Tuple<Ts...> tail;
static constexpr int size = 1 + Tuple<Ts...>::size;
__device__ Tuple(T h, Ts... rest) : head(h), tail(rest...) {}
};
template <typename T> struct Tuple<T> {
T head; static constexpr int size = 1;
__device__ Tuple(T h) : head(h) {}
};

__global__ void k(int* p) {
    Tuple<int, float, char> t(5, 2.5f, 'a'); p[0] = t.head; p[1] = t.tail.head * 2; p[2] = t.tail.tail.head;
    p[3] = Tuple<int, int>::size;
}
