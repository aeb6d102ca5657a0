/* amdgpu/random.h: random numbers of Philox4x32-10 (Salmon et al., SC 2011). The rules of amdgpu/runtime.h hold.
 *
 * A generator stands at a position of the numbers of a key. Each number is a function of its place, so that draws are the same on every device
 * and for any number of threads, and drawing 3 and then 7 numbers gives what drawing 10 does.
 */
#ifndef AMDGPU_RANDOM_H
#define AMDGPU_RANDOM_H

#include "ops.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct agpu_random_object *agpu_random;

typedef struct agpu_random_state {
    uint64_t size_bytes;
    uint64_t key;
    uint64_t position; /* in words of 32 bits */
    uint32_t jumps;
    uint32_t reserved;
} agpu_random_state;
#define AGPU_RANDOM_STATE_INIT {sizeof(agpu_random_state), 0, 0, 0, 0}

/* The generator of a seed of `count` words, whose key is that of `numpy.random.SeedSequence`. */
agpu_status agpu_random_create(const uint32_t *seed, uint64_t count, agpu_random *generator);

/* Where a generator stands. */
agpu_status agpu_random_get_state(agpu_random generator, agpu_random_state *state);

/* Put a generator where another one stood. */
agpu_status agpu_random_set_state(agpu_random generator, const agpu_random_state *state);

/* Leave out so many words of 32 bits, or go back where they are negative. An element takes one; float64, and integers of spans beyond 2^32, two;
 * gamma, poisson and binomial numbers four, beta eight; each begins at a multiple of its words, at most four. */
agpu_status agpu_random_advance(agpu_random generator, int64_t words);

/* A generator that is 2^96 blocks of four words further on for each jump. */
agpu_status agpu_random_jumped(agpu_random generator, uint32_t jumps, agpu_random *result);

/* Generators with keys of their own, as independent as seeds are; `results` has room for `count`. */
agpu_status agpu_random_spawn(agpu_random generator, uint32_t count, agpu_random *results);

/* Fill an array. uniform: from a to below b; normal: mean a, standard deviation b; exponential: scale a; gamma: shape a, scale b; beta: a, b (floats).
 * bernoulli: chance a (bool). poisson: mean a; binomial: a trials of chance b (int64). */
agpu_status agpu_random_draw(agpu_random generator, const char *distribution, double a, double b, agpu_array out);

/* Fill an array of integers or bool with whole numbers from `low` on, below `low` + `span`; a span of 0 is 2^64. */
agpu_status agpu_random_integers(agpu_random generator, int64_t low, uint64_t span, agpu_array out);

/* The numbers from 0 to `count` - 1 in random order, as int64. */
agpu_status agpu_random_permutation(agpu_random generator, agpu_device device, int64_t count, agpu_array *result);

/* `count` words as uint32, in the order in which TensorFlow's PhiloxRandom draws them for a key and a counter of 128 bits. */
agpu_status agpu_random_tensorflow_bits(agpu_device device, uint64_t key, uint64_t counter_low, uint64_t counter_high, int64_t count,
                                        agpu_array *result);

/* Fill row-major memory at an address with the standard normal numbers that TensorFlow draws for a key and a counter, of float16, bfloat16, float32 or
 * float64; truncated ones lie in (-2, 2). What `agpu_ops_elementwise_at` says of memory holds. */
agpu_status agpu_random_tensorflow_normal_at(agpu_device device, uint64_t key, uint64_t counter_low, uint64_t counter_high, bool is_truncated,
                                             const agpu_operand *out);

/* x with elements set to zero that a chance of p hits, the others divided by 1 - p. The same state gives the same elements: the gradient of x is the
 * dropout of the result's. `options` may be NULL; `out` may be x itself. */
agpu_status agpu_random_dropout(agpu_array x, double p, const agpu_random_state *state, const agpu_ops_options *options, agpu_array *result);

#ifdef __cplusplus
}
#endif

#endif
