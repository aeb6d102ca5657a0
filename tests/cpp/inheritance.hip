// p: 109 2 2 3 12 9 12 7 123 15 5 2
struct Empty { __device__ int id() const { return 77; } };
struct Base { int a; static constexpr int size = 9; __device__ Base(int x) : a(x) {} __device__ int get() const { return a; } __device__ int name() const { return 1; } };
struct Middle : Base { int b = 20; __device__ Middle(int x) : Base(x + 1) {} __device__ int name() const { return 2 + Base::name(); } };
struct Derived : public Middle, private Empty { int c; __device__ Derived(int x) : Middle(x), c(x * 10) {} __device__ int all() { return a + b + c + id(); } };
__device__ int read(const Base& x) { return x.get(); }
__device__ int follow(Base* x) { return x->a; }
template <typename D> struct Shape { __device__ int area() { return static_cast<D*>(this)->width() * 2; } __device__ int both() { return static_cast<D&>(*this).width() + 1; } };
struct Square : Shape<Square> { int w; __device__ int width() { return w; } };
struct Plain { int x, y; };
struct Wider : Plain { int z; };
template <typename T> struct Holder { T value; __device__ T get() { return value; } };
template <typename T> struct Child : Holder<T> { __device__ T twice() { return this->value * 2 + this->get(); } };
template <typename T> __device__ T from_holder(Holder<T>& h) { return h.value; }

__global__ void k(int* p) {
    Derived d(1); p[0] = d.all(); p[1] = read(d); p[2] = follow(&d); p[3] = d.name(); p[4] = sizeof(Derived);
    p[5] = Derived::size; Square s; s.w = 6; p[6] = s.area(); p[7] = s.both(); Wider w{{1, 2}, 3};
    p[8] = w.x * 100 + w.y * 10 + w.z; Child<int> k; k.value = 5; p[9] = k.twice(); p[10] = from_holder(k);
    Base b = d; p[11] = b.a;
}
