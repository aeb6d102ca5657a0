// Nesterov's momentum with the gradient cut to a norm given for each group of weights.
__global__ void sgd_momentum(double* weights, const double* gradients, double* velocity, double rate, double momentum, double limit,
                             int size) {
    extern __shared__ double squares[];
    int t = threadIdx.x, i = blockIdx.x * size + t;
    double g = t < size ? gradients[i] : 0.0;
    squares[t] = g * g;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s) squares[t] += squares[t + s];
        __syncthreads();
    }
    double norm = sqrt(squares[0]);
    if (norm > limit) g *= limit / norm;
    if (t >= size) return;
    double v = velocity[i] = momentum * velocity[i] + g;
    weights[i] -= rate * (g + momentum * v);
}
