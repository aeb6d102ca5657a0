// p: 1 -3 11259375 1 56 12 0 -15 7 11259375 15
struct Packed { unsigned a : 3; int b : 5; unsigned c : 24; bool d : 1; unsigned : 0; unsigned char e : 4, f : 4; };

__global__ void k(int* p) {
    Packed x = {9, -3, 0xabcdef, true, 5, 6}; p[0] = x.a; p[1] = x.b; p[2] = x.c; p[3] = x.d; p[4] = x.e * 10 + x.f;
    p[5] = sizeof(Packed); x.a += 7; p[6] = x.a; x.b = 17; p[7] = x.b; ++x.f; p[8] = x.f; p[9] = x.c;
    p[10] = (x.e = 31);
}
