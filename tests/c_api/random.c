/* Random numbers: generators, draws into arrays, orders, dropout. */
#include "arrays.h"

#include <math.h>

#include <amdgpu/random.h>

static const uint32_t SEED[1] = {7};
static const int64_t COUNT[1] = {64};

static agpu_array empty(agpu_device device, const char *dtype) {
    agpu_array array = NULL;
    DO(agpu_array_create(device, dtype, 1, COUNT, NULL, &array));
    return array;
}

static void states(agpu_device device) {
    agpu_random rng = NULL, jumped = NULL, children[2] = {NULL, NULL};
    agpu_random_state start = AGPU_RANDOM_STATE_INIT, state = AGPU_RANDOM_STATE_INIT, other = AGPU_RANDOM_STATE_INIT;
    DO(agpu_random_create(SEED, 1, &rng));
    DO(agpu_random_get_state(rng, &start));
    CHECK(start.position == 0 && start.jumps == 0 && start.key != 0);
    uint32_t words[64], again[64];
    agpu_array out = empty(device, "uint32");
    DO(agpu_random_integers(rng, 0, 1ULL << 32, out));
    DO(agpu_array_read(out, words, sizeof words));
    DO(agpu_random_get_state(rng, &state));
    CHECK(state.position == 64);
    DO(agpu_random_advance(rng, -60));
    DO(agpu_random_integers(rng, 0, 1ULL << 32, out));
    DO(agpu_array_read(out, again, sizeof again));
    CHECK(memcmp(words + 4, again, 60 * sizeof *words) == 0);
    DO(agpu_random_set_state(rng, &start));
    DO(agpu_random_integers(rng, 0, 1ULL << 32, out));
    DO(agpu_array_read(out, again, sizeof again));
    CHECK(memcmp(words, again, sizeof words) == 0);
    DO(agpu_random_jumped(rng, 2, &jumped));
    DO(agpu_random_get_state(jumped, &other));
    CHECK(other.key == start.key && other.jumps == 2 && other.position == 64);
    DO(agpu_random_spawn(rng, 2, children));
    DO(agpu_random_get_state(children[1], &other));
    CHECK(other.key != start.key && other.position == 0);
    for (int i = 0; i < 2; i++) DO(agpu_release(children[i]));
    DO(agpu_release(jumped));
    DO(agpu_release(out));
    DO(agpu_release(rng));
}

static void draws(agpu_device device) {
    agpu_random rng = NULL;
    DO(agpu_random_create(SEED, 1, &rng));
    const struct {
        const char *name, *dtype;
        double a, b;
    } all[] = {{"uniform", "float32", -1, 1},  {"normal", "float64", 0, 1},   {"exponential", "float32", 2, 0}, {"gamma", "float64", 2, 3},
               {"beta", "float32", 1, 2},      {"bernoulli", "bool", 0.5, 0}, {"poisson", "int64", 4, 0},       {"binomial", "int64", 10, 0.5}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        agpu_array out = empty(device, all[i].dtype);
        unsigned char zeros[512] = {0}, found[512];
        agpu_array_facts facts = AGPU_ARRAY_FACTS_INIT;
        DO(agpu_array_info(out, &facts));
        DO(agpu_array_write(out, zeros, facts.elements * facts.item_bytes));
        DO(agpu_random_draw(rng, all[i].name, all[i].a, all[i].b, out));
        DO(agpu_array_read(out, found, facts.elements * facts.item_bytes));
        CHECK(memcmp(found, zeros, facts.elements * facts.item_bytes) != 0);
        DO(agpu_release(out));
    }
    agpu_array out = empty(device, "float32"), bytes = empty(device, "int8");
    float uniform[64];
    int8_t small[64];
    DO(agpu_random_draw(rng, "uniform", 5, 6, out));
    DO(agpu_array_read(out, uniform, sizeof uniform));
    DO(agpu_random_integers(rng, -3, 7, bytes));
    DO(agpu_array_read(bytes, small, sizeof small));
    for (int i = 0; i < 64; i++) CHECK(uniform[i] >= 5 && uniform[i] < 6 && small[i] >= -3 && small[i] < 4);
    REFUSED(agpu_random_draw(rng, "normal", 0, -1, out), AGPU_ERROR_INVALID_ARGUMENT, "not negative");
    REFUSED(agpu_random_draw(rng, "cauchy", 0, 1, out), AGPU_ERROR_INVALID_ARGUMENT, "known are uniform");
    REFUSED(agpu_random_draw(rng, "poisson", 1, 0, out), AGPU_ERROR_UNSUPPORTED_DTYPE, "int64");
    REFUSED(agpu_random_integers(rng, 0, 300, bytes), AGPU_ERROR_INVALID_ARGUMENT, "wider dtype");
    REFUSED(agpu_random_draw(NULL, "normal", 0, 1, out), AGPU_ERROR_INVALID_HANDLE, "a random generator");
    DO(agpu_release(out));
    DO(agpu_release(bytes));
    DO(agpu_release(rng));
}

/* StatelessRandomNormalV2 and StatelessTruncatedNormalV2 of TensorFlow 2.21: the second number of the first group is refused. */
static const float TENSORFLOW[2][6] = {
    {0.127926201F, -2.39484596F, -0.864324987F, 1.12027371F, 0.253441811F, -1.0176481F},
    {0.127926201F, -0.864324987F, 1.12027371F, 0.253441811F, 0.554830492F, -0.51032865F},
};

static void numbers_of_tensorflow(agpu_device device) {
    float found[6];
    const int64_t shape[1] = {6}, gaps[1] = {2};
    agpu_operand out = {AGPU_OPERAND_MEMORY, 1, "float32", found, shape, NULL, 0, 0, 0};
    for (int is_truncated = 0; is_truncated < 2; is_truncated++) {
        DO(agpu_random_tensorflow_normal_at(device, 0x0123456789abcdefULL, 14, 7, is_truncated, &out));
        for (int i = 0; i < 6; i++) CHECK(fabsf(found[i] - TENSORFLOW[is_truncated][i]) <= 4e-7F * fabsf(TENSORFLOW[is_truncated][i]));
    }
    out.strides = gaps;
    out.shape = (const int64_t[1]){3};
    REFUSED(agpu_random_tensorflow_normal_at(device, 0, 0, 0, 1, &out), AGPU_ERROR_INVALID_ARGUMENT, "row-major");
    out.strides = NULL;
    out.dtype = "int32";
    REFUSED(agpu_random_tensorflow_normal_at(device, 0, 0, 0, 0, &out), AGPU_ERROR_UNSUPPORTED_DTYPE, "float16");
}

static void orders_and_dropout(agpu_device device) {
    agpu_random rng = NULL;
    agpu_array order = NULL, dropped = NULL;
    int64_t places[64];
    int seen[64] = {0};
    DO(agpu_random_create(SEED, 1, &rng));
    DO(agpu_random_permutation(rng, device, 64, &order));
    DO(agpu_array_read(order, places, sizeof places));
    for (int i = 0; i < 64; i++) {
        CHECK(places[i] >= 0 && places[i] < 64 && !seen[places[i]]);
        seen[places[i]] = 1;
    }
    uint32_t words[6];
    agpu_array bits = NULL;
    DO(agpu_random_tensorflow_bits(device, 0, 0, 0, 6, &bits));
    DO(agpu_array_read(bits, words, sizeof words));
    /* The first words of key and counter 0: Salmon et al., known answers of philox4x32-10. */
    CHECK(words[0] == 0x6627e8d5 && words[1] == 0xe169c58d && words[2] == 0xbc57ac4c && words[3] == 0x9b00dbd8);
    DO(agpu_release(bits));
    REFUSED(agpu_random_tensorflow_bits(device, 0, 0, 0, -1, &bits), AGPU_ERROR_INVALID_ARGUMENT, "negative");
    REFUSED(agpu_random_permutation(rng, device, -1, &dropped), AGPU_ERROR_INVALID_ARGUMENT, "negative");
    float values[64], first[64], second[64];
    for (int i = 0; i < 64; i++) values[i] = 1;
    agpu_array x = ARRAY(device, "float32", values, 64);
    agpu_random_state state = AGPU_RANDOM_STATE_INIT;
    DO(agpu_random_get_state(rng, &state));
    DO(agpu_random_dropout(x, 0.5, &state, NULL, &dropped));
    DO(agpu_array_read(dropped, first, sizeof first));
    agpu_ops_options options = AGPU_OPS_OPTIONS_INIT;
    options.out = x;
    agpu_array same = NULL;
    DO(agpu_random_dropout(x, 0.5, &state, &options, &same));
    DO(agpu_array_read(x, second, sizeof second));
    CHECK(memcmp(first, second, sizeof first) == 0);
    int zeros = 0;
    for (int i = 0; i < 64; i++) {
        CHECK(first[i] == 0 || first[i] == 2);
        zeros += first[i] == 0;
    }
    CHECK(zeros > 8 && zeros < 56);
    REFUSED(agpu_random_dropout(x, 1.5, &state, NULL, &dropped), AGPU_ERROR_INVALID_ARGUMENT, "probability");
    DO(agpu_release(same));
    DO(agpu_release(dropped));
    DO(agpu_release(x));
    DO(agpu_release(order));
    DO(agpu_release(rng));
}

int main(void) {
    agpu_device device = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    states(device);
    draws(device);
    numbers_of_tensorflow(device);
    orders_and_dropout(device);
    DO(agpu_release(device));
    check_no_handles();
    puts("ok");
    return 0;
}
