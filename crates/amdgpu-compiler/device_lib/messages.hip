// What kernels tell the host: lines of printf, and the first failed assertion. The host reads this memory when a launch has
// ended, clears it, and turns numbers of messages into text; `messages.rs` has the same layout.

#define AGPU_MESSAGE_WORDS 262144u
#define AGPU_LONGEST_STRING 1024u

struct __agpu_message_memory {
    unsigned int used;   // words reserved; past the end once lines are lost
    unsigned int lost;   // lines without room
    unsigned int faults; // work-items that ended by an assertion; the rest tells of the first
    unsigned int fault_message;
    unsigned int fault_kernel;
    unsigned int fault_block[3];
    unsigned int fault_thread[3];
    unsigned int reserved[5];
    unsigned int words[AGPU_MESSAGE_WORDS];
};
__device__ __agpu_message_memory __agpu_messages;

// Room for a line, with its number written; null when there is none.
__device__ unsigned int* __agpu_print_begin(unsigned int message, unsigned int count) {
    unsigned int start = AGPU_MESSAGE_WORDS;
    // Asked first, so that the number cannot go round however many lines are lost.
    if (atomicAdd(&__agpu_messages.used, 0u) <= AGPU_MESSAGE_WORDS) start = atomicAdd(&__agpu_messages.used, count);
    if (start > AGPU_MESSAGE_WORDS || count > AGPU_MESSAGE_WORDS - start) {
        atomicAdd(&__agpu_messages.lost, 1u);
        return nullptr;
    }
    __agpu_messages.words[start] = message;
    return &__agpu_messages.words[start] + 1;
}

__device__ unsigned int* __agpu_print_word(unsigned int* at, unsigned int value) {
    if (at == nullptr) return at;
    *at = value;
    return at + 1;
}

__device__ unsigned int* __agpu_print_long(unsigned int* at, unsigned long long value) {
    return __agpu_print_word(__agpu_print_word(at, (unsigned int)value), (unsigned int)(value >> 32));
}

__device__ unsigned int* __agpu_print_double(unsigned int* at, double value) {
    return __agpu_print_long(at, (unsigned long long)__builtin_bits_long(value));
}

__device__ unsigned int __agpu_string_bytes(const char* text) {
    unsigned int count = 0u;
    if (text != nullptr) {
        while (count < AGPU_LONGEST_STRING && text[count] != 0) ++count;
    }
    return count;
}

// Length in bytes, or all ones for a null pointer, then the bytes.
__device__ unsigned int* __agpu_print_string(unsigned int* at, const char* text, unsigned int bytes) {
    if (at == nullptr) return at;
    *at = text == nullptr ? 0xffffffffu : bytes;
    ++at;
    for (unsigned int begin = 0u; begin < bytes; begin += 4u) {
        unsigned int word = 0u;
        for (unsigned int i = 0u; i < 4u && begin + i < bytes; ++i) {
            word |= (unsigned int)(unsigned char)text[begin + i] << (8u * i);
        }
        *at = word;
        ++at;
    }
    return at;
}

__device__ int __agpu_print_end(unsigned int* at, int arguments) { return at == nullptr ? -1 : arguments; }

// The compiler puts the number of the kernel in place of this call.
__device__ unsigned int __agpu_kernel_number() { return 0u; }
// The compiler puts the end of the work-item in place of this call.
__device__ void __agpu_end_item() {}

__device__ void __agpu_fail(unsigned int message) {
    if (atomicAdd(&__agpu_messages.faults, 1u) == 0u) {
        __agpu_messages.fault_message = message;
        __agpu_messages.fault_kernel = __agpu_kernel_number();
        __agpu_messages.fault_block[0] = blockIdx.x;
        __agpu_messages.fault_block[1] = blockIdx.y;
        __agpu_messages.fault_block[2] = blockIdx.z;
        __agpu_messages.fault_thread[0] = threadIdx.x;
        __agpu_messages.fault_thread[1] = threadIdx.y;
        __agpu_messages.fault_thread[2] = threadIdx.z;
    }
    __agpu_end_item();
}

#define assert(...) ((__VA_ARGS__) ? (void)0 : __agpu_assertion_failed(#__VA_ARGS__))
// In place of assert where NDEBUG is defined.
#define __agpu_no_assert(...) ((void)0)
