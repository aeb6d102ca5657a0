## HIP-C that stands at the head of every generated source: random numbers and small functions, of which only what is used is written.

import std/strutils

const
  SignatureCode = """
// Kernels take their arguments as parameters. An engine that keeps arguments in memory defines these macros before this text.
#ifndef AGPU_PARAMETERS
#define AGPU_PARAMETERS(kernel, ...) __VA_ARGS__
#define AGPU_PROLOGUE(kernel)
#endif

"""
  RandomCode = """
// Random numbers: Philox4x32-10 (Salmon et al., SC 2011), a function of where, when and for what a number is drawn.
struct AgpuStream {
    unsigned int index, object, step, key_low, key_high;
};

__device__ inline uint4 agpu_draw(AgpuStream stream, unsigned int draw)
{
    unsigned int a = stream.index, b = draw, c = stream.object, d = stream.step;
    unsigned int key_low = stream.key_low, key_high = stream.key_high;
    for (int round = 0; round < 10; ++round) {
        unsigned int high_a = __umulhi(0xD2511F53u, a), low_a = 0xD2511F53u * a;
        unsigned int high_c = __umulhi(0xCD9E8D57u, c), low_c = 0xCD9E8D57u * c;
        a = high_c ^ b ^ key_low;
        b = low_c;
        c = high_a ^ d ^ key_high;
        d = low_a;
        key_low += 0x9E3779B9u;
        key_high += 0xBB67AE85u;
    }
    return make_uint4(a, b, c, d);
}

// In [0, 1), and in (0, 1] for logarithms.
__device__ inline float agpu_unit(unsigned int word) { return (float)(word >> 8) * 5.9604644775390625e-08f; }
__device__ inline float agpu_unit_above_zero(unsigned int word) { return ((float)(word >> 8) + 1.0f) * 5.9604644775390625e-08f; }

__device__ inline float agpu_uniform(AgpuStream stream, unsigned int draw) { return agpu_unit(agpu_draw(stream, draw).x); }

// Box and Muller 1958.
__device__ inline float agpu_normal(AgpuStream stream, unsigned int draw)
{
    uint4 words = agpu_draw(stream, draw);
    return sqrtf(-2.0f * logf(agpu_unit_above_zero(words.x))) * cosf(6.283185307179586f * agpu_unit(words.y));
}

"""
  PoissonCode = """
// Products of uniform numbers (Knuth) for small means, transformed rejection (Hörmann 1993, algorithm PTRS) for others.
__device__ inline float agpu_poisson(float mean, AgpuStream stream, unsigned int draw)
{
    if (!(mean > 0.0f)) return 0.0f;
    if (mean < 10.0f) {
        float limit = expf(-mean), product = 1.0f;
        for (unsigned int n = 0; n < 100u; ++n) {
            product *= agpu_unit_above_zero(agpu_draw(stream, draw + (n << 16)).x);
            if (product <= limit) return (float)n;
        }
        return 100.0f;
    }
    float b = 0.931f + 2.53f * sqrtf(mean), a = -0.059f + 0.02483f * b;
    float inverse_alpha = 1.1239f + 1.1328f / (b - 3.4f), limit = 0.9277f - 3.6224f / (b - 2.0f);
    for (unsigned int n = 0; n < 100u; ++n) {
        uint4 words = agpu_draw(stream, draw + (n << 16));
        float u = agpu_unit(words.x) - 0.5f, v = agpu_unit_above_zero(words.y), us = 0.5f - fabsf(u);
        float k = floorf((2.0f * a / us + b) * u + mean + 0.43f);
        if (us >= 0.07f && v <= limit) return k;
        if (k < 0.0f || (us < 0.013f && v > us)) continue;
        if (logf(v * inverse_alpha / (a / (us * us) + b)) <= k * logf(mean) - mean - lgammaf(k + 1.0f)) return k;
    }
    return floorf(mean + 0.5f);
}

"""
  ExprelCode = """
// (e^x - 1) / x, by its series where that cancels.
__device__ inline float exprel(float x)
{
    float series = 1.0f + x * (0.5f + x * (0.16666667f + x * (0.041666668f + x * (0.008333334f + x * (0.0013888889f + x * 0.0001984127f)))));
    return fabsf(x) < 0.4f ? series : (expf(x) - 1.0f) / x;
}

"""
  WideCode = """
// Adds to a sum of 64 bits. What has no place in it is not added; the largest such amount is kept for the engine, which ends the run.
__device__ inline void agpu_add_wide(long long* sum, float units, float most, unsigned int* overflow)
{
    if (fabsf(units) <= most) atomicAdd((unsigned long long*)sum, (unsigned long long)(long long)rintf(units));
    else atomicMax(overflow, __float_as_uint(fabsf(units)));
}

"""
  PowerCode = """
__device__ inline float square(float x) { return x * x; }
__device__ inline float cube(float x) { return x * x * x; }
__device__ inline float fourth(float x) { return (x * x) * (x * x); }

"""

func headFor*(kernels: string): string =
  ## The macros of these kernels' signatures, and the helpers that they call.
  result = SignatureCode
  if "AgpuStream" in kernels:
    result.add RandomCode
  if "agpu_poisson(" in kernels:
    result.add PoissonCode
  if "exprel(" in kernels:
    result.add ExprelCode
  if "agpu_add_wide(" in kernels:
    result.add WideCode
  if "square(" in kernels or "cube(" in kernels or "fourth(" in kernels:
    result.add PowerCode
