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
template <typename T, T V> struct integral_constant {
    static constexpr T value = V;
    using value_type = T;
    using type = integral_constant;
    constexpr operator T() const { return V; }
    constexpr T operator()() const { return V; }
};
template <bool B> using bool_constant = integral_constant<bool, B>;
using true_type = integral_constant<bool, true>;
using false_type = integral_constant<bool, false>;
template <typename A, typename B> struct is_same : bool_constant<__is_same(A, B)> {};
template <bool B, typename T = void> struct enable_if {};
template <typename T> struct enable_if<true, T> { using type = T; };
template <bool B, typename T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, typename T, typename F> struct conditional { using type = T; };
template <typename T, typename F> struct conditional<false, T, F> { using type = F; };
template <bool B, typename T, typename F> using conditional_t = typename conditional<B, T, F>::type;
template <typename T> struct type_identity { using type = T; };
template <typename T> struct remove_const { using type = T; };
template <typename T> struct remove_const<const T> { using type = T; };
template <typename T> using remove_const_t = typename remove_const<T>::type;
template <typename T> struct remove_volatile { using type = T; };
template <typename T> using remove_volatile_t = T;
template <typename T> struct remove_cv { using type = remove_const_t<T>; };
template <typename T> using remove_cv_t = remove_const_t<T>;
template <typename T> struct remove_reference { using type = T; };
template <typename T> using remove_reference_t = T;
template <typename T> struct remove_cvref { using type = remove_const_t<T>; };
template <typename T> using remove_cvref_t = remove_const_t<T>;
template <typename T> struct remove_pointer { using type = T; };
template <typename T> struct remove_pointer<T*> { using type = T; };
template <typename T> using remove_pointer_t = typename remove_pointer<T>::type;
template <typename T> struct add_pointer { using type = T*; };
template <typename T> using add_pointer_t = T*;
template <typename T> using add_const_t = const T;
template <typename T> struct remove_extent { using type = T; };
template <typename T, size_t N> struct remove_extent<T[N]> { using type = T; };
template <typename T> using remove_extent_t = typename remove_extent<T>::type;
template <typename T> struct decay { using type = remove_const_t<T>; };
template <typename T, size_t N> struct decay<T[N]> { using type = T*; };
template <typename T> using decay_t = typename decay<T>::type;
template <typename... Ts> using void_t = void;
template <typename T> struct is_void : bool_constant<__is_same(remove_const_t<T>, void)> {};
template <typename T> struct is_const : false_type {};
template <typename T> struct is_const<const T> : true_type {};
template <typename T> struct is_pointer : false_type {};
template <typename T> struct is_pointer<T*> : true_type {};
template <typename T> struct is_array : false_type {};
template <typename T, size_t N> struct is_array<T[N]> : true_type {};
template <typename T> struct is_reference : false_type {};
template <typename T> struct __agpu_is_integral : false_type {};
template <> struct __agpu_is_integral<bool> : true_type {};
template <> struct __agpu_is_integral<char> : true_type {};
template <> struct __agpu_is_integral<signed char> : true_type {};
template <> struct __agpu_is_integral<unsigned char> : true_type {};
template <> struct __agpu_is_integral<short> : true_type {};
template <> struct __agpu_is_integral<unsigned short> : true_type {};
template <> struct __agpu_is_integral<int> : true_type {};
template <> struct __agpu_is_integral<unsigned int> : true_type {};
template <> struct __agpu_is_integral<long> : true_type {};
template <> struct __agpu_is_integral<unsigned long> : true_type {};
template <> struct __agpu_is_integral<long long> : true_type {};
template <> struct __agpu_is_integral<unsigned long long> : true_type {};
template <typename T> struct is_integral : bool_constant<__agpu_is_integral<remove_const_t<T>>::value> {};
template <typename T> struct is_floating_point : bool_constant<__is_same(remove_const_t<T>, float) || __is_same(remove_const_t<T>, double)> {};
template <typename T> struct is_arithmetic : bool_constant<is_integral<T>::value || is_floating_point<T>::value> {};
template <typename T, bool B> struct __agpu_is_signed : false_type {};
template <typename T> struct __agpu_is_signed<T, true> : bool_constant<(T(-1) < T(0))> {};
template <typename T> struct is_signed : __agpu_is_signed<remove_const_t<T>, is_arithmetic<T>::value> {};
template <typename T> struct is_unsigned : bool_constant<is_integral<T>::value && !is_signed<T>::value> {};
template <typename T> struct make_unsigned { using type = T; };
template <> struct make_unsigned<char> { using type = unsigned char; };
template <> struct make_unsigned<signed char> { using type = unsigned char; };
template <> struct make_unsigned<short> { using type = unsigned short; };
template <> struct make_unsigned<int> { using type = unsigned int; };
template <> struct make_unsigned<long> { using type = unsigned long; };
template <> struct make_unsigned<long long> { using type = unsigned long long; };
template <typename T> using make_unsigned_t = typename make_unsigned<T>::type;
template <typename T> struct make_signed { using type = T; };
template <> struct make_signed<unsigned char> { using type = signed char; };
template <> struct make_signed<unsigned short> { using type = short; };
template <> struct make_signed<unsigned int> { using type = int; };
template <> struct make_signed<unsigned long> { using type = long; };
template <> struct make_signed<unsigned long long> { using type = long long; };
template <typename T> using make_signed_t = typename make_signed<T>::type;
template <typename T> __device__ T& declval();
