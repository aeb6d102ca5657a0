"""Sources written to cost a compiler far more than their length: one table of families, each at several sizes.

Every family aims at one phase, and grows by one number. A compile of any of them must end soon, with code or with a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

FAMILIES: dict[str, tuple[Callable[[int], str], tuple[int, ...]]] = {}


def family(*sizes: int) -> Callable[[Callable[[int], str]], Callable[[int], str]]:
    """Puts a source of one parameter into the table, with the values that the parameter takes."""

    def add(make: Callable[[int], str]) -> Callable[[int], str]:
        FAMILIES[make.__name__] = (make, sizes)
        return make

    return add


def hostile_sources() -> Iterator[tuple[str, str]]:
    """Names and texts of all sources."""
    for name, (make, sizes) in FAMILIES.items():
        for size in sizes:
            yield f"{name}-{size}", make(size)


def kernel(body: str, before: str = "", parameters: str = "int* o, const int* p, int n") -> str:
    return f"{before}\n__global__ void k({parameters}) {{ int i = threadIdx.x; {body} }}\n"


def chain(first: str, step: str, count: int) -> str:
    """`first`, then `step` for 1 to `count` with `{i}` and `{j}` as the number and the one before it."""
    return first + "".join(step.replace("{i}", str(i)).replace("{j}", str(i - 1)) for i in range(1, count + 1))


# Types


@family(16, 24, 64, 400)
def nested_structs(n: int) -> str:
    return kernel(
        f"S{n} x; o[0] = 1;", chain("struct S0 { int a; int b; };\n", "struct S{i} { S{j} a; S{j} b; };\n", n)
    )


@family(12, 16, 24, 64)
def nested_structs_zeroed(n: int) -> str:
    return kernel(
        f"S{n} x = {{}}; o[0] = x.a.a.b.a.b;",
        chain("struct S0 { char a; char b; };\n", "struct S{i} { S{j} a; S{j} b; };\n", n),
    )


@family(12, 16, 24, 64)
def nested_structs_with_constructors(n: int) -> str:
    head = "struct S0 { char a; __device__ S0() { a = 1; } };\n"
    return kernel(f"S{n} x; o[0] = 1;", chain(head, "struct S{i} { S{j} a; S{j} b; };\n", n))


@family(12, 16, 24, 64)
def nested_structs_with_copies(n: int) -> str:
    head = "struct S0 { char a; __device__ S0() { a = 1; } __device__ S0(const S0& s) { a = s.a; } };\n"
    return kernel(f"S{n} x; S{n} y = x; o[0] = 1;", chain(head, "struct S{i} { S{j} a; S{j} b; };\n", n))


@family(12, 16, 24, 64)
def nested_structs_with_destructors(n: int) -> str:
    head = "struct S0 { char a; __device__ ~S0() { a = 1; } };\n"
    return kernel(f"S{n} x; o[0] = 1;", chain(head, "struct S{i} { S{j} a; S{j} b; };\n", n))


@family(12, 16, 24, 64)
def nested_structs_assigned(n: int) -> str:
    head = "struct S0 { char a; __device__ void operator=(const S0& s) { a = s.a; } };\n"
    return kernel(f"S{n} x; S{n} y; x = y; o[0] = 1;", chain(head, "struct S{i} { S{j} a; S{j} b; };\n", n))


@family(12, 16, 24, 64)
def nested_structs_with_starts(n: int) -> str:
    return kernel(f"S{n} x; o[0] = 1;", chain("struct S0 { char a = 1; };\n", "struct S{i} { S{j} a; S{j} b; };\n", n))


@family(12, 16, 24, 64)
def nested_structs_as_parameters(n: int) -> str:
    types = chain("struct S0 { char a; char b; };\n", "struct S{i} { S{j} a; S{j} b; };\n", n)
    return f"{types}\n__global__ void k(S{n} x, int* o) {{ o[0] = 1; }}\n"


@family(12, 24, 64)
def nested_structs_through_pointers(n: int) -> str:
    types = chain("struct S0 { char a; char b; };\n", "struct S{i} { S{j} a; S{j} b; };\n", n)
    return f"{types}\n__global__ void k(S{n}* x, S{n}* y) {{ x[0] = y[1]; }}\n"


@family(12, 24, 64)
def nested_structs_in_shared_memory(n: int) -> str:
    types = chain("struct S0 { char a; char b; };\n", "struct S{i} { S{j} a; S{j} b; };\n", n)
    return kernel(f"__shared__ S{n} x; o[0] = 1;", types)


@family(12, 24, 64)
def nested_structs_as_globals(n: int) -> str:
    types = chain("struct S0 { char a; char b; };\n", "struct S{i} { S{j} a; S{j} b; };\n", n)
    return kernel("o[0] = 1;", f"{types}__device__ S{n} x;\n__constant__ S{n} y;")


@family(12, 16, 24, 64)
def nested_unions(n: int) -> str:
    return kernel(
        f"S{n} x; S{n} y = x; o[0] = 1;", chain("struct S0 { int a; };\n", "union S{i} { S{j} a; S{j} b; };\n", n)
    )


@family(16, 60, 500)
def nested_bases(n: int) -> str:
    return kernel(
        f"S{n} x; x.a0 = n; o[0] = x.a0;", chain("struct S0 { int a0; };\n", "struct S{i} : S{j} { int a{i}; };\n", n)
    )


@family(10, 16, 40)
def two_bases_each(n: int) -> str:
    head = "template <int A, int B> struct T;\ntemplate <int B> struct T<0, B> { int x; };\n"
    head += "template <int A, int B> struct T : T<A - 1, B * 2>, T<A - 1, B * 2 + 1> { };\n"
    return kernel(f"T<{n}, 0> x; o[0] = sizeof(x);", head)


@family(4, 8, 16)
def arrays_of_arrays(n: int) -> str:
    return kernel(f"int x{'[8]' * n} = {{}}; o[0] = x{'[0]' * n};")


@family(100, 2000, 10000)
def wide_struct(n: int) -> str:
    fields = " ".join(f"int f{i};" for i in range(n))
    return kernel("S x; S y = x; S z = {}; o[0] = y.f3 + z.f1;", f"struct S {{ {fields} }};")


@family(100, 1000, 4000)
def wide_struct_through_functions(n: int) -> str:
    fields = " ".join(f"int f{i};" for i in range(n))
    return kernel(
        "S x = {}; x = f(f(f(f(x)))); o[0] = x.f1;",
        f"struct S {{ {fields} }};\n__device__ S f(S s) {{ s.f1++; return s; }}",
    )


@family(10, 30, 200)
def doubling_arrays(n: int) -> str:
    return kernel(
        f"T{n}* x = (T{n}*)o; o[1] = sizeof(x[0]) > 4;", chain("typedef int T0;\n", "typedef T{j} T{i}[2];\n", n)
    )


# Templates


@family(12, 18, 40)
def template_tree(n: int) -> str:
    head = "template <int D, int K> struct F { static const int v = F<D - 1, 2 * K>::v + F<D - 1, 2 * K + 1>::v; };\n"
    head += "template <int K> struct F<0, K> { static const int v = K; };\n"
    return kernel(f"o[0] = F<{n}, 0>::v;", head)


@family(30, 150, 3000)
def template_depth(n: int) -> str:
    head = "template <int D> __device__ int f(int x) { return f<D - 1>(x) + 1; }\ntemplate <> __device__ int f<0>(int x) { return x; }\n"
    return kernel(f"o[0] = f<{n}>(n);", head)


@family(10, 14, 30)
def template_function_tree(n: int) -> str:
    head = "template <int D, int K> __device__ int f(int x) { if constexpr (D == 0) return x + K; "
    head += "else return f<D - 1, 2 * K>(x) + f<D - 1, 2 * K + 1>(x); }\n"
    return kernel(f"o[0] = f<{n}, 0>(n);", head)


@family(4, 8, 20)
def doubling_type_names(n: int) -> str:
    return kernel(
        f"T{n} x; o[0] = sizeof(x);",
        "template <class A, class B> struct P { A* a; B* b; };\n"
        + chain("typedef int T0;\n", "typedef P<T{j}, T{j}> T{i};\n", n),
    )


@family(50, 500, 3000)
def pack_of(n: int) -> str:
    values = ", ".join(str(i) for i in range(n))
    return kernel(f"o[0] = s({values});", "template <class... T> __device__ int s(T... t) { return (t + ... + 0); }")


@family(20, 60, 300)
def pack_by_recursion(n: int) -> str:
    head = "__device__ int s() { return 0; }\ntemplate <class A, class... T> __device__ int s(A a, T... t) { return a + s(t...); }\n"
    return kernel(f"o[0] = s({', '.join(str(i) for i in range(n))});", head)


@family(20, 200, 1000)
def many_overloads(n: int) -> str:
    head = "".join(f"struct A{i} {{ int x; }};\n__device__ int f(A{i} a) {{ return a.x; }}\n" for i in range(n))
    return kernel(" ".join(f"{{ A{i} a; a.x = {i}; o[{i}] = f(a); }}" for i in range(n)), head)


@family(20, 100, 400)
def many_template_overloads(n: int) -> str:
    head = "".join(
        f"template <class T> struct A{i} {{ T x; }};\ntemplate <class T> __device__ int f(A{i}<T> a) {{ return a.x; }}\n"
        for i in range(n)
    )
    return kernel(" ".join(f"{{ A{i}<int> a; a.x = {i}; o[{i}] = f(a); }}" for i in range(n)), head)


@family(8, 16, 30)
def lambdas_in_lambdas(n: int) -> str:
    body = "x"
    for _ in range(n):
        body = f"[=](int x) {{ return {body} + x; }}(x) + [=](int x) {{ return x; }}(x)"
    return kernel(f"int x = n; o[0] = {body};")


@family(8, 16, 24)
def generic_lambdas_doubling(n: int) -> str:
    steps = chain(
        "auto f0 = [](auto x) { return x + 1; };", " auto f{i} = [=](auto x) { return f{j}(x) + f{j}(x * 2); };", n
    )
    return kernel(f"{steps} o[0] = f{n}(n);")


# Preprocessor


@family(3, 12, 100)
def recursion_by_many_calls(n: int) -> str:
    return kernel("o[i] = f(p[i]);", f"__device__ int f(int x) {{ return x < 1 ? 1 : {'f(x - 1) + ' * n} 0; }}")


@family(10, 20, 60)
def macro_doubling(n: int) -> str:
    return kernel(f"o[0] = M{n};", chain("#define M0 1\n", "#define M{i} M{j} + M{j}\n", n))


@family(10, 20, 60)
def macro_doubling_by_arguments(n: int) -> str:
    return kernel(f"o[0] = M{n}(n);", chain("#define M0(x) (x)\n", "#define M{i}(x) M{j}(x) ^ M{j}(x)\n", n))


@family(6, 10, 20)
def macro_arguments_nested(n: int) -> str:
    text = "1"
    for _ in range(n):
        text = f"D(D(D({text})))"
    return kernel(f"o[0] = {text};", "#define D(x) x + x")


@family(100, 5000, 50000)
def macro_never_used(n: int) -> str:
    return kernel("o[0] = 1;", "".join(f"#define N{i}(a, b) a ## b # a\n" for i in range(n)))


@family(10, 18, 40)
def pasted_tokens(n: int) -> str:
    return kernel(
        f"int M{n} = 3; o[0] = 1;",
        "#define C(a, b) a ## b\n" + chain("#define M0 a\n", "#define M{i} C(M{j}, M{j})\n", n),
    )


@family(50, 199, 2000)
def nested_conditionals(n: int) -> str:
    return kernel("o[0] = 1;", "#if 1\n" * n + "#endif\n" * n)


@family(100, 2000, 20000)
def long_condition(n: int) -> str:
    return kernel("o[0] = 1;", "#if " + " || ".join("defined(A)" for _ in range(n)) + "\n#endif\n")


# Expressions


@family(100, 1000, 20000)
def sum_of(n: int) -> str:
    return kernel("o[i] = " + " + ".join(f"p[{i}]" for i in range(n)) + ";")


@family(100, 400, 5000)
def parentheses(n: int) -> str:
    return kernel(f"o[i] = {'(' * n}n{')' * n};")


@family(100, 400, 5000)
def unary_chain(n: int) -> str:
    return kernel(f"o[i] = {'-~' * n}n;")


@family(20, 200, 1500)
def nested_conditional_expressions(n: int) -> str:
    return kernel("o[i] = " + "".join(f"n > {i} ? p[{i}] : " for i in range(n)) + "0;")


@family(20, 200, 2000)
def logical_chain(n: int) -> str:
    return kernel("if (" + " && ".join(f"(p[{i}] || p[i + {i}])" for i in range(n)) + ") o[i] = 1;")


@family(10, 20, 200)
def ambiguous_angle_brackets(n: int) -> str:
    return kernel("int a = 1, b = 2; o[i] = " + "a < (" * n + "b" + ") > 0" * n + ";")


@family(10, 30, 200)
def ambiguous_declarations(n: int) -> str:
    return kernel(
        "int a = 1; "
        + "(a) = (a); " * n
        + "typedef int T; "
        + "".join(f"T(x{i}) = {i};" for i in range(n))
        + "o[i] = a;"
    )


@family(8, 16, 200)
def sizeof_of_sizeof(n: int) -> str:
    text = "n"
    for _ in range(n):
        text = f"sizeof({text} + {'(int)' if n > 100 else ''}1)"
    return kernel(f"o[i] = {text};")


@family(5, 12, 60)
def decltype_nested(n: int) -> str:
    text = "n"
    for _ in range(n):
        text = f"(decltype({text})(1) + decltype({text})(2))" if n <= 12 else f"decltype({text})(1)"
    return kernel(f"o[i] = {text};")


# Constants and initialisers


@family(100, 10000, 70000)
def long_initialiser(n: int) -> str:
    return kernel("o[i] = t[n];", f"__constant__ int t[] = {{ {', '.join(str(i) for i in range(n))} }};")


@family(100, 1000, 8000)
def long_local_initialiser(n: int) -> str:
    return kernel(f"int t[] = {{ {', '.join(f'p[{i}]' for i in range(n))} }}; o[i] = t[n];")


@family(1000, 60000)
def local_array_of_objects(n: int) -> str:
    return kernel(f"S t[{n}]; o[i] = t[n].x;", "struct S { char x; __device__ S() { x = 3; } };")


@family(20, 30, 90)
def constexpr_fibonacci(n: int) -> str:
    return kernel(
        f"constexpr int x = f({n}); o[i] = x;",
        "__device__ constexpr int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }",
    )


@family(1000, 1000000, 2000000000)
def constexpr_loop(n: int) -> str:
    return kernel(
        f"constexpr int x = f({n}); o[i] = x;",
        "__device__ constexpr int f(int n) { int s = 0; for (int k = 0; k < n; ++k) s += k; return s; }",
    )


@family(10, 100)
def many_constexpr_loops(n: int) -> str:
    head = "__device__ constexpr int f(int n) { int s = 0; for (int k = 0; k < n; ++k) s += k; return s; }"
    return kernel(" ".join(f"constexpr int x{i} = f(300000 + {i});" for i in range(n)) + " o[i] = x1;", head)


@family(100, 3000, 30000)
def constant_chain(n: int) -> str:
    return kernel(f"o[i] = c{n};", chain("constexpr int c0 = 1;\n", "constexpr int c{i} = c{j} * 3 + 1;\n", n))


@family(100, 3000)
def enum_chain(n: int) -> str:
    return kernel(f"o[i] = e{n};", "enum E { " + chain("e0 = 1", ", e{i} = e{j} + e0", n) + " };")


# Loops and calls


@family(8, 64, 1024)
def unrolled_loops(n: int) -> str:
    return kernel(
        "int s = 0;"
        + "".join(f"\n#pragma unroll\nfor (int a{d} = 0; a{d} < {n}; ++a{d})" for d in range(4))
        + " s += p[a0 ^ a1 ^ a2 ^ a3]; o[i] = s;"
    )


@family(4, 8, 12)
def deep_constant_loops(n: int) -> str:
    return kernel(
        "int s = 0;"
        + "".join(f" for (int a{d} = 0; a{d} < 4; ++a{d})" for d in range(n))
        + " s = s * 3 + p[a0]; o[i] = s;"
    )


@family(50, 300, 1500)
def many_loops(n: int) -> str:
    return kernel(
        "int s = 0;" + "".join(f" for (int a = 0; a < n; ++a) s += p[a * {k + 1}];" for k in range(n)) + " o[i] = s;"
    )


@family(10, 40, 150)
def nested_loops(n: int) -> str:
    head = "".join(f" for (int a{d} = 0; a{d} < n; ++a{d}) {{" for d in range(n))
    return kernel(f"int s = 0; {head} s += p[a0 + a{n - 1}]; {'}' * n} o[i] = s;")


@family(10, 20, 60)
def call_doubling(n: int) -> str:
    return kernel(
        f"o[i] = f{n}(n);",
        chain(
            "__device__ int f0(int x) { return x * x + 1; }\n",
            "__device__ int f{i}(int x) { return f{j}(x) + f{j}(x ^ {i}); }\n",
            n,
        ),
    )


@family(10, 20, 60)
def forced_call_doubling(n: int) -> str:
    return kernel(
        f"o[i] = f{n}(n);",
        chain(
            "__device__ __forceinline__ int f0(int x) { return x * x + 1; }\n",
            "__device__ __forceinline__ int f{i}(int x) { return f{j}(x) + f{j}(x ^ {i}); }\n",
            n,
        ),
    )


@family(6, 12, 40)
def barrier_call_doubling(n: int) -> str:
    return kernel(
        f"f{n}(o);",
        chain(
            "__device__ void f0(int* x) { x[threadIdx.x]++; __syncthreads(); }\n",
            "__device__ void f{i}(int* x) { f{j}(x); f{j}(x + {i}); }\n",
            n,
        ),
    )


@family(50, 500, 2000)
def many_barriers(n: int) -> str:
    return kernel(
        "__shared__ int t[64]; int s = 0;"
        + "".join(f" t[i ^ {k & 31}] = s + {k}; __syncthreads(); s += t[i];" for k in range(n))
        + " o[i] = s;"
    )


@family(20, 100, 400)
def barriers_in_branches(n: int) -> str:
    return kernel(
        "__shared__ int t[64]; int s = 0;"
        + "".join(f" if (n > {k}) {{ t[i] = s; __syncthreads(); s += t[i ^ 1]; }} __syncthreads();" for k in range(n))
        + " o[i] = s;"
    )


@family(50, 500, 3000)
def many_functions(n: int) -> str:
    return kernel(
        "int s = n; " + " ".join(f"s = f{k}(s);" for k in range(n)) + " o[i] = s;",
        "".join(
            f"__device__ int f{k}(int x) {{ for (int j = 0; j < x; ++j) x ^= {k}; return x; }}\n" for k in range(n)
        ),
    )


@family(10, 100, 500)
def many_kernels(n: int) -> str:
    return "".join(
        f"__global__ void k{k}(float* o, int n) {{ int i = threadIdx.x; if (i < n) o[i] = sinf(o[i] * {k}); }}\n"
        for k in range(n)
    )


# Branches


@family(100, 1000, 10000)
def wide_switch(n: int) -> str:
    return kernel(
        "int s = 0; switch (n) { "
        + " ".join(f"case {k * 7}: s += {k}; {'break;' if k % 3 else ''}" for k in range(n))
        + " } o[i] = s;"
    )


@family(10, 60, 400)
def switch_in_switch(n: int) -> str:
    text = "s++;"
    for k in range(n):
        text = f"switch (p[{k}]) {{ case 1: s += 2; case 2: {text} break; case 3: s--; break; default: s ^= {k}; }}"
    return kernel(f"int s = 0; {text} o[i] = s;")


@family(50, 500, 2000)
def phi_web(n: int) -> str:
    names = [f"v{k}" for k in range(min(n, 60))]
    count = len(names)
    body = f"int {', '.join(f'{name} = {k}' for k, name in enumerate(names))};"
    body += "".join(
        f" if (p[{k}] > n) {{ {names[k % count]} += {names[(k * 7 + 3) % count]}; }} else {names[(k * 5 + 1) % count]} ^= {k};"
        for k in range(n)
    )
    return kernel(body + " o[i] = " + " + ".join(names) + ";")


@family(10, 60, 250)
def phi_web_in_loops(n: int) -> str:
    body = f"int {', '.join(f'v{k} = {k}' for k in range(n))}; for (int a = 0; a < n; ++a) {{"
    body += "".join(f" if (p[a] & {1 << (k % 30)}) v{k} += v{(k + 1) % n};" for k in range(n))
    return kernel(body + " } o[i] = " + " + ".join(f"v{k}" for k in range(n)) + ";")


@family(50, 400, 3000)
def goto_like_breaks(n: int) -> str:
    return kernel(
        "int s = 0; do { "
        + " ".join(f"if (p[{k}] == {k}) break; s += {k};" for k in range(n))
        + " } while (0); o[i] = s;"
    )


@family(50, 200, 480)
def nested_ifs(n: int) -> str:
    return kernel("int s = 0; " + "".join(f"if (p[{k}] > s) {{ s += {k}; " for k in range(n)) + "}" * n + " o[i] = s;")


@family(50, 400, 3000)
def divergent_returns(n: int) -> str:
    return kernel("".join(f"if (p[i] == {k}) {{ o[i] = {k}; return; }} " for k in range(n)))


# Lanes, memory and waves


@family(50, 500, 4000)
def stores_and_loads(n: int) -> str:
    return kernel("".join(f"o[i * {k % 17} + {k}] = p[i + o[{k}]] + {k}; " for k in range(n)))


@family(20, 200, 1000)
def live_values(n: int) -> str:
    loads = "".join(f"float v{k} = f[i + {k}]; " for k in range(n))
    return kernel(
        loads + "__syncthreads(); " + "".join(f"f[i * {k + 2}] = v{k} * v{(k * 31 + 7) % n}; " for k in range(n)),
        parameters="float* f",
    )


@family(16, 256, 4096)
def private_array_of(n: int) -> str:
    return kernel(
        f"int t[{n}]; for (int a = 0; a < {n}; ++a) t[a] = p[a]; for (int a = 0; a < {n}; ++a) o[a] = t[t[a] & {n - 1}];"
    )


@family(10, 100, 600)
def wave_operations(n: int) -> str:
    return kernel(
        "int s = n;"
        + "".join(f" s += __shfl_xor_sync(0xffffffff, s, {1 << (k % 5)});" for k in range(n))
        + " o[i] = s;"
    )


@family(10, 100, 600)
def divisions(n: int) -> str:
    return kernel(
        "long long s = n;"
        + "".join(f" s = (s * {k + 3} + i) / {k * 2 + 3} % {k + 7};" for k in range(n))
        + " o[i] = s;"
    )


@family(10, 100, 500)
def math_functions(n: int) -> str:
    return kernel(
        "float s = f[i];" + "".join(f" s = sinf(s) + powf(s, {k}.5f) + erff(s);" for k in range(n)) + " f[i] = s;",
        parameters="float* f",
    )


@family(10, 60, 300)
def double_math_functions(n: int) -> str:
    return kernel(
        "double s = f[i];" + "".join(f" s = pow(sin(s), {k}.5) + tgamma(s);" for k in range(n)) + " f[i] = s;",
        parameters="double* f",
    )


@family(10, 100, 800)
def atomics(n: int) -> str:
    return kernel("".join(f"atomicAdd(&o[p[{k}]], {k}); atomicMax(&o[i], {k}); " for k in range(n)))


@family(10, 100, 800)
def messages(n: int) -> str:
    return kernel("".join(f'printf("a%d %d\\n", n, {k}); ' for k in range(n)))


# Text


@family(1000, 100000, 1000000)
def comment_of(n: int) -> str:
    return kernel("o[i] = 1;", "/*" + "* /" * n + "*/")


@family(1000, 100000)
def long_name(n: int) -> str:
    return kernel(f"int {'x' * n} = 1; o[i] = {'x' * n} + y;")


@family(10, 1000, 50000)
def errors_of(n: int) -> str:
    return kernel("".join(f"o[i] = unknown{k} + 1; " for k in range(n)))


@family(100, 5000, 100000)
def open_braces(n: int) -> str:
    return kernel("{" * n)


@family(100, 5000, 100000)
def open_angle_brackets(n: int) -> str:
    return kernel("o[i] = " + "A<" * n + "1;", "template <class T> struct A { };")


@family(100, 5000, 100000)
def open_brackets(n: int) -> str:
    return kernel("o" + "[i" * n)
