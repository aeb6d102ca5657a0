// A recursion without an end stops, and is told with the instance that began it.
template <int N> struct Deep { Deep<N + 1> inner; };
__global__ void k(int* q) {
    Deep<0> deep;
    q[0] = sizeof(deep);
}
