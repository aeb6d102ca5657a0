#include <vector>
struct Timer {
    std::vector<float> laps;
    Timer() : laps(3) {}
    void start() { laps.push_back(0); }
};
class Base : public Timer { int x; };
struct __align__(16) Plain { float values[(2 + 2)]; };
struct Functor {
    __device__ float operator()(float x) const { return x; }
};
__global__ void ok(Plain* p) { p->values[3] = 1; }
__global__ void wrong(Timer* t) { t->start(); }
static void run(Timer& t) { t.start(); }
int main() { Timer t; t.start(); ok<<<1, 1>>>(nullptr); }
