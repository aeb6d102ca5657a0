long float wrong_words;
__global__ void types(float* p, void* raw) {
    float x = "text";
    int i = p;
    p[1.5f] = 0;
    raw[0] = 1;
    *x = 2;
    float y = p % 2;
    y = 1.5f % 2.0f;
    y = ~y;
    p->x = 1;
    i.x = 1;
    auto z;
    bool b = !p;
    int* q = &p[0];
    x = nullptr;
    (1 + 2) = 3;
    ++(i + 1);
}
