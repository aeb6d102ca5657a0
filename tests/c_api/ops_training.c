/* What training takes of kernels, recorded, so that kernels of the device compute it on the CPU too: layer norm with its statistics, its gradients,
 * attention, steps of Adam; against formulas in double. */
#include "arrays.h"

#include <amdgpu/kernel.h>
#include <amdgpu/raw.h>
#include <math.h>

#define LONG_ROWS 70
#define MOST_COLUMNS 1100

static float *memory(agpu_device device, int count, uint64_t seed) {
    void *address = NULL;
    DO(agpu_raw_allocate(device, (uint64_t)count * sizeof(float), NULL, &address));
    float *values = address;
    for (int i = 0; i < count; i++) {
        seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
        values[i] = (float)((double)(seed >> 40) / (1 << 24) * 2 - 1);
    }
    return values;
}

static void check_near_to(double found, double wanted, double tolerance) {
    if (fabs(found - wanted) <= tolerance * (1 + fabs(wanted))) return;
    fprintf(stderr, "%g is not %g\n", found, wanted);
    exit(1);
}

struct norm {
    float *x, *slope, *scale, *shift, *result, *mean, *inverse, *by_x, *by_scale, *by_shift;
    int rows, columns;
};

static void check_norm(const struct norm *of, double epsilon) {
    static double by_scale[MOST_COLUMNS], by_shift[MOST_COLUMNS];
    for (int j = 0; j < of->columns; j++) by_scale[j] = by_shift[j] = 0;
    for (int i = 0; i < of->rows; i++) {
        const float *x = of->x + i * of->columns, *g = of->slope + i * of->columns;
        double mean = 0, squares = 0, level = 0, along = 0;
        for (int j = 0; j < of->columns; j++) mean += (double)x[j] / of->columns;
        for (int j = 0; j < of->columns; j++) squares += pow(x[j] - mean, 2) / of->columns;
        const double inverse = 1 / sqrt(squares + epsilon);
        check_near_to(of->mean[i], mean, 1e-6);
        check_near_to(of->inverse[i], inverse, 1e-6);
        for (int j = 0; j < of->columns; j++) {
            const double y = (x[j] - mean) * inverse;
            check_near_to(of->result[i * of->columns + j], y * of->scale[j] + of->shift[j], 1e-5);
            level += (double)g[j] * of->scale[j] / of->columns;
            along += (double)g[j] * of->scale[j] * y / of->columns;
            by_scale[j] += g[j] * y;
            by_shift[j] += g[j];
        }
        for (int j = 0; j < of->columns; j++) {
            const double y = (x[j] - mean) * inverse;
            check_near_to(of->by_x[i * of->columns + j], inverse * (g[j] * of->scale[j] - level - y * along), 1e-5);
        }
    }
    for (int j = 0; j < of->columns; j++) {
        check_near_to(of->by_scale[j], by_scale[j], 1e-5);
        check_near_to(of->by_shift[j], by_shift[j], 1e-5);
    }
}

static void norms(agpu_device device, int rows, int columns) {
    const int whole = rows * columns, sizes[10] = {whole, whole, columns, columns, whole, rows, rows, whole, columns, columns};
    const int64_t shape[2] = {rows, columns};
    const int ranks[10] = {2, 2, 1, 1, 2, 0, 0, 2, 1, 1};
    float *all[10];
    agpu_operand operands[10];
    for (int i = 0; i < 10; i++) {
        all[i] = memory(device, sizes[i], (uint64_t)i + 1);
        const agpu_operand made = {AGPU_OPERAND_MEMORY, ranks[i] == 2 ? 2 : 1, "float32", all[i], ranks[i] == 1 ? shape + 1 : shape, NULL, 0, 0, 0};
        operands[i] = made;
    }
    agpu_captured_graph graph = NULL;
    DO(agpu_captured_graph_begin(device, &graph));
    DO(agpu_ops_layer_norm_training_at(device, &operands[0], &operands[2], &operands[3], 1, 1e-5, &operands[4], &operands[5], &operands[6]));
    DO(agpu_ops_layer_norm_training_gradient_at(device, &operands[0], &operands[1], &operands[5], &operands[6], &operands[2], 1, &operands[7],
                                                &operands[8], &operands[9]));
    DO(agpu_captured_graph_end(graph));
    const struct norm of = {all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7], all[8], all[9], rows, columns};
    for (int replay = 0; replay < 2; replay++) {
        DO(agpu_captured_graph_replay(graph, NULL));
        DO(agpu_device_synchronize(device));
        check_norm(&of, 1e-5);
        all[0][0] += 1;
    }
    DO(agpu_release(graph));
    for (int i = 0; i < 10; i++) DO(agpu_raw_free(all[i], NULL));
}

static void steps(agpu_device device) {
    /* More elements than a block takes, fewer than a pack has, none. */
    const int lengths[4] = {20001, 3, 0, 517};
    float *all[4][5];
    agpu_list_item items[4] = {{0}};
    for (int i = 0; i < 4; i++) {
        for (int place = 0; place < 5; place++) {
            const int count = place == 4 ? 1 : lengths[i] + 1;
            all[i][place] = memory(device, count, (uint64_t)(i * 5 + place + 1));
            items[i].memory[place == 4 ? 5 : place] = all[i][place];
            for (int j = 0; j < count && place > 1; j++) all[i][place][j] = place == 4 ? 1 : 0;
        }
        items[i].elements = (uint64_t)lengths[i];
    }
    const char *dtypes[AGPU_LIST_SLOTS] = {"float32", "float32", "float32", "float32", NULL, "float32", NULL, NULL};
    const double numbers[7] = {0.01, 0.9, 0.99, 0.1, 1e-8, 1, 0};
    static float before[20001];
    memcpy(before, all[0][0], sizeof before);
    agpu_captured_graph graph = NULL;
    DO(agpu_captured_graph_begin(device, &graph));
    DO(agpu_ops_list_at(device, "adam", dtypes, items, 4, numbers, 7));
    DO(agpu_captured_graph_end(graph));
    CHECK(memcmp(before, all[0][0], sizeof before) == 0);
    DO(agpu_captured_graph_replay(graph, NULL));
    DO(agpu_device_synchronize(device));
    for (int j = 0; j < lengths[0]; j++) {
        /* In the first step the mean over the root of the square is the sign of the gradient. */
        const double slope = all[0][1][j], sign = slope / (fabs(slope) + 1e-8);
        check_near_to(all[0][0][j], before[j] * (1 - 0.01 * 0.1) - 0.01 * sign, 1e-6);
        check_near_to(all[0][2][j], 0.1 * slope, 1e-6);
        check_near_to(all[0][3][j], 0.01 * slope * slope, 1e-6);
    }
    CHECK(all[1][2][3] == 0 && all[1][2][2] != 0);
    DO(agpu_release(graph));
    for (int i = 0; i < 4; i++)
        for (int place = 0; place < 5; place++) DO(agpu_raw_free(all[i][place], NULL));
}

#define QUERIES 40
#define KEYS 70
#define SIZE 16

/* Heads of 70 keys, which products compute, with a mask of added numbers. */
static void attention(agpu_device device) {
    enum { q_at, k_at, v_at, mask_at, slope_at, result_at, by_q_at, by_k_at, by_v_at, COUNT };
    const int64_t of_q[3] = {2, QUERIES, SIZE}, of_k[3] = {2, KEYS, SIZE}, of_mask[3] = {1, QUERIES, KEYS};
    float *all[COUNT];
    agpu_operand operands[COUNT];
    for (int i = 0; i < COUNT; i++) {
        const bool is_key = i == k_at || i == v_at || i == by_k_at || i == by_v_at;
        const int64_t *shape = i == mask_at ? of_mask : is_key ? of_k : of_q;
        all[i] = memory(device, (int)(shape[0] * shape[1] * shape[2]), (uint64_t)i + 90);
        const agpu_operand made = {AGPU_OPERAND_MEMORY, 3, "float32", all[i], shape, NULL, 0, 0, 0};
        operands[i] = made;
    }
    agpu_captured_graph graph = NULL;
    DO(agpu_captured_graph_begin(device, &graph));
    DO(agpu_ops_scaled_dot_product_attention_at(device, &operands[q_at], &operands[k_at], &operands[v_at], &operands[mask_at], NULL,
                                                &operands[result_at]));
    DO(agpu_ops_scaled_dot_product_attention_gradient_at(device, &operands[q_at], &operands[k_at], &operands[v_at], &operands[mask_at],
                                                         &operands[slope_at], NULL, &operands[by_q_at], &operands[by_k_at], &operands[by_v_at]));
    DO(agpu_captured_graph_end(graph));
    DO(agpu_captured_graph_replay(graph, NULL));
    DO(agpu_device_synchronize(device));
    static double by_k[2 * KEYS * SIZE], by_v[2 * KEYS * SIZE];
    for (int row = 0; row < 2 * QUERIES; row++) {
        const int first = row / QUERIES * KEYS;
        const float *q = all[q_at] + row * SIZE, *slope = all[slope_at] + row * SIZE, *mask = all[mask_at] + row % QUERIES * KEYS;
        double shares[KEYS], by_shares[KEYS], total = 0, level = 0;
        for (int key = 0; key < KEYS; key++) {
            const float *k = all[k_at] + (first + key) * SIZE, *v = all[v_at] + (first + key) * SIZE;
            double score = mask[key];
            by_shares[key] = 0;
            for (int e = 0; e < SIZE; e++) score += (double)q[e] * k[e] / sqrt(SIZE);
            for (int e = 0; e < SIZE; e++) by_shares[key] += (double)slope[e] * v[e];
            total += shares[key] = exp(score);
        }
        for (int key = 0; key < KEYS; key++) level += (shares[key] /= total) * by_shares[key];
        for (int e = 0; e < SIZE; e++) {
            double value = 0, by_q = 0;
            for (int key = 0; key < KEYS; key++) {
                const int at = (first + key) * SIZE + e;
                const double by_score = shares[key] * (by_shares[key] - level) / sqrt(SIZE);
                value += shares[key] * all[v_at][at];
                by_q += by_score * all[k_at][at];
                by_k[at] += by_score * q[e];
                by_v[at] += shares[key] * slope[e];
            }
            check_near_to(all[result_at][row * SIZE + e], value, 1e-5);
            check_near_to(all[by_q_at][row * SIZE + e], by_q, 1e-5);
        }
    }
    for (int i = 0; i < 2 * KEYS * SIZE; i++) {
        check_near_to(all[by_k_at][i], by_k[i], 1e-5);
        check_near_to(all[by_v_at][i], by_v[i], 1e-5);
    }
    DO(agpu_release(graph));
    for (int i = 0; i < COUNT; i++) DO(agpu_raw_free(all[i], NULL));
}

int main(void) {
    agpu_device device = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    norms(device, LONG_ROWS, 45);
    norms(device, 3, MOST_COLUMNS);
    norms(device, 1, 1);
    steps(device);
    attention(device);
    DO(agpu_release(device));
    check_no_handles();
    puts("ok");
    return 0;
}
