"""Input nobody means: every case ends in a clear error of the right kind, and the process and the device go on."""

from __future__ import annotations

from collections.abc import Iterator

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

DEEP = 10_000
KERNEL = "__global__ void k(int* p) {{ {} }}"


@pytest.fixture(scope="module")
def device() -> Iterator[amdgpu.AMDGPUDevice]:
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


def nested(opening: str, middle: str, closing: str) -> str:
    return opening * DEEP + middle + closing * DEEP


# Name: source, what the message must hold.
COMPILE_ERRORS: dict[str, tuple[str, list[str]]] = {
    "open comment": (
        "__global__ void k(int* p) { /* never closed",
        ["1:29", "this comment is never closed", "end it with */"],
    ),
    "open string": (KERNEL.format('const char* s = "abc;'), ["this string is not closed on its line"]),
    "open raw string": ('const char* s = R"(abc;\n' + KERNEL.format("p[0] = 1;"), ["this raw string is never closed"]),
    "open condition": ("#if 1\n" + KERNEL.format("p[0] = 1;"), ["this #if is never closed", "add #endif"]),
    "recursive macros": (
        "#define A B\n#define B A + C\n#define C A\n" + KERNEL.format("p[0] = A;"),
        ["'A' is not declared"],
    ),
    "doubling macros": (
        "#define A0 1 +\n"
        + "".join(f"#define A{i + 1} A{i} A{i}\n" for i in range(40))
        + KERNEL.format("p[0] = A40 1;"),
        ["macros expand to more than", "look for macros that double"],
    ),
    "unknown header": ('#include "mine.h"\n' + KERNEL.format("p[0] = 1;"), ["1:10", "the header mine.h is not known"]),
    "deep parentheses": (KERNEL.format("p[0] = " + nested("(", "1", ")") + ";"), ["nested more than 500 levels deep"]),
    "open parentheses": (KERNEL.format("p[0] = " + "(" * DEEP), ["nested more than 500 levels deep"]),
    "deep braces": (KERNEL.format(nested("{", "", "}")), ["nested more than 500 levels deep"]),
    "deep initialisers": (
        KERNEL.format("int a[1] = " + nested("{", "1", "}") + ";"),
        ["nested more than 500 levels deep"],
    ),
    "deep unary operators": (KERNEL.format("p[0] = " + "-~" * DEEP + "1;"), ["nested more than 500 levels deep"]),
    "deep else-ifs": (
        KERNEL.format("if (p[0] == 1) p[1] = 2; else " * DEEP + "p[2] = 3;"),
        ["nested more than 500 levels deep"],
    ),
    "deep choices": (KERNEL.format("p[0] = " + "p[1] ? 1 : " * DEEP + "2;"), ["nested more than 500 levels deep"]),
    "deep calls": (KERNEL.format("p[0] = " + nested("abs(", "1", ")") + ";"), ["nested more than 500 levels deep"]),
    "deep template arguments": (
        "template <typename T> struct B { T t; };\n" + KERNEL.format(nested("B<", "int", ">") + " b;"),
        ["nested more than 500 levels deep"],
    ),
    "deep instances": (
        "template <int N> struct A : A<N + 1> {};\n" + KERNEL.format("A<0> a;"),
        ["templates are nested more than 200 instances deep", "in A<0>"],
    ),
    "deep lambdas": (KERNEL.format(nested("[&] { ", "", "}") + ";"), ["nested more than 500 levels deep"]),
    "deep namespaces": (nested("namespace a { ", KERNEL.format(""), "}"), ["nested more than 500 levels deep"]),
    "deep bases": (
        "struct A0 { int a; };\n" + "".join(f"struct A{i + 1} : A{i} {{}};\n" for i in range(100)) + KERNEL.format(""),
        ["66:14", "bases are nested more than 64 levels deep"],
    ),
    "many pointers": (f"__global__ void k(int {'*' * DEEP} p) {{}}", ["more than 16 levels of pointers"]),
    "long sums": (KERNEL.format("p[0] = 1" + " + p[1]" * DEEP + ";"), ["more than 2000 operators deep"]),
    "deep conditions": (
        "#if " + nested("(", "1", ")") + "\n#endif\n" + KERNEL.format(""),
        ["in the condition of #if: nested too deeply"],
    ),
    "deep #if": ("#if 1\n" * DEEP + KERNEL.format("") + "\n" + "#endif\n" * DEEP, ["#if is nested more than 200 deep"]),
    "a million bytes of a name": (KERNEL.format("p[0] = " + "a" * 1_000_000 + ";"), ["is not declared"]),
    "unknown types": (
        "__global__ void k(Foo* p, Bar b) { Baz z; p[0] = 1; }",
        ["unknown type 'Foo'", "unknown type 'Bar'", "unknown type 'Baz'"],
    ),
    "template arguments": (
        "template <typename T, int N> struct A { T x[N]; };\n"
        + KERNEL.format("A<int> a; A<3, int> b; A<int, 2, 3> c; A<int, -1> d; A<float, 1.5> e;"),
        [
            "'N' of 'A' has no argument",
            "'T' of 'A' is a type, and a value is given",
            "'A' has 2 template parameter(s), and 3 arguments are given",
            "an array cannot have -1 elements",
            "the argument of a template is a type or an integer",
        ],
    ),
    "division by zero": (
        KERNEL.format("p[0] = p[1] / 0; p[1] = p[0] % (2 - 2); p[2] /= 0;"),
        ["1:41", "division by zero"],
    ),
    "two kernels of one name": (
        KERNEL.format("p[0] = 1;") + "\n" + KERNEL.format("p[0] = 2;"),
        ["2:17", "the kernel 'k' is defined twice", "remove or rename"],
    ),
    "two overloads of a kernel": (
        KERNEL.format("p[0] = 1;") + "\n__global__ void k(float* p) { p[0] = 2; }",
        ["2:17", "two kernels named 'k'", "each needs its own"],
    ),
    "arrays without size": (
        KERNEL.format("int a[-1]; int b[0]; int c[p[0]];"),
        ["cannot have -1", "cannot have 0", "known at compile time"],
    ),
    "a huge array": (KERNEL.format("int a[10000000000]; a[0] = p[0];"), ["is larger than 2147483648 bytes"]),
    "huge shared memory": (
        KERNEL.format("__shared__ int a[1000000000]; a[0] = p[0];"),
        ["is larger than 2147483648 bytes"],
    ),
    "many local bytes": (
        KERNEL.format("int a[100000]; a[p[0]] = 1; p[1] = a[p[2]];"),
        ["take 400000 bytes", "the limit is 262144"],
    ),
    "launch bounds": ("__global__ void __launch_bounds__(5000) k(int* p) {}", ["launch bounds lie between 1 and 1024"]),
    "a zero byte": (KERNEL.format("p[0] = 1;\0"), ["has no meaning in HIP-C"]),
    "a letter of another alphabet": (KERNEL.format("p[0] = größe;"), ["has no meaning in HIP-C"]),
    "a struct inside itself": ("struct A { A a; };\n__global__ void k(A* p) {}", ["1:14", "it has no size yet"]),
    "a base of itself": ("struct A : A { int x; };\n__global__ void k(A* p) {}", ["1:12", "it has no size yet"]),
    "an endless constant": (
        "constexpr int f(int x) { while (true) ++x; return x; }\n" + KERNEL.format("int a[f(1)];"),
        ["worked out at compile time", "more than 10,000,000 steps"],
    ),
    "a missing brace": (
        "__global__ void a(int* p) { if (p[0]) { p[1] = 1;\n" + KERNEL.format("p[0] = q;"),
        ["2:1", "a '}' may be missing above"],
    ),
    "many mistakes": (
        KERNEL.format('p[0] = a;\n p[1] = ;\n foo(p);\n p.x = 1;\n return 3;\n p[0] = "s" * 2;'),
        [
            "'a' is not declared",
            "expected an expression",
            "no function 'foo'",
            "has no fields",
            "a kernel returns nothing",
            "'*' does not apply",
        ],
    ),
}

REFUSED: dict[str, tuple[str, str]] = {
    "textures": (KERNEL.format("p[0] = tex2D<float>(p, 0, 0);"), "'tex2D' is not supported"),
    "texture objects": (
        "__global__ void k(cudaTextureObject_t t, float* p) { p[0] = 1; }",
        "a texture is not supported",
    ),
    "texture references": (KERNEL.format("texture<float, 2> t;"), "a texture is not supported"),
    "surfaces": ("__global__ void k(hipSurfaceObject_t s, float* p) { p[0] = 1; }", "a surface is not supported"),
    "kernels that launch": (
        "__global__ void c(int* p) {}\n" + KERNEL.format("c<<<1, 1>>>(p);"),
        "a kernel launch from device code",
    ),
    "virtual functions": (
        "struct S { virtual __device__ int f() { return 1; } };\n" + KERNEL.format(""),
        "a virtual function",
    ),
    "new": (KERNEL.format("int* q = new int[4];"), "memory allocation in device code"),
    "delete": (KERNEL.format("delete[] p;"), "memory allocation in device code"),
    "malloc": (KERNEL.format("int* q = (int*)malloc(4);"), "'malloc' is not supported"),
    "exceptions": (KERNEL.format("try { p[0] = 1; } catch (...) {}"), "an exception"),
    "throw": (KERNEL.format("throw 1;"), "an exception"),
    "run-time types": (KERNEL.format("p[0] = typeid(p) == typeid(int);"), "typeid"),
    "dynamic_cast": (KERNEL.format("int* q = dynamic_cast<int*>(p);"), "dynamic_cast"),
    "inline assembly": (KERNEL.format('asm volatile("mov.u32 %0, %laneid;" : "=r"(p[0]));'), "inline assembly"),
    "thread_local": (KERNEL.format("thread_local int x = 1;"), "thread_local"),
    "goto": (KERNEL.format("again: p[0] = 1; goto again;"), "a label"),
    "pointers to functions": (KERNEL.format("int (*f)(int) = nullptr;"), "a pointer to a function"),
    "recursion with barriers": (
        "__device__ void f(int n) { __syncthreads(); if (n) f(n - 1); }\n" + KERNEL.format("f(p[0]);"),
        "recursion of a function with barriers",
    ),
    "concepts": ("template <typename T> concept C = true;\n" + KERNEL.format("p[0] = 1;"), "a concept"),
}


@pytest.mark.parametrize("name", COMPILE_ERRORS)
def test_a_bad_source_says_what_is_wrong_where(device: amdgpu.AMDGPUDevice, name: str) -> None:
    source, texts = COMPILE_ERRORS[name]
    with pytest.raises(errors.CompileError) as caught:
        device.compile_kernel(source)
    message = str(caught.value)
    for text in texts:
        assert text in message
    assert "^" in message
    assert len(message) < 12_000
    if "nested more than 500" in message:
        assert "never closed" not in message


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_there_is_refused_by_name(device: amdgpu.AMDGPUDevice, name: str) -> None:
    source, text = REFUSED[name]
    with pytest.raises(errors.UnsupportedFeatureError) as caught:
        device.compile_kernel(source)
    assert text in str(caught.value)
    assert "hint:" in str(caught.value)


def test_every_error_of_a_source_is_reported(device: amdgpu.AMDGPUDevice) -> None:
    source = KERNEL.format("\n".join(f"p[{i}] = missing{i};" for i in range(50)))
    with pytest.raises(errors.CompileError) as caught:
        device.compile_kernel(source)
    assert all(f"'missing{i}' is not declared" in str(caught.value) for i in range(50))


def test_a_million_bytes_on_one_line_compile(device: amdgpu.AMDGPUDevice) -> None:
    kernel = device.compile_kernel(KERNEL.format("p[0] = 3;" + " " * 500_000 + "/*" + "*" * 500_000 + "*/ p[1] = 4;"))
    p = np.zeros(2, np.int32)
    kernel[1, 1](p)
    assert p.tolist() == [3, 4]


def test_a_kernel_of_two_thousand_statements_computes(device: amdgpu.AMDGPUDevice) -> None:
    p = np.zeros(1, np.int32)
    device.compile_kernel(KERNEL.format("p[0] += 1; " * 2000), optimization_level="none")[1, 1](p)
    assert p[0] == 2000


def test_text_that_is_not_unicode_is_refused(device: amdgpu.AMDGPUDevice) -> None:
    with pytest.raises((errors.InvalidTypeError, UnicodeEncodeError)):
        device.compile_kernel(KERNEL.format("p[0] = 1; // \udcff"))
    with pytest.raises(errors.InvalidTypeError):
        device.compile_kernel(b"__global__ void k(int* p) { /* \xff */ }")


def test_shared_memory_above_the_limit_is_refused_with_both_numbers(device: amdgpu.AMDGPUDevice) -> None:
    source = KERNEL.format("__shared__ int a[1000000]; a[threadIdx.x] = p[0]; __syncthreads(); p[1] = a[p[2]];")
    kernel = device.compile_kernel(source)
    with pytest.raises(errors.InvalidLaunchError, match="4000000"):
        kernel[1, 32](np.zeros(4, np.int32))


def test_misaligned_memory_is_refused(device: amdgpu.AMDGPUDevice) -> None:
    kernel = device.compile_kernel(KERNEL.format("p[0] = 1;"))
    odd = np.frombuffer(bytearray(41), np.int32, offset=1, count=10)
    with pytest.raises(errors.AmdgpuError):
        kernel[1, 1](odd)


def test_the_device_works_after_all_of_this(device: amdgpu.AMDGPUDevice) -> None:
    for source, _ in list(COMPILE_ERRORS.values())[:5]:
        with pytest.raises(errors.CompileError):
            device.compile_kernel(source)
    p = np.zeros(4, np.int32)
    device.compile_kernel(KERNEL.format("p[threadIdx.x] = 7;"))[1, 4](p)
    assert p.tolist() == [7] * 4
