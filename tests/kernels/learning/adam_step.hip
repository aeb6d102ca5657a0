struct Settings {
    float rate, beta1, beta2, epsilon, decay;
};

// AdamW with bias correction; powers of the betas come from the host.
__global__ void adam_step(float* weights, const float* gradients, float* first, float* second, Settings settings, float power1,
                          float power2, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float g = gradients[i];
        float m = first[i] = settings.beta1 * first[i] + (1.0f - settings.beta1) * g;
        float v = second[i] = settings.beta2 * second[i] + (1.0f - settings.beta2) * g * g;
        float step = m / (1.0f - power1) / (sqrtf(v / (1.0f - power2)) + settings.epsilon);
        weights[i] -= settings.rate * (step + settings.decay * weights[i]);
    }
}
