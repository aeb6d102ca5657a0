// Shapes that share code through a base that knows the derived type.
template <typename Derived>
struct Shape {
    int scale;
    __device__ int scaled_area() const { return scale * static_cast<const Derived*>(this)->area(); }
};
struct Rectangle : Shape<Rectangle> {
    int width, height;
    __device__ Rectangle(int s, int w, int h) : width(w), height(h) { scale = s; }
    __device__ int area() const { return width * height; }
};
struct Square : Rectangle {
    __device__ Square(int s, int side) : Rectangle(s, side, side) {}
    __device__ int perimeter() const { return 2 * (width + height); }
};

__global__ void static_inheritance(const int* sides, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Rectangle r(2, sides[i], i + 1);
    Square s(3, sides[i]);
    out[3 * i] = r.scaled_area();
    out[3 * i + 1] = s.scaled_area() + s.area();
    out[3 * i + 2] = s.perimeter();
}
