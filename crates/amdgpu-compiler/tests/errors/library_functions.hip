__global__ void k(int* p) {
    cudaDeviceSynchronize();
    hipMalloc(&p, 4);
    std::vector<int> v;
    std::map<int, float>::iterator i;
    p[0] = std::min<int>(p[1], 2);
}
