// Three hashes of strings behind one interface.
struct Fnv1a {
    unsigned state = 2166136261u;
    __device__ void add(unsigned char c) { state = (state ^ c) * 16777619u; }
    __device__ unsigned value() const { return state; }
};
struct Djb2 {
    unsigned state = 5381;
    __device__ void add(unsigned char c) { state = (state << 5) + state + c; }
    __device__ unsigned value() const { return state; }
};
struct Adler32 {
    unsigned a = 1, b = 0;
    __device__ void add(unsigned char c) {
        a = (a + c) % 65521;
        b = (b + a) % 65521;
    }
    __device__ unsigned value() const { return b << 16 | a; }
};

template <typename Hash>
__device__ unsigned hashed(const unsigned char* text, int length) {
    Hash hash;
    for (int i = 0; i < length; ++i) hash.add(text[i]);
    return hash.value();
}

__global__ void hashes(const unsigned char* texts, const int* ends, uint3* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int begin = i ? ends[i - 1] : 0;
    const unsigned char* text = texts + begin;
    int length = ends[i] - begin;
    out[i] = {hashed<Fnv1a>(text, length), hashed<Djb2>(text, length), hashed<Adler32>(text, length)};
}
