"""Templates, member functions, operators, lambdas and constexpr, executed on this machine and compared with NumPy."""

from __future__ import annotations

from pathlib import Path

import amdgpu
import numpy as np
import pytest
from amdgpu import codegen
from kernel_harness import CompileFailed, Kernels, emit

F32 = np.float32


def run(body: str, *arguments: np.ndarray, before: str = "", parameters: str = "float* p") -> None:
    """Runs a kernel of one work-item."""
    source = f"{before}\n__global__ void k({parameters}) {{ {body} }}"
    Kernels(source)("k", (1,), (1,), *arguments)


def floats(count: int) -> np.ndarray:
    return np.arange(1, count + 1, dtype=F32)


def test_kernels_are_instantiated_by_name_for_types_and_integers(rng: np.random.Generator) -> None:
    source = """
    template <typename T, int N> __global__ void scale(T* p, T by, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) for (int k = 0; k < N; ++k) p[i] = p[i] * by;
    }"""
    kernels = Kernels(
        source, "--kernel", "scale<float, 2>", "--kernel", "scale<unsigned, 3>", "--kernel", "scale<double,1>"
    )
    assert sorted(kernels.signatures) == ["scale<double, 1>", "scale<float, 2>", "scale<unsigned int, 3>"]
    a = rng.standard_normal(1000).astype(F32)
    expected = a * F32(1.5) * F32(1.5)
    kernels("scale<float, 2>", (4,), (256,), a, 1.5, 1000)
    assert np.array_equal(a, expected)
    b = rng.integers(0, 2**32, 1000, dtype=np.uint32)
    expected = b * np.uint32(7**3)
    kernels("scale<unsigned int, 3>", (4,), (256,), b, 7, 1000)
    assert np.array_equal(b, expected)
    c = rng.standard_normal(1000)
    expected = c * 3
    kernels("scale<double, 1>", (4,), (256,), c, 3, 1000)
    assert np.array_equal(c, expected)


def test_a_source_may_instantiate_its_kernels_itself() -> None:
    source = """
    template <typename T> __global__ void fill(T* p, T value) { p[threadIdx.x] = value; }
    template __global__ void fill<int>(int*, int);
    template __global__ void fill<double>(double*, double);"""
    kernels = Kernels(source)
    assert sorted(kernels.signatures) == ["fill<double>", "fill<int>"]
    a = np.zeros(8, np.int32)
    kernels("fill<int>", (1,), (8,), a, -3)
    assert (a == -3).all()


def test_the_text_that_asked_for_a_kernel_is_kept() -> None:
    source = "template <typename T, bool B = true> __global__ void f(T* p) { p[0] = B; }"
    (kernel,) = emit(source, "--kernel", "f< unsigned  char >")["kernels"]
    assert kernel["name"] == "f<unsigned char, true>"
    assert kernel["expressions"] == ["f< unsigned  char >"]
    assert kernel["parameters"][0]["pointee"] == "uint8"


def test_kernels_that_were_not_asked_for_are_listed() -> None:
    source = "template <typename T, int N> __global__ void scale(T* p) { p[0] = N; }"
    with pytest.raises(CompileFailed, match=r"scale<T, N>"):
        emit(source)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("scale<float>", "the template parameter 'N' of 'scale' has no argument"),
        ("scale<3, 3>", "'T' of 'scale' is a type, and a value is given"),
        ("scale<float, int>", "'N' of 'scale' is a value, and a type is given"),
        ("scale<float, 1, 2>", "has 2 template parameter"),
        ("scale<nonsense, 1>", "'nonsense'"),
        ("other<float>", "there is no template 'other' in this source"),
        ("scale<float", "expected '>'"),
        ("scale<float, 1>; int x", "is not the name of a kernel"),
    ],
)
def test_wrong_names_of_kernels_are_explained(expression: str, message: str) -> None:
    source = "template <typename T, int N> __global__ void scale(T* p) { p[0] = N; }"
    with pytest.raises(CompileFailed) as caught:
        emit(source, "--kernel", expression)
    assert message in str(caught.value)


def test_arguments_are_deduced_from_values_pointers_references_and_template_types() -> None:
    before = """
    template <typename T, int N> struct Row { T data[N]; };
    template <typename T> __device__ int kind(T) { return 0; }
    template <typename T> __device__ int kind(T*) { return 1; }
    template <typename T> __device__ int kind(const T*) { return 2; }
    template <typename T, int N> __device__ int kind(Row<T, N>) { return 10 * N; }
    __device__ int kind(double) { return 99; }
    template <typename T> __device__ void exchange(T& a, T& b) { T t = a; a = b; b = t; }
    template <typename T> __device__ T total(const T* p, int n) { T sum = 0; for (int i = 0; i < n; ++i) sum += p[i]; return sum; }
    template <typename To, typename From> __device__ To cast(From x) { return (To)x; }
    """
    body = """
    const float* c = p; Row<float, 3> r; float a[2] = {1.5f, 2.5f};
    q[0] = kind(1); q[1] = kind(p); q[2] = kind(c); q[3] = kind(r); q[4] = kind(1.0); q[5] = kind(a); q[6] = kind(1.0f);
    int x = 3, y = 4; exchange(x, y); q[7] = x * 10 + y;
    q[8] = total(p, 3); q[9] = (int)total(a, 2); q[10] = cast<int>(2.9f) + (int)cast<float, int>(3);
    """
    p, q = floats(4), np.zeros(11, np.int32)
    run(body, p, q, before=before, parameters="float* p, int* q")
    assert q.tolist() == [0, 1, 2, 30, 99, 1, 0, 43, 6, 4, 5]


def test_templates_recurse_with_a_specialisation_or_if_constexpr_as_the_end() -> None:
    before = """
    template <int N> struct Factorial { static constexpr int value = N * Factorial<N - 1>::value; };
    template <> struct Factorial<0> { static constexpr int value = 1; };
    template <int N> __device__ float power(float x) { if constexpr (N == 0) return 1; else return x * power<N - 1>(x); }
    """
    p = floats(2)
    run("p[0] = Factorial<10>::value; p[1] = power<5>(p[1]);", p, before=before)
    assert p.tolist() == [3628800, 32]


def test_structs_have_functions_operators_constants_and_types() -> None:
    before = """
    template <typename T, int N> struct Vector {
        T data[N];
        using value_type = T;
        static constexpr int size = N;
        enum Axis { first = 0, last = N - 1 };
        __device__ T& operator[](int i) { return data[i]; }
        __device__ const T& operator[](int i) const { return data[i]; }
        __device__ Vector& operator+=(const Vector& other) { for (int i = 0; i < N; ++i) data[i] += other[i]; return *this; }
        __device__ T dot(const Vector& other) const { T sum = 0; for (int i = 0; i < size; ++i) sum += (*this)[i] * other.data[i];
            return sum; }
        __device__ T length2() const { return this->dot(*this); }
        __device__ static Vector ones() { Vector v; for (int i = 0; i < N; ++i) v[i] = 1; return v; }
        template <typename U> __device__ Vector<U, N> as() const { Vector<U, N> v; for (int i = 0; i < N; ++i) v[i] = (U)data[i];
            return v; }
        __device__ friend bool operator==(const Vector& a, const Vector& b) { for (int i = 0; i < N; ++i) if (a[i] != b[i]) return false;
            return true; }
    };
    template <typename T, int N> __device__ Vector<T, N> operator*(T s, Vector<T, N> v) { for (int i = 0; i < N; ++i) v[i] *= s; return v; }
    using Vec3 = Vector<float, 3>;
    template <typename T> using Pair = Vector<T, 2>;
    """
    body = """
    Vec3 a = {{1, 2, 3}}; Vec3 b = Vec3::ones();
    a += b; a[0] = 10;
    p[0] = a.dot(b); p[1] = b.length2(); p[2] = (2.0f * a)[2]; p[3] = Vec3::size + a.size + Vec3::last;
    Vec3::value_type v = 0.5f; p[4] = v; p[5] = a == a; p[6] = a == b;
    Pair<int> q = {{7, 8}}; p[7] = q[1];
    """
    p = np.zeros(8, F32)
    run(body, p, before=before)
    assert p.tolist() == [17, 3, 8, 8, 0.5, 1, 0, 8]


def test_complex_numbers_with_constructors_and_free_operators(rng: np.random.Generator) -> None:
    source = """
    struct Complex {
        float re, im;
        __host__ __device__ Complex() : re(0), im(0) {}
        __host__ __device__ Complex(float r, float i = 0.0f) : re(r), im{i} {}
        __device__ Complex operator-() const { return Complex(-re, -im); }
        __device__ float magnitude2() const { return __fadd_rn(__fmul_rn(re, re), __fmul_rn(im, im)); }
        void host_only() { std::cout << re; }
    };
    __device__ Complex operator+(Complex a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
    __device__ Complex operator*(const Complex& a, const Complex& b) {
        return Complex(__fsub_rn(__fmul_rn(a.re, b.re), __fmul_rn(a.im, b.im)), __fadd_rn(__fmul_rn(a.re, b.im), __fmul_rn(a.im, b.re)));
    }
    __global__ void k(const float* x, const float* y, float* out, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        Complex z(x[i], y[i]), c;
        c = z * z + -Complex(1) + Complex{2, 3};
        out[2 * i] = c.re; out[2 * i + 1] = c.im;
    }"""
    x, y = rng.standard_normal((2, 300)).astype(F32)
    out = np.zeros(600, F32)
    Kernels(source)("k", (2,), (256,), x, y, out, 300)
    real = (x * x - y * y) + F32(-1) + F32(2)
    imaginary = (x * y + y * x) + F32(-0.0) + F32(3)
    assert np.array_equal(out[::2], real)
    assert np.array_equal(out[1::2], imaginary)


def test_fields_may_have_initial_values() -> None:
    before = """
    struct Options { int count = 3; float scale = 0.5f; };
    struct Made { int a = 1; int b = 2; __device__ Made(int x) : b(x) {} };
    """
    p = np.zeros(5, F32)
    body = """
    Options o; Options q = {7}; Made m(9);
    p[0] = o.count; p[1] = o.scale;
    p[2] = q.count + q.scale; p[3] = m.a; p[4] = m.b;
    """
    run(body, p, before=before)
    assert p.tolist() == [3, 0.5, 7.5, 1, 9]


def test_lambdas_capture_by_value_and_by_reference() -> None:
    before = """
    template <typename F> __device__ float twice(F f, float x) { return f(f(x)); }
    template <typename F> __device__ void each(float* p, int n, const F& f) { for (int i = 0; i < n; ++i) f(p[i], i); }
    """
    body = """
    float offset = 10; int calls = 0; float last[2] = {0, 0};
    auto add = [offset, &calls](float x) { ++calls; return x + offset; };
    offset = 100;
    p[0] = twice(add, p[0]); p[1] = calls;
    each(p, 4, [&](float& value, int i) { last[i & 1] = value; value = value + i; });
    p[4] = last[0]; p[5] = last[1];
    auto general = [](auto a, auto b) { return a * b; };
    p[6] = general(2.5f, 3) + general(2, 3);
    p[7] = [](int a) -> float { if (a > 2) return 1; return 0.5; }(3);
    int n = 0; auto counter = [n]() mutable { return ++n; }; counter(); p[8] = counter() + n;
    const int known = 4; p[9] = [] { return known * 2; }();
    auto outer = [=](float x) { auto inner = [=](float y) { return x * y + offset; }; return inner(2); };
    p[10] = outer(3);
    auto initialised = [twice_offset = 2 * offset]() { return twice_offset; }; p[11] = initialised();
    """
    p = np.array([1, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0], F32)
    run(body, p, before=before)
    assert p.tolist() == [21, 3, 5, 7, 3, 4, 13.5, 1, 2, 8, 106, 200]


def test_a_lambda_in_a_member_function_reaches_the_fields() -> None:
    before = """
    struct Filter {
        float gain; float seen;
        template <typename F> __device__ float with(F f) { return f(2.0f); }
        __device__ float run() { return with([this_gain = gain](float x) { return x * this_gain; }) + with([&](float x) { seen = x;
            return x + gain; }); }
    };
    """
    p = np.zeros(2, F32)
    run("Filter f = {3, 0}; p[0] = f.run(); p[1] = f.seen;", p, before=before)
    assert p.tolist() == [11, 2]


def test_objects_with_a_call_operator_are_passed_to_templates(rng: np.random.Generator) -> None:
    source = """
    struct Plus { template <typename T> __device__ T operator()(T a, T b) const { return a + b; } };
    struct Max { __device__ int operator()(int a, int b) const { return a > b ? a : b; } };
    template <typename T, typename Op> __device__ T reduce(const T* p, int n, T start, Op op) {
        for (int i = 0; i < n; ++i) start = op(start, p[i]);
        return start;
    }
    __global__ void k(const int* p, int n, int* out) { out[0] = reduce(p, n, 0, Plus()); out[1] = reduce(p, n, -1000, Max{}); }"""
    p, out = rng.integers(-500, 500, 100, dtype=np.int32), np.zeros(2, np.int32)
    Kernels(source)("k", (1,), (1,), p, 100, out)
    assert out.tolist() == [p.sum(), p.max()]


def test_constexpr_functions_give_constants() -> None:
    before = """
    constexpr int digits(unsigned n) { int count = 0; do { ++count; n /= 10; } while (n > 0); return count; }
    constexpr int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
    constexpr bool is_prime(int n) { for (int d = 2; d * d <= n; ++d) if (n % d == 0) return false; return n > 1; }
    static_assert(fibonacci(15) == 610, "fibonacci");
    static_assert(is_prime(97) && !is_prime(91), "prime");
    constexpr int limit = digits(12345);
    template <int N> struct Table { int data[N]; };
    """
    p = np.zeros(4, F32)
    body = """
    int a[limit]; a[4] = 7; Table<fibonacci(6)> t;
    p[0] = sizeof(a) / sizeof(int); p[1] = sizeof(t);
    p[2] = fibonacci((int)p[3] + 7) + a[4]; constexpr int c = digits(99); p[3] = c;
    """
    run(body, p, before=before)
    assert p.tolist() == [5, 32, 20, 2]


def test_auto_results_are_those_of_the_return() -> None:
    before = """
    __device__ auto half_of(int x) { return x * 0.5f; }
    template <typename A, typename B> __device__ auto product(A a, B b) -> decltype(a * b) { return a * b; }
    """
    p = np.zeros(2, F32)
    run("auto h = half_of(3); p[0] = h; p[1] = product(3, 0.5f);", p, before=before)
    assert p.tolist() == [1.5, 1.5]


def test_traits_choose_types() -> None:
    before = """
    template <typename T> struct Wide { using type = T; };
    template <> struct Wide<float> { using type = double; };
    template <> struct Wide<int> { typedef long long type; };
    template <typename T> __device__ typename Wide<T>::type square(T x) { typename Wide<T>::type y = x; return y * y; }
    """
    q = np.zeros(2, np.float64)
    run("q[0] = square(100000); q[1] = square(1.1f);", q, before=before, parameters="double* q")
    assert q.tolist() == [1e10, float(F32(1.1)) ** 2]


def test_values_that_do_not_fit_leave_a_template_out() -> None:
    before = """
    template <typename T> __device__ int pick(T* p, typename T::flag = 0) { return 1; }
    template <typename T> __device__ int pick(const T& x) { return 2; }
    struct Flagged { using flag = int; };
    """
    p = np.zeros(2, F32)
    run("Flagged f; p[0] = pick(&f); p[1] = pick(p);", p, before=before)
    assert p.tolist() == [1, 2]


@pytest.mark.parametrize(("target", "triple"), [("gfx1100", "amdgcn-amd-amdhsa"), ("sm_90", "nvptx64-nvidia-cuda")])
def test_instances_become_machine_code_of_gpus(target: str, triple: str) -> None:
    folder = Path(__file__).resolve().parents[2] / "crates/amdgpu-compiler/tests/sources"
    unit = emit((folder / "templates.hip").read_text(), "--target", target, "--kernel", "scale<float>")
    symbol = next(kernel["symbol"] for kernel in unit["kernels"] if kernel["name"] == "scale<float>")
    code = codegen.generate(unit["llvm_ir"], triple, target, "", 2, "assembly")
    assert symbol.encode() in code


def test_results_are_the_same_bits_with_passes_on_and_off(rng: np.random.Generator) -> None:
    folder = Path(__file__).resolve().parents[2] / "crates/amdgpu-compiler/tests/sources"
    source = (folder / "templates.hip").read_text()
    start = rng.standard_normal(8).astype(F32)
    results = []
    for flags, level in [((), 3), ((), 0), (("--level", "none"), 3), (("--disable", "address-spaces"), 2)]:
        p, q = start.copy(), np.arange(4, dtype=np.int32)
        Kernels(source, *flags, level=level)("k", (1,), (1,), p, q)
        results.append((p.tobytes(), q.tolist()))
    assert all(result == results[0] for result in results[1:])


def test_a_device_compiles_the_instance_that_is_named() -> None:
    device = amdgpu.initialize_device("cpu:0", ["aura"])
    source = """
    template <typename T> __global__ void fill(T* p, T value) { p[threadIdx.x] = value; }
    __global__ void plain(int* p) { p[0] = 1; }"""
    kernel = device.compile_kernel(source, name="fill< float >")
    assert kernel.name == "fill<float>"
    a = np.zeros(8, F32)
    kernel[1, 8](a, 2.5)
    assert (a == 2.5).all()
    assert device.compile_kernel(source, name="plain").name == "plain"
    with pytest.raises(amdgpu.errors.KernelNotFoundError, match=r"it has: plain; and templates.*fill<T>"):
        device.compile_kernel(source, name="fill")


def test_forwarding_references_take_variables_and_values() -> None:
    before = """
    template <typename F> __device__ float call(F&& f, float x) { return f(x); }
    template <typename F, typename T> __device__ float pass(F&& f, T&& x) { return call(std::forward<F>(f), std::forward<T>(x)); }
    template <typename T> __device__ void double_it(T&& x) { x = x * 2; }
    """
    body = """
    int calls = 0; auto count = [&](float x) { ++calls; return x + 1; };
    p[0] = call(count, 1); p[0] += call([](float x) { return x * 10; }, 2); p[1] = pass(count, 5.0f);
    double_it(p[2]); const float c = 3; p[3] = pass(count, c) + calls; p[3] += call(std::move(count), 0);
    """
    p = floats(4)
    run(body, p, before=before)
    assert p.tolist() == [22, 6, 6, 8]


def test_traits_of_the_standard_library_that_kernels_use() -> None:
    source = """
    #include <limits>
    #include <type_traits>
    template <typename T> __global__ void k(double* out) {
        if constexpr (std::is_same_v<T, float>) out[0] = 1;
        else if constexpr (std::is_floating_point<T>::value) out[0] = 2; else out[0] = 3;
        out[1] = std::numeric_limits<T>::max(); out[2] = std::numeric_limits<T>::lowest(); out[3] = std::is_same<const T, T>::value;
        T best = std::numeric_limits<T>::lowest(); constexpr T least = (std::numeric_limits<T>::min());
        out[4] = best == out[2]; out[5] = least;
    }"""
    kernels = Kernels(
        source, *[part for name in ["float", "double", "int", "unsigned char"] for part in ("--kernel", f"k<{name}>")]
    )
    for name, dtype, kind in [
        ("float", F32, 1),
        ("double", np.float64, 2),
        ("int", np.int32, 3),
        ("unsigned char", np.uint8, 3),
    ]:
        out = np.zeros(6)
        kernels(f"k<{name}>", (1,), (1,), out)
        info = np.finfo(dtype) if kind < 3 else np.iinfo(dtype)
        least = info.tiny if kind < 3 else info.min
        assert out.tolist() == [kind, info.max, info.min, 0, 1, least]


def test_templates_share_memory_between_work_items() -> None:
    source = """
    template <typename T, int N, typename Op> __device__ T block_reduce(T value, Op op) {
        __shared__ T tile[N];
        int t = threadIdx.x;
        tile[t] = value;
        __syncthreads();
        for (int s = N / 2; s > 0; s /= 2) { if (t < s) tile[t] = op(tile[t], tile[t + s]); __syncthreads(); }
        return tile[0];
    }
    struct Limits { int n; float scale; };
    template <typename T, int N> __global__ void reduce(const T* x, T* out, Limits limits) {
        int i = blockIdx.x * N + threadIdx.x;
        T v = i < limits.n ? x[i] * (T)limits.scale : T(0);
        T total = block_reduce<T, N>(v, [](T a, T b) { return a + b; });
        T most = block_reduce<T, N>(v, [](T a, T b) { return a > b ? a : b; });
        if (threadIdx.x == 0) { out[2 * blockIdx.x] = total; out[2 * blockIdx.x + 1] = most; }
    }"""
    device = amdgpu.initialize_device("cpu:0", ["aura"])
    limits = np.array((1000, 2), np.dtype([("n", "i4"), ("scale", "f4")]))
    for name, dtype in [("int", np.int32), ("double", np.float64), ("float", F32)]:
        x, out = (np.arange(1000) % 17).astype(dtype), np.zeros(32, dtype)
        device.compile_kernel(source, name=f"reduce<{name}, 64>")[16, 64](x, out, limits)
        expected = np.zeros(1024, dtype)
        expected[:1000] = x * 2
        assert np.array_equal(out[::2], expected.reshape(16, 64).sum(1))
        assert np.array_equal(out[1::2], expected.reshape(16, 64).max(1))


def test_names_in_namespaces_may_be_qualified() -> None:
    before = """
    namespace math { namespace detail { template <typename T> struct Pair { T a, b; };
    template <typename T> __device__ T half(T x) { return x / 2; } }
    struct Plain { float x; }; constexpr int three = 3; }
    """
    p = floats(3)
    body = """
    math::detail::Pair<float> pair = {p[1], p[2]}; math::Plain plain = {4};
    p[0] = pair.b + (math::three) + sizeof(math::Plain); p[1] = math::detail::half<float>(plain.x); p[2] = (float)((math::Plain*)p)->x;
    """
    run(body, p, before=before)
    assert p.tolist() == [10, 2, 10]
