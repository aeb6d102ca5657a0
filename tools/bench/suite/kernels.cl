// The kernels of tests/kernels in OpenCL C: same algorithms, same work-groups, same parameters.

__kernel void vector_add(__global const float *restrict a, __global const float *restrict b, __global float *restrict c, int n) {
    int i = get_global_id(0);
    if (i < n) c[i] = a[i] + b[i];
}

__kernel void saxpy(float a, __global const float *restrict x, __global float *restrict y, uint n) {
    uint i = get_global_id(0);
    if (i >= n) return;
    y[i] = a * x[i] + y[i];
}

// OpenCL C 1.2 has no atomic addition of floats: the usual loop of compare and exchange.
void atomic_add_float(volatile __global float *address, float value) {
    volatile __global uint *bits = (volatile __global uint *)address;
    uint old = *bits, seen;
    do {
        seen = old;
        old = atomic_cmpxchg(bits, seen, as_uint(as_float(seen) + value));
    } while (old != seen);
}

__kernel void block_reduction(__global const float *restrict in, __global float *restrict partial, __global float *total, int n) {
    __local float tile[256];
    int t = get_local_id(0);
    int i = get_global_id(0);
    tile[t] = i < n ? in[i] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = get_local_size(0) / 2; s > 0; s >>= 1) {
        if (t < s) tile[t] += tile[t + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0) {
        partial[get_group_id(0)] = tile[0];
        atomic_add_float(total, tile[0]);
    }
}

__kernel void inclusive_scan(__global const int *restrict in, __global int *restrict out, int n) {
    __local int buffer[2 * 256];
    int t = get_local_id(0), i = get_global_id(0);
    __local int *from = buffer;
    __local int *to = buffer + get_local_size(0);
    from[t] = i < n ? in[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < (int)get_local_size(0); d *= 2) {
        to[t] = t >= d ? from[t] + from[t - d] : from[t];
        barrier(CLK_LOCAL_MEM_FENCE);
        __local int *other = from;
        from = to;
        to = other;
    }
    if (i < n) out[i] = from[t];
}

__kernel void n_body(__global const float4 *restrict bodies, __global float4 *restrict accelerations, int n, float softening) {
    int i = get_global_id(0);
    if (i >= n) return;
    float4 me = bodies[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int j = 0; j < n; ++j) {
        float4 other = bodies[j];
        float dx = other.x - me.x;
        float dy = other.y - me.y;
        float dz = other.z - me.z;
        float distance = rsqrt(dx * dx + dy * dy + dz * dz + softening);
        float pull = other.w * distance * distance * distance;
        ax += pull * dx;
        ay += pull * dy;
        az += pull * dz;
    }
    accelerations[i] = (float4)(ax, ay, az, 0.0f);
}

__kernel void mandelbrot(__global int *counts, int width, int height, float left, float top, float step, int limit) {
    int column = get_global_id(0);
    int row = get_global_id(1);
    if (column >= width || row >= height) return;
    float cx = left + column * step;
    float cy = top + row * step;
    float x = 0.0f, y = 0.0f;
    int count = 0;
    while (count < limit && x * x + y * y < 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        ++count;
    }
    counts[row * width + column] = count;
}

float normal_distribution(float x) {
    const float a[5] = {0.31938153f, -0.356563782f, 1.781477937f, -1.821255978f, 1.330274429f};
    float k = 1.0f / (1.0f + 0.2316419f * fabs(x));
    float sum = 0.0f;
    for (int i = 4; i >= 0; --i) sum = (sum + a[i]) * k;
    float tail = 0.3989422804f * exp(-0.5f * x * x) * sum;
    return x > 0 ? 1.0f - tail : tail;
}

__kernel void black_scholes(__global float *restrict call, __global float *restrict put, __global const float *restrict price,
                            __global const float *restrict strike, __global const float *restrict years, float rate, float volatility,
                            int n) {
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
        float root = sqrt(years[i]);
        float d1 = (log(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / (volatility * root);
        float d2 = d1 - volatility * root;
        float discounted = strike[i] * exp(-rate * years[i]);
        call[i] = price[i] * normal_distribution(d1) - discounted * normal_distribution(d2);
        put[i] = discounted * normal_distribution(-d2) - price[i] * normal_distribution(-d1);
    }
}

#define W 16
#define H 8

int clamped(int value, int size) {
    return value < 0 ? 0 : value >= size ? size - 1 : value;
}

__kernel void stencil_halo(__global const float *restrict in, __global float *restrict out, int width, int height) {
    __local float tile[H + 2][W + 2];
    int left = get_group_id(0) * W - 1, top = get_group_id(1) * H - 1;
    for (int i = get_local_id(1) * W + get_local_id(0); i < (H + 2) * (W + 2); i += W * H) {
        int y = i / (W + 2), x = i % (W + 2);
        tile[y][x] = in[clamped(top + y, height) * width + clamped(left + x, width)];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int x = get_local_id(0) + 1, y = get_local_id(1) + 1;
    if (left + x < width && top + y < height) {
        float sum = tile[y][x] + tile[y - 1][x] + tile[y + 1][x] + tile[y][x - 1] + tile[y][x + 1];
        out[(top + y) * width + left + x] = sum * 0.2f;
    }
}

#define TILE 16

__kernel void tiled_gemm(__global const float *restrict a, __global const float *restrict b, __global float *restrict c, int m, int n,
                         int k) {
    __local float as[TILE][TILE];
    __local float bs[TILE][TILE];
    int tx = get_local_id(0), ty = get_local_id(1);
    int row = get_group_id(1) * TILE + ty, column = get_group_id(0) * TILE + tx;
    float sum = 0.0f;
    for (int start = 0; start < k; start += TILE) {
        as[ty][tx] = row < m && start + tx < k ? a[row * k + start + tx] : 0.0f;
        bs[ty][tx] = start + ty < k && column < n ? b[(start + ty) * n + column] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < TILE; ++i) sum += as[ty][i] * bs[i][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

__kernel void tiled_transpose(__global const float *restrict in, __global float *restrict out, int width, int height) {
    __local float tile[TILE][TILE + 1];
    int x = get_group_id(0) * TILE + get_local_id(0), y = get_group_id(1) * TILE + get_local_id(1);
    if (x < width && y < height) tile[get_local_id(1)][get_local_id(0)] = in[y * width + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * TILE + get_local_id(0);
    y = get_group_id(0) * TILE + get_local_id(1);
    if (x < height && y < width) out[y * height + x] = tile[get_local_id(0)][get_local_id(1)];
}

__kernel void shared_histogram(__global const uchar *values, __global uint *bins, int n) {
    __local uint local_bins[256];
    for (int b = get_local_id(0); b < 256; b += get_local_size(0)) local_bins[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) atomic_add(&local_bins[values[i]], 1u);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int b = get_local_id(0); b < 256; b += get_local_size(0)) {
        if (local_bins[b]) atomic_add(&bins[b], local_bins[b]);
    }
}

#define THREADS 128

float block_sum(float value, __local float *tree) {
    int t = get_local_id(0);
    tree[t] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (t < s) tree[t] += tree[t + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float sum = tree[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return sum;
}

float block_max(float value, __local float *tree) {
    int t = get_local_id(0);
    tree[t] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (t < s) tree[t] = fmax(tree[t], tree[t + s]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float largest = tree[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return largest;
}

__kernel void softmax_rows(__global const float *in, __global float *out, int columns) {
    __local float tree[THREADS];
    __global const float *row = in + get_group_id(0) * columns;
    float largest = -INFINITY;
    for (int i = get_local_id(0); i < columns; i += THREADS) largest = fmax(largest, row[i]);
    largest = block_max(largest, tree);
    float sum = 0.0f;
    for (int i = get_local_id(0); i < columns; i += THREADS) sum += exp(row[i] - largest);
    sum = block_sum(sum, tree);
    for (int i = get_local_id(0); i < columns; i += THREADS) out[get_group_id(0) * columns + i] = exp(row[i] - largest) / sum;
}
