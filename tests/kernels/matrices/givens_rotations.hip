// Rotates pairs of rows; each rotation makes the first entry of its second row zero.
__global__ void givens_rotations(double* matrix, int columns) {
    double* first = matrix + (size_t)(2 * blockIdx.x) * columns;
    double* second = first + columns;
    __shared__ double cosine, sine;
    if (threadIdx.x == 0) {
        double length = sqrt(first[0] * first[0] + second[0] * second[0]);
        cosine = length == 0.0 ? 1.0 : first[0] / length;
        sine = length == 0.0 ? 0.0 : second[0] / length;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        double a = first[i], b = second[i];
        first[i] = cosine * a + sine * b;
        second[i] = cosine * b - sine * a;
    }
}
