// p: 1 2 1 0 1 1 1 3 1 1 7 1 1 1
template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>> __device__ int sort_of(T) { return 1; }
template <typename T, std::enable_if_t<std::is_floating_point<T>::value, int> = 0> __device__ int sort_of(T) { return 2; }
template <typename T> __device__ typename std::enable_if<sizeof(T) == 8, int>::type wide(T) { return 1; }
template <typename T> __device__ typename std::enable_if<sizeof(T) != 8, int>::type wide(T) { return 0; }

__global__ void k(int* p) {
    p[0] = sort_of(1); p[1] = sort_of(1.0f); p[2] = wide(1.0); p[3] = wide('a');
    std::conditional_t<(sizeof(int) > 2), char, double> c = 'x'; p[4] = sizeof(c);
    p[5] = std::is_same_v<std::remove_cv_t<const int>, int>;
    p[6] = std::is_pointer<int*>::value + 2 * std::is_pointer_v<int>;
    p[7] = std::is_signed_v<int> + 2 * std::is_unsigned_v<unsigned>;
    p[8] = std::is_same<std::decay_t<const float>, float>::value;
    p[9] = std::numeric_limits<int>::max() == 2147483647; std::integral_constant<int, 7> seven; p[10] = seven.value;
    p[11] = std::is_same<std::make_unsigned_t<int>, unsigned>::value;
    p[12] = std::is_same_v<decltype(std::declval<int>() + 1.0f), float>; p[13] = std::true_type::value;
}
