// Segmented reductions, values added and reduced by index, gradients of embeddings, through amdgpu.hpp.
#include "check.hpp"

int main() {
    using amdgpu::Array;
    namespace ops = amdgpu::ops;
    {
        const amdgpu::Device device("cpu:0");
        const Array x = array_of<float>(device, "float32", {3, 2}, {1, 2, 3, 4, 5, 6});
        const Array ids = array_of<std::int64_t>(device, "int64", {3}, {1, 0, 1});
        CHECK((ops::segment_reduce("amax", x, ids, 2).read<float>() == std::vector<float>{3, 4, 5, 6}));
        const Array offsets = array_of<std::int32_t>(device, "int32", {3}, {0, 1, 3});
        CHECK((ops::segment_reduce_offsets("prod", x, offsets).read<float>() == std::vector<float>{1, 2, 15, 24}));
        CHECK((ops::index_add(x, 0, ids, x).read<float>() == std::vector<float>{4, 6, 9, 12, 5, 6}));
        const Array columns = array_of<std::int64_t>(device, "int64", {1, 3}, {1, 1, -1});
        const Array values = array_of<float>(device, "float32", {1, 3}, {10, 20, 30});
        CHECK((ops::scatter_reduce("mean", x, 1, columns, values, false).read<float>() == std::vector<float>{1, 20, 3, 4, 5, 6}));
        CHECK((ops::embedding_gradient(x, ids, 2, 0).read<float>() == std::vector<float>{0, 0, 6, 8}));
        CHECK((ops::embedding_gradient(x, ids, 2, std::nullopt, true).read<float>() == std::vector<float>{3, 4, 3, 4}));
        {
            const ops::DeferredIndexChecks deferred;
            CHECK((ops::embedding_gradient(x, ids, 2).read<float>() == std::vector<float>{3, 4, 6, 8}));
        }
        ops::check_indices(device);
        expect(AGPU_ERROR_INDEX_OUT_OF_RANGE, "index 1 at place 0 is none of 1 rows", [&] { (void)ops::segment_reduce("sum", x, ids, 1); });
    }
    CHECK(amdgpu::handle_count() == 0);
    std::puts("ok");
}
