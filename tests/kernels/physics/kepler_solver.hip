// Eccentric anomaly by Newton's method: as many steps as each orbit needs, with a limit.
__global__ void kepler_solver(const float* means, const float* eccentricities, float* anomalies, unsigned char* steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float mean = means[i], e = eccentricities[i];
    float anomaly = e < 0.8f ? mean : 3.1415927f;
    int count = 0;
    while (count < 30) {
        float s, c;
        sincosf(anomaly, &s, &c);
        float change = (anomaly - e * s - mean) / (1.0f - e * c);
        anomaly -= change;
        ++count;
        if (fabsf(change) < 1e-5f) break;
    }
    anomalies[i] = anomaly;
    steps[i] = (unsigned char)(count < 30);
}
