// The loops that a C programmer writes for the 12 kernels: OpenMP over the outer loop, SIMD reductions said so where an order of
// floating-point sums would forbid them. Parameters are those of the HIP-C kernels.

#include <math.h>
#include <stdint.h>
#include <string.h>

void vector_add(const float *restrict a, const float *restrict b, float *restrict c, int n) {
#pragma omp parallel for
    for (int i = 0; i < n; ++i) c[i] = a[i] + b[i];
}

void saxpy(float a, const float *restrict x, float *restrict y, unsigned n) {
#pragma omp parallel for
    for (unsigned i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}

void block_reduction(const float *restrict in, float *restrict partial, float *total, int n) {
    int blocks = (n + 255) / 256;
    float sum = 0.0f;
#pragma omp parallel for reduction(+ : sum)
    for (int block = 0; block < blocks; ++block) {
        int end = block * 256 + 256 < n ? block * 256 + 256 : n;
        float part = 0.0f;
#pragma omp simd reduction(+ : part)
        for (int i = block * 256; i < end; ++i) part += in[i];
        partial[block] = part;
        sum += part;
    }
    *total += sum;
}

void inclusive_scan(const int *restrict in, int *restrict out, int n) {
    int blocks = (n + 255) / 256;
#pragma omp parallel for
    for (int block = 0; block < blocks; ++block) {
        int end = block * 256 + 256 < n ? block * 256 + 256 : n;
        int sum = 0;
        for (int i = block * 256; i < end; ++i) out[i] = sum += in[i];
    }
}

void n_body(const float *restrict bodies, float *restrict accelerations, int n, float softening) {
#pragma omp parallel for
    for (int i = 0; i < n; ++i) {
        float x = bodies[4 * i], y = bodies[4 * i + 1], z = bodies[4 * i + 2];
        float ax = 0.0f, ay = 0.0f, az = 0.0f;
#pragma omp simd reduction(+ : ax, ay, az)
        for (int j = 0; j < n; ++j) {
            float dx = bodies[4 * j] - x;
            float dy = bodies[4 * j + 1] - y;
            float dz = bodies[4 * j + 2] - z;
            float distance = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + softening);
            float pull = bodies[4 * j + 3] * distance * distance * distance;
            ax += pull * dx;
            ay += pull * dy;
            az += pull * dz;
        }
        accelerations[4 * i] = ax;
        accelerations[4 * i + 1] = ay;
        accelerations[4 * i + 2] = az;
        accelerations[4 * i + 3] = 0.0f;
    }
}

void mandelbrot(int *counts, int width, int height, float left, float top, float step, int limit) {
#pragma omp parallel for schedule(dynamic, 8)
    for (int row = 0; row < height; ++row) {
        for (int column = 0; column < width; ++column) {
            float cx = left + column * step, cy = top + row * step, x = 0.0f, y = 0.0f;
            int count = 0;
            while (count < limit && x * x + y * y < 4.0f) {
                float next = x * x - y * y + cx;
                y = 2.0f * x * y + cy;
                x = next;
                ++count;
            }
            counts[row * width + column] = count;
        }
    }
}

static inline float normal_distribution(float x) {
    static const float a[5] = {0.31938153f, -0.356563782f, 1.781477937f, -1.821255978f, 1.330274429f};
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(x));
    float sum = 0.0f;
    for (int i = 4; i >= 0; --i) sum = (sum + a[i]) * k;
    float tail = 0.3989422804f * expf(-0.5f * x * x) * sum;
    return x > 0 ? 1.0f - tail : tail;
}

void black_scholes(float *restrict call, float *restrict put, const float *restrict price, const float *restrict strike,
                   const float *restrict years, float rate, float volatility, int n) {
#pragma omp parallel for
    for (int i = 0; i < n; ++i) {
        float root = sqrtf(years[i]);
        float d1 = (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / (volatility * root);
        float d2 = d1 - volatility * root;
        float discounted = strike[i] * expf(-rate * years[i]);
        call[i] = price[i] * normal_distribution(d1) - discounted * normal_distribution(d2);
        put[i] = discounted * normal_distribution(-d2) - price[i] * normal_distribution(-d1);
    }
}

void stencil_halo(const float *restrict in, float *restrict out, int width, int height) {
#pragma omp parallel for
    for (int y = 0; y < height; ++y) {
        const float *here = in + (long)y * width;
        const float *above = y > 0 ? here - width : here;
        const float *below = y < height - 1 ? here + width : here;
        float *to = out + (long)y * width;
        to[0] = (here[0] + above[0] + below[0] + here[0] + here[width > 1]) * 0.2f;
        for (int x = 1; x < width - 1; ++x) to[x] = (here[x] + above[x] + below[x] + here[x - 1] + here[x + 1]) * 0.2f;
        int x = width - 1;
        if (x > 0) to[x] = (here[x] + above[x] + below[x] + here[x - 1] + here[x]) * 0.2f;
    }
}

void tiled_gemm(const float *restrict a, const float *restrict b, float *restrict c, int m, int n, int k) {
#pragma omp parallel for
    for (int i = 0; i < m; ++i) {
        float *row = c + (long)i * n;
        memset(row, 0, sizeof(float) * n);
        for (int p = 0; p < k; ++p) {
            float factor = a[(long)i * k + p];
            for (int j = 0; j < n; ++j) row[j] += factor * b[(long)p * n + j];
        }
    }
}

void tiled_transpose(const float *restrict in, float *restrict out, int width, int height) {
#pragma omp parallel for collapse(2)
    for (int top = 0; top < height; top += 16) {
        for (int left = 0; left < width; left += 16) {
            int bottom = top + 16 < height ? top + 16 : height, right = left + 16 < width ? left + 16 : width;
            for (int x = left; x < right; ++x)
                for (int y = top; y < bottom; ++y) out[(long)x * height + y] = in[(long)y * width + x];
        }
    }
}

void shared_histogram(const uint8_t *restrict values, uint32_t *restrict bins, int n) {
#pragma omp parallel
    {
        uint32_t local[256] = {0};
#pragma omp for
        for (int i = 0; i < n; ++i) ++local[values[i]];
#pragma omp critical
        for (int i = 0; i < 256; ++i) bins[i] += local[i];
    }
}

void softmax_rows(const float *restrict in, float *restrict out, int rows, int columns) {
#pragma omp parallel for
    for (int row = 0; row < rows; ++row) {
        const float *from = in + (long)row * columns;
        float *to = out + (long)row * columns;
        float largest = -INFINITY;
#pragma omp simd reduction(max : largest)
        for (int i = 0; i < columns; ++i) largest = from[i] > largest ? from[i] : largest;
        float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < columns; ++i) sum += to[i] = expf(from[i] - largest);
        for (int i = 0; i < columns; ++i) to[i] = to[i] / sum;
    }
}
