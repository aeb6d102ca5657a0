// p: -304 336 -256 8 144 132 1 108 -27 42 1100000014 -1307 0 98 5503 79445 411 46 13 7 -1239323937 1452 211 89 5324 27 1 5 158 7236 -44127
__device__ int places(double x) { return (int)(x * 16); }
__global__ void k(int* p) {
    p[0] = places(floor(-2.5) + ceil(-2.5) * 3 + trunc(-2.5) * 5);
    p[1] = places(floorf(2.75f) + ceilf(2.25f) * 3 + truncf(2.75f) * 5);
    p[2] = places(rint(2.5) + rint(3.5) * 3 + rint(-0.5) * 5 + rintf(2.5f) * 7 + rintf(-3.5f) * 11);
    p[3] = places(fabs(-2.25) + fabsf(-1.5f) * 3 + copysign(3.0, -0.0) * 5 + copysignf(-1.25f, 2.0f) * 7);
    p[4] = places(sqrt(2.25) + sqrtf(6.25f) * 3) + (int)(sqrt(2.0) * 1e9) - 1414213562;
    p[5] = places(fma(1.5, 2.5, -0.75) + fmaf(0.5f, 3.0f, 0.25f) * 3);
    p[6] = (int)((fma(1.0 + 1.0 / 134217728, 1.0 + 1.0 / 134217728, -1.0 - 2.0 / 134217728)) * 1.8014398509481984e16);
    p[7] = places(fmin(1.5, -2.5) + fmax(1.5, -2.5) * 3 + fminf(0.5f, 0.25f) * 5 + fmaxf(0.5f, 0.25f) * 7);
    p[8] = (int)2.9f + (int)-2.9f * 3 + (int)2.9 * 5 + (int)-2.9 * 7 + (unsigned)3.7f * 11 + (int)(long long)-4.5 * 13;
    p[9] = (int)((float)16777217 - 16777216.0f) + (int)((float)16777219 - 16777216.0f) * 10 + (int)((double)(1LL << 53) - 9007199254740990.0);
    p[10] = (int)(float)0.1 + (int)(1e9f * 0.1f) + (int)((double)0.1f * 1e10);
    p[11] = 1 / 3 * 3 + 7 / 2 - 7 % 3 * 10 + -7 / 2 * 100 + -7 % 3 * 1000;
    p[12] = (1 << 4 | 1 << 2) ^ 0x15 & 0x1c; p[13] = ~5 + -(-3) + !0 + !7 * 10 + (5 > 3) * 100 + (5 <= 3) * 1000;
    p[14] = (int)(0xffffffffu >> 28) + (-16 >> 2) * 3 + (int)((unsigned)-16 >> 28) * 100 + (int)(1ULL << 40 >> 38) * 1000;
    p[15] = (signed char)200 + (unsigned char)-1 * 2 + (short)70000 * 3 + (unsigned short)-2 + (int)(char)65;
    p[16] = (int)(0x7fffffffu + 1u >> 31) + (int)(5u - 6u >> 31) * 10 + (int)((unsigned char)(250 + 10)) * 100;
    p[17] = (true && false) + (true || false) * 2 + (0.0 == -0.0) * 4 + (1.0f < 2) * 8 + (2u > -1) * 16 + (-1 < 2LL) * 32;
    p[18] = (int)(1.0f / 3.0f * 3.0f == 1.0f) + (0.1 + 0.2 == 0.3) * 2 + (0.1f + 0.2f == 0.3f) * 4 + ((float)(0.1 + 0.2) == 0.3f) * 8;
    p[19] = (int)(1e38f * 10 > 3e38f) + (1.0f / 0.0f > 1e38f) * 2 + (0.0f / 0.0f != 0.0f / 0.0f) * 4 + (0.0 / 0.0 < 1) * 8;
    p[20] = (int)(long long)1e15 + (int)((unsigned long long)1e19 >> 60) + (int)(9223372036854775807LL % 1000000007) + (int)(-9223372036854775807LL / 1000000007 % 1000);
    p[21] = 'a' + '\n' + '\x7f' + '\\' + '\'' + '"' + '\0' + '\t' + 010 + 0x1F + 0b101 + 1'000;
    p[22] = sizeof(1) + sizeof(1L) * 2 + sizeof(1LL) * 3 + sizeof(1u) * 4 + sizeof(1.0) * 5 + sizeof(1.0f) * 6 + sizeof('a') * 7 + sizeof(true) * 8 + sizeof(4294967296) * 9;
    p[23] = sizeof("text") + sizeof(1 ? 1 : 1.0) * 2 + sizeof((char)1 + (char)1) * 3 + sizeof((short)1 << 1LL) * 4 + sizeof(1u + 1LL) * 5;
    p[24] = (3, 4) + (1 ? 2 : 3) * 10 + (0 ? 2 : 3) * 100 + (1 ? 0 ? 4 : 5 : 6) * 1000;
    p[25] = 2 + 3 * 4 - 5 % 3 << 1 & 0xff | 1 ^ 2; p[26] = 1 < 2 == 2 > 1 != 0; p[27] = -2 * -3 + - -4 - +5;
    p[28] = (int)1e2 + (int)1.5e1f + (int).5e1 + (int)0x1p4 + (int)0x1.8p1 + (int)1e-1 + (int)12.f + (int)7.;
    constexpr double pi = 3.14159265358979; constexpr int many = pi * 1000; constexpr unsigned wrapped = -many; p[29] = many + (int)(wrapped >> 20);
    enum { first = 3, second = first * 2 + 1, third, fourth = -5, fifth }; p[30] = first + second * 10 + third * 100 + fourth * 1000 + fifth * 10000;
}
