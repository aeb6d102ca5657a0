// p: 100 -90000 -20000 -90000 180000 -2 0 2 3200 -25 25 -1875 3750 -201 -60000 1 -50 44 30536 54464 106 176 4362 464 63 191 10 58 65063 -188809 10 57 255 0 255 1 1 0 1 1 54 428571426 -2 715827879 1705032712 -3 1500000012 -58593750 -2115098112 9253366 95 32111 87654 48414 6 24 8 9 2 81 1 5 0 5
__device__ int f(int) { return 1; }
__device__ int f(unsigned) { return 2; }
__device__ int f(long long) { return 3; }
__device__ int f(float) { return 4; }
__device__ int f(double) { return 5; }
__device__ int f(bool) { return 6; }
__device__ int f(char) { return 7; }
__device__ int f(const int*) { return 8; }
__global__ void k(int* p) {
    signed char a = -100; unsigned char b = 200; short c = -30000; unsigned short d = 60000; bool e = true;
    p[0] = a + b; p[1] = c - d; p[2] = a * b; p[3] = c * 3; p[4] = d * 3; p[5] = b / a; p[6] = c % b; p[7] = e + e;
    p[8] = b << 4; p[9] = a >> 2; p[10] = b >> 3; p[11] = c >> 4; p[12] = d >> 4; p[13] = ~b; p[14] = -d; p[15] = !d + !0;
    a += 50; b += 100; c -= 5000; d *= 2; p[16] = a; p[17] = b; p[18] = c; p[19] = d;
    a *= 3; b <<= 2; c /= 7; d %= 1000; p[20] = a; p[21] = b; p[22] = c; p[23] = d;
    a ^= 0x55; b |= 0x0f; c &= 0xff; d >>= 3; p[24] = a; p[25] = b; p[26] = c; p[27] = d;
    p[28] = a++; p[28] += ++a * 1000; p[29] = b--; p[29] -= --b * 1000; p[30] = c++; p[31] = --d; b = 255; p[32] = b++; p[33] = b; b--; p[34] = b;
    e += 5; p[35] = e; e = 0.5f; p[36] = e; e = !e; p[37] = e; e ^= true; p[38] = e; e = 256; p[39] = e;
    unsigned u = 3000000000u; int i = -5; long long l = -6; unsigned long long w = 1ULL << 63;
    p[40] = (u > i) + (l < i) * 2 + (u > l) * 4 + (w > l) * 8 + (i < b) * 16 + ((unsigned)i > u) * 32;
    p[41] = u / 7 + i / 2; p[42] = (int)(u % 1000) + i % 3; p[43] = (int)(w / 3 >> 32) + (int)(l / 4) + (int)(l % 4); p[44] = (int)(u * 2) + (int)(w >> 60);
    p[45] = i >> 1; p[46] = (int)(u >> 1) + (int)(l >> 1) + (int)((unsigned)i >> 28); p[47] = (int)((long long)u * i >> 8); p[48] = (int)(u * i);
    p[49] = (int)((float)u / 1e5f) + (int)((double)w / 1e12) + (int)(float)l; p[50] = (int)(unsigned char)200.5f + (signed char)-100.5 + (short)i;
    p[51] = f(a) + f(b) * 10 + f(c) * 100 + f(u) * 1000 + f(l) * 10000; p[52] = f(1.0f) + f(1.0) * 10 + f(true) * 100 + f('a') * 1000 + f(p) * 10000;
    p[53] = sizeof(a + b) + sizeof(a) * 10 + sizeof(e ? a : b) * 100 + sizeof(u + l) * 1000 + sizeof(i ? 1 : 2.0f) * 10000;
    int x = 5; x = x++ + 1; p[54] = x; x = (x += 2) * 3; p[55] = x; int y = x = 4; p[56] = x + y; p[57] = (x, y, x - y + 9);
    p[58] = x > 3 ? y < 3 ? 1 : 2 : 3; (x > 3 ? x : y) = 77; p[59] = x + y; p[60] = x == 77 && y++ == 4 || y++; p[61] = y; p[62] = x != 77 && y++; p[63] = y;
}
