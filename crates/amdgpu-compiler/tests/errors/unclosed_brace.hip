__global__ void first(int* p) {
    for (int i = 0; i < 4; ++i) {
        p[i] = i;

}
__global__ void second(int* p) {
    p[0] = 1;
}
