// p: 15 10 75 34 9 6 75 3 31 8 7 8 3 1 5
struct Pt { int x, y; }; __device__ int next(int& n) { return --n; }

__global__ void k(int* p) {
    int a[5] = {1, 2, 3, 4, 5}; int s = 0; for (auto x : a) s += x; p[0] = s; for (auto& x : a) x *= 2; p[1] = a[4];
    for (int x : {10, 20, 30}) s += x; p[2] = s; auto [x, y] = Pt{3, 4}; p[3] = x * 10 + y; Pt q{1, 2};
    auto& [u, v] = q; u = 9; p[4] = q.x; auto [e0, e1, e2, e3, e4] = a; e0 = 100; p[5] = a[0] + e1;
    if (int n = s; n > 5) p[6] = n; if (int n = x) p[7] = n; int k = 4, r = 0;
    while (int n = next(k)) { if (n == 2) continue; r = r * 10 + n; } p[8] = r; (x > 2 ? p[9] : p[10]) = 8;
    switch (x) { case 1: p[10] = 1; [[fallthrough]]; case 3: p[10] = 3; case 4: p[10] += 4; break; default: p[10] = -1; }
    int t = (p[11] = 1, 7); p[11] += t; do { --t; } while (t > 3); p[12] = t; if (t == 3) [[likely]] { p[13] = 1; }
    [[maybe_unused]] int unused = 3; if constexpr (sizeof(int) == 4) { p[14] = 5; } else { p[14] = nothing; }
}
