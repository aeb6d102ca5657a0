// p: 10 12 14 6 44 -1 10701370 799 -9 90 111 9 11 83 13 106 1991 70 54321 54351 4 2 6 -1 8 12 4 54379 31 10 -1 123456 14 4 14 2 1 28 741 -1464290222 28 6 6 7 5 5 265262156 221 3 1 1 3 4
__device__ int chain(int n) { switch (n) { case 0: return 10; case 1: case 2: n += 5; case 3: n *= 2; break; default: { n = -1; break; } case 4: n = 44; } return n; }
__device__ int twoways(int n) { int s = 0; switch (n & 3) { case 0: s = 1; break; case 1: { for (int i = 0; i < n; ++i) { if (i == 3) break; s += i; } } break; case 2: s = 7; } return s; }
__device__ int early(int n) { for (int i = 0;; ++i) { if (i * i > n) return i; if (i > 50) return -1; } }
__device__ int deep(int n) { int c = 0; for (int i = 0; i < n; ++i) { for (int j = 0; j < n; ++j) { if (j > i) break; if ((i + j) & 1) continue; int k = 0; while (true) { if (++k > j) break; if (k == 2) continue; c += k; } do { c++; if (c % 7 == 0) break; } while (c % 3); } if (c > 60) return c; } return -c; }
__device__ int collatz(long long n) { int steps = 0; while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; ++steps; } return steps; }
__device__ int ackermann(int m, int n) { if (m == 0) return n + 1; if (n == 0) return ackermann(m - 1, 1); return ackermann(m - 1, ackermann(m, n - 1)); }
__device__ bool odd(int n);
__device__ bool even(int n) { return n == 0 ? true : odd(n - 1); }
__device__ bool odd(int n) { return n == 0 ? false : even(n - 1); }
__device__ void swap2(int& a, int& b) { int t = a; a = b; b = t; }
__device__ int& larger(int& a, int& b) { return a > b ? a : b; }
__device__ int partial(bool x, int y) { int v; if (x) v = y; else return y * 2; return v + 1; }
__device__ int sign(float x) { if (x > 0) return 1; else if (x < 0) return -1; else if (x == 0) return 0; return 2; }
__global__ void k(int* p) {
    for (int i = 0; i < 6; ++i) p[i] = chain(i); for (int i = 0; i < 8; i++) p[6] = p[6] * 10 + twoways(i) % 10; p[7] = early(50) * 100 + early(1000000);
    p[8] = deep(3); p[9] = deep(9); p[10] = collatz(27); p[11] = ackermann(2, 3); p[12] = even(10) + odd(7) * 10 + even(3) * 100;
    int a = 3, b = 8; swap2(a, b); p[13] = a * 10 + b; larger(a, b) = 1; p[14] = a * 10 + b; p[15] = partial(true, 5) + partial(false, 5) * 10; p[16] = sign(2.5f) + sign(-1) * 10 + sign(0) * 100 + sign(0.0f / 0.0f) * 1000;
    int s = 0; for (int i = 0, j = 10; i < j; ++i, --j) s += i * j; p[17] = s; int v[5] = {5, 4, 3, 2, 1}; s = 0; for (int x : v) s = s * 10 + x; p[18] = s; for (int& x : v) x *= 2; for (const auto& x : v) s += x; p[19] = s;
    if (int q = a + b; q > 3) p[20] = q; else p[20] = -q; if (int q = v[4]) p[21] = q; while (int q = b--) { p[22] += q; } p[23] = b; { int q = v[1]; switch (q) { case 8: p[24] = q; } }
    int i = 0; do { i += 3; } while (i < 10); p[25] = i; while (i-- > 5) ; p[26] = i; for (; i < 20; i += 4) { if (i == 12) continue; s += i; } p[27] = s; for (;;) { if (++i > 30) break; } p[28] = i;
    unsigned n = 5; while (n-- > 0) p[29] += n; p[30] = (int)n; int m[2][3] = {{1, 2, 3}, {4, 5, 6}}; s = 0; for (auto& row : m) for (int x : row) s = s * 10 + x; p[31] = s; int* at = &m[0][0]; p[32] = at[4] + *(at + 2) + m[1][2]; p[33] = (int)(&m[1][1] - at);
#pragma unroll
    for (int t = 0; t < 4; ++t) { p[34] += t * t; if (p[34] > 4) { p[35] += 1; continue; } p[36] = t; }
#pragma unroll 3
    for (int t = 0; t < 10; ++t) { if (t == 8) break; p[37] += t; }
#pragma nounroll
    for (int t = 10; t > 0; t -= 3) p[38] = p[38] * 10 + t % 10;
    long long big = 1; for (int t = 0; t < 40; ++t) big *= 3; p[39] = (int)(big >> 32); float f = 0; for (float t = 0; t < 2; t += 0.25f) f += t; p[40] = (int)(f * 4); bool done = false; int rounds = 0; while (!done) { done = ++rounds * 7 > 40; } p[41] = rounds;
    int x = 5; { int x = 6; p[42] = x; { int x = p[42] + 1; p[43] = x; } } p[44] = x; p[45] = x, x++;
    char text[] = "compile"; int hash = 7; for (char* c = text; *c; ++c) hash = hash * 31 + *c; p[46] = hash; const char* word = "kernel"; p[47] = word[2] + *word + word[6]; int* end = p + 50; int* from = &p[48]; *from++ = 3; *from = (int)(end - from); p[50] = from < end && from != end && !(from > end); --from; p[51] = *from; p[52] = *++from + from[-1];
}
