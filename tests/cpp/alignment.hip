// p: 0 0 0 0 32 16 48 0 0 2 7
struct Padded { char first; alignas(16) float second; };
struct Wide { char first; alignas(8) char second, third; alignas(16) short last; };
__device__ char odd[3] = {1, 2, 3};
__device__ __align__(16) float table[5] = {1, 2, 3, 4, 5};
__constant__ alignas(32) unsigned char constants[5] = {7, 8, 9, 10, 11};

template <int N> __device__ int local_rest() { alignas(N) char buffer[5] = {1}; return (unsigned long long)&buffer[0] % N + buffer[0] - 1; }

__global__ void k(int* p) {
    __shared__ char small[1];
    __shared__ __align__(16) float tile[8];
    __shared__ char between[3];
    __shared__ alignas(32) unsigned char bytes[16];
    small[0] = 1; between[1] = 2; tile[4] = 3; bytes[5] = 4;
    p[0] = (unsigned long long)&tile[0] % 16; p[1] = (unsigned long long)&bytes[0] % 32;
    p[2] = (unsigned long long)&table[0] % 16; p[3] = local_rest<32>();
    p[4] = sizeof(Padded); p[5] = alignof(Wide); p[6] = sizeof(Wide);
    p[7] = (unsigned long long)&constants[0] % 32; p[8] = small[0] + between[1] + (int)tile[4] + bytes[5] - 10;
    float4 lot = *(float4*)&table[1 - 1]; p[9] = lot.y * (odd[0] == 1); p[10] = constants[0];
}
