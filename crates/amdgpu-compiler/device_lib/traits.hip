// The part of <limits> and <type_traits> that kernels use.
template <typename T> struct numeric_limits;
template <> struct numeric_limits<bool> {
    static constexpr bool is_integer = true;
    static constexpr bool min() { return false; }
    static constexpr bool lowest() { return false; }
    static constexpr bool max() { return true; }
};
template <> struct numeric_limits<char> {
    static constexpr bool is_integer = true;
    static constexpr char min() { return -128; }
    static constexpr char lowest() { return -128; }
    static constexpr char max() { return 127; }
};
template <> struct numeric_limits<signed char> {
    static constexpr bool is_integer = true;
    static constexpr signed char min() { return -128; }
    static constexpr signed char lowest() { return -128; }
    static constexpr signed char max() { return 127; }
};
template <> struct numeric_limits<unsigned char> {
    static constexpr bool is_integer = true;
    static constexpr unsigned char min() { return 0; }
    static constexpr unsigned char lowest() { return 0; }
    static constexpr unsigned char max() { return 255; }
};
template <> struct numeric_limits<short> {
    static constexpr bool is_integer = true;
    static constexpr short min() { return -32768; }
    static constexpr short lowest() { return -32768; }
    static constexpr short max() { return 32767; }
};
template <> struct numeric_limits<unsigned short> {
    static constexpr bool is_integer = true;
    static constexpr unsigned short min() { return 0; }
    static constexpr unsigned short lowest() { return 0; }
    static constexpr unsigned short max() { return 65535; }
};
template <> struct numeric_limits<int> {
    static constexpr bool is_integer = true;
    static constexpr int min() { return -2147483647 - 1; }
    static constexpr int lowest() { return -2147483647 - 1; }
    static constexpr int max() { return 2147483647; }
};
template <> struct numeric_limits<unsigned int> {
    static constexpr bool is_integer = true;
    static constexpr unsigned int min() { return 0u; }
    static constexpr unsigned int lowest() { return 0u; }
    static constexpr unsigned int max() { return 4294967295u; }
};
template <> struct numeric_limits<long> {
    static constexpr bool is_integer = true;
    static constexpr long min() { return -9223372036854775807l - 1; }
    static constexpr long lowest() { return -9223372036854775807l - 1; }
    static constexpr long max() { return 9223372036854775807l; }
};
template <> struct numeric_limits<unsigned long> {
    static constexpr bool is_integer = true;
    static constexpr unsigned long min() { return 0ul; }
    static constexpr unsigned long lowest() { return 0ul; }
    static constexpr unsigned long max() { return 18446744073709551615ul; }
};
template <> struct numeric_limits<long long> {
    static constexpr bool is_integer = true;
    static constexpr long long min() { return -9223372036854775807ll - 1; }
    static constexpr long long lowest() { return -9223372036854775807ll - 1; }
    static constexpr long long max() { return 9223372036854775807ll; }
};
template <> struct numeric_limits<unsigned long long> {
    static constexpr bool is_integer = true;
    static constexpr unsigned long long min() { return 0ull; }
    static constexpr unsigned long long lowest() { return 0ull; }
    static constexpr unsigned long long max() { return 18446744073709551615ull; }
};
template <> struct numeric_limits<float> {
    static constexpr bool is_integer = false;
    static constexpr float min() { return 1.17549435e-38f; }
    static constexpr float lowest() { return -3.402823466e+38f; }
    static constexpr float max() { return 3.402823466e+38f; }
    static constexpr float epsilon() { return 1.1920929e-7f; }
    static constexpr float infinity() { return (float)INFINITY; }
};
template <> struct numeric_limits<double> {
    static constexpr bool is_integer = false;
    static constexpr double min() { return 2.2250738585072014e-308; }
    static constexpr double lowest() { return -1.7976931348623157e+308; }
    static constexpr double max() { return 1.7976931348623157e+308; }
    static constexpr double epsilon() { return 2.220446049250313e-16; }
    static constexpr double infinity() { return (double)INFINITY; }
};
template <typename A, typename B> struct is_same { static constexpr bool value = __is_same(A, B); };
template <typename T> struct is_floating_point { static constexpr bool value = __is_same(T, float) || __is_same(T, double); };
