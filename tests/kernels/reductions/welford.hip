// Mean and variance in one pass, partial results merged after Chan, Golub and LeVeque.
struct Moments {
    double count, mean, squares;
    __device__ Moments() : count(0.0), mean(0.0), squares(0.0) {}
    __device__ void add(double value) {
        count += 1.0;
        double apart = value - mean;
        mean += apart / count;
        squares += apart * (value - mean);
    }
    __device__ void merge(const Moments& other) {
        double all = count + other.count;
        if (all == 0.0) return;
        double apart = other.mean - mean;
        mean += apart * (other.count / all);
        squares += other.squares + apart * apart * (count * other.count / all);
        count = all;
    }
};

__global__ void welford(const float* values, double* mean, double* variance, int n) {
    __shared__ double counts[64], means[64], squares[64];
    int t = threadIdx.x;
    Moments mine;
    for (int i = t; i < n; i += 64) mine.add(values[i]);
    for (int s = 32; s > 0; s /= 2) {
        counts[t] = mine.count;
        means[t] = mine.mean;
        squares[t] = mine.squares;
        __syncthreads();
        if (t < s) {
            Moments other;
            other.count = counts[t + s];
            other.mean = means[t + s];
            other.squares = squares[t + s];
            mine.merge(other);
        }
        __syncthreads();
    }
    if (t == 0) {
        *mean = mine.mean;
        *variance = mine.squares / mine.count;
    }
}
