__global__ void loops(int* p, int n) {
    switch (n) {
        case 1: p[0] = 1; break;
        case 1: p[0] = 2; break;
        case n: p[0] = 3;
        default: break;
        default: break;
    }
    switch (1.5f) { case 1: break; }
    continue;
    break;
    case 3: p[0] = 1;
    int size = n;
    float local[size];
    float none[0];
    float huge[4294967296];
}
