// p: 1065353216 63 2 34 12 64 7
union Bits { float f; unsigned u; unsigned char b[4]; };
struct Value { int tag; union { int i; float f; }; struct { short lo, hi; }; };

__global__ void k(int* p) {
    Bits x; x.f = 1.0f; p[0] = x.u; p[1] = x.b[3]; Value v; v.tag = 1; v.i = 0x40000000; v.lo = 3; v.hi = 4;
    p[2] = v.f; p[3] = v.lo * 10 + v.hi; p[4] = sizeof(Value); Bits y = {2.0f}; p[5] = y.u >> 24; Bits z{.u = 7};
    p[6] = z.u;
}
