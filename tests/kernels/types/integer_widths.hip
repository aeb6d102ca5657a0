// Arithmetic of every integer width; narrow types are widened first and cut off when they are stored.
template <typename T>
__device__ T stirred(T a, T b) {
    T product = (T)(a * b);
    T shifted = (T)(product >> 3);
    return (T)(shifted + a - (b ^ product));
}

__global__ void integer_widths(const long long* a, const long long* b, signed char* c, unsigned char* uc, short* s, unsigned short* us, int* i,
                               unsigned* u, long long* l, unsigned long long* ul, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n) return;
    long long x = a[at], y = b[at];
    c[at] = stirred((signed char)x, (signed char)y);
    uc[at] = stirred((unsigned char)x, (unsigned char)y);
    s[at] = stirred((short)x, (short)y);
    us[at] = stirred<unsigned short>(x, y);
    i[at] = stirred((int)x, (int)y);
    u[at] = stirred<unsigned>(x, y);
    l[at] = stirred(x, y);
    ul[at] = stirred<unsigned long long>(x, y);
}
