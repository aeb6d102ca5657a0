// p: 16 10 9 11 29 12 421 8 11111 10 3 7 3 3 0 -1 3 2 5 13 85 13 11 0 21 3
#define ONE 1
#define ADD(a, b) ((a) + (b))
#define TEXT(x) #x
#define TEXT2(x) TEXT(x)
#define JOIN(a, b) a##b
#define JOIN2(a, b) JOIN(a, b)
#define CALL(f, ...) f(__VA_ARGS__)
#define COUNT(...) COUNT_(__VA_ARGS__, 4, 3, 2, 1)
#define COUNT_(a, b, c, d, n, ...) n
const int SELF = 7;
#define SELF SELF + 1
#define F(x) G(x) + x
#define G(x) F(x) * 2
#define EMPTY
#define LATER(x) ADD
#define MULTI(x) do { p[x] = x; \
    p[x] += 1; } while (0)
#define SAME(x) x
#if 2 + 3 * 4 - 6 / 2 == 11 && (7 % 4 << 2 | 1) == 13 && (5 & 6 ^ 1) == 5 && !0 && ~0 == -1 && - -3 == +3
#define ARITHMETIC 1
#else
#define ARITHMETIC 0
#endif
#if 1 > 2 || 2 >= 3 || 3 < 3 || 4 <= 3 || 5 != 5 || 0 && 1
#define COMPARES 0
#elif (1 ? 2 : 3) == 2 && (0 ? 2 : 3) == 3 && 1 << 4 >> 2 == 4 && 'a' == 97 && '\n' == 10
#define COMPARES 1
#else
#define COMPARES 2
#endif
#ifdef ONE
#ifndef TWO
#define NAMES 1
#else
#define NAMES 2
#endif
#else
#define NAMES 3
#endif
#if defined(ONE) && defined TEXT && !defined(TWO) && !defined NOTHING && UNKNOWN == 0 && ONE
#define DEFINED 1
#endif
#if 0
#if 1
#error skipped
#else
this is 'not read
#endif
#elif 0x10 == 16 && 010 == 8 && 0b11 == 3 && 1u == 1 && 2LL == 2 && true && !false
#define NUMBERS 1
#else
#define NUMBERS 0
#endif
#if -1 > 0u && -1 / 2u == 0x7fffffffffffffff && (-8 >> 1u) == -4 && (~0u >> 60) == 15 && -7 % 2u == 1 && (1 ? -1 : 0u) > 0 && -1 >= 1u && !(-1 < 1u) && !(-1 <= 1u) && -7 / 2 == -3 && -7 % 3 == -1 && 18446744073709551615u > 5
#define SIGNS 1
#elif -1 < 0 && -7 / 2 == -3 && -7 % 3 == -1 && (-8 >> 1) == -4
#define SIGNS 2
#endif
#undef ONE
#define ONE 5
#undef NOTHING
#ifdef ONE // a comment
#define AGAIN 1 /* another
over two lines */ + 1
#endif
#define hash_hash # ## #
constexpr int length(const char* s) { int n = 0; while (s[n]) ++n; return n; }

__global__ void k(int* p) {
    int xy = 8, x1 = 9, F = 3;
    p[0] = ONE + ADD(ONE, 2 * 3); p[1] = ADD(ADD(1, 2), ADD(3, 4)); p[2] = length(TEXT(a + "b\n")); p[3] = length(TEXT2(ADD(1, ONE)));
    p[4] = JOIN(x, y) + JOIN2(x, 1) + JOIN(1, 2); p[5] = CALL(ADD, 3, 4) + CALL(SAME, 5); p[6] = COUNT(a) + COUNT(a, b) * 10 + COUNT(a, b, c, d) * 100;
    p[7] = SELF; p[8] = ARITHMETIC + COMPARES * 10 + NAMES * 100 + DEFINED * 1000 + NUMBERS * 10000;
    MULTI(9); p[10] = SIGNS EMPTY + AGAIN; p[11] = LATER(0)(3, 4); p[12] = ADD (1, 2); p[13] = SAME(SAME(SAME(3)));
    int line = __LINE__; p[14] = __LINE__ - line; p[15] = ADD(3,
        -4); p[16] = F; p[17] = SAME((1, 2)); p[18] = ADD((1, 2), 3) EMPTY; p[19] = length(TEXT(  spaces   inside  ));
    p[20] = sizeof(TEXT()) + sizeof("a" "bc") + length("tab\t\x41\101\"\\") * 10; p[21] = length(R"(raw \n "text")"); p[22] = length(TEXT(',' "," '"'));
    p[23] = __COUNTER__; p[24] = __COUNTER__ + __COUNTER__ * 10; p[25] = 1 \
        + 2;
}
