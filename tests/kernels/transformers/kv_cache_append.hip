// New keys and values into pages of a cache: the page table says where a sequence's tokens go.
struct Cache {
    float* keys;
    float* values;
    int page_tokens;
    int width;
};

__global__ void kv_cache_append(float* keys, float* values, const float* new_keys, const float* new_values, const int* lengths,
                                const int* pages, int page_tokens, int pages_each, int width) {
    Cache cache{keys, values, page_tokens, width};
    int sequence = blockIdx.x, place = lengths[sequence];
    int page = pages[sequence * pages_each + place / cache.page_tokens];
    if (page < 0) return;
    size_t to = ((size_t)page * cache.page_tokens + place % cache.page_tokens) * cache.width;
    for (int i = threadIdx.x; i < cache.width; i += blockDim.x) {
        cache.keys[to + i] = new_keys[sequence * cache.width + i];
        cache.values[to + i] = new_values[sequence * cache.width + i];
    }
}
