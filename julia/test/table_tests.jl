@testset "table names the ABI it was built for and stays where it is" begin
    @test F.table() == F.table()
    @test TABLE.size_bytes == sizeof(F.MathTable) == 72
    @test TABLE.abi_version == F.ABI_VERSION
    @test TABLE.abi_hash == F.ABI_HASH
    GC.gc()
    @test unsafe_load(F.table()) == TABLE
    for name in (:activation, :softmax, :dense_forward, :adaptive_learning_rate, :momentum_update, :last_error)
        @test getfield(TABLE, name) != C_NULL
    end
end

"Size and field offsets of each struct as a C compiler lays them out: alignment is that of the largest member."
function header_layouts()
    header = read(joinpath(@__DIR__, "..", "..", "crates", "amdgpu-abi", "include", "agpu.h"), String)
    sizes = Dict{String,Tuple{Int,Int}}(
        "uint8_t" => (1, 1),
        "uint16_t" => (2, 2),
        "int32_t" => (4, 4),
        "uint32_t" => (4, 4),
        "float" => (4, 4),
        "int64_t" => (8, 8),
        "uint64_t" => (8, 8),
        "double" => (8, 8),
    )
    layouts = Dict{String,String}()
    code = replace(header, r"/\*.*?\*/"s => "")
    for definition in eachmatch(r"typedef struct \{(.*?)\} (\w+);"s, code)
        offset, largest, row = 0, 1, IOBuffer()
        for field in eachmatch(r"(?:const )?(\w+)\s+(\*?)(\w+);", definition.captures[1])
            type, star, name = field.captures
            size, alignment = star == "*" || endswith(type, "_fn") ? (8, 8) : sizes[type]
            offset = cld(offset, alignment) * alignment
            print(row, " ", name, "@", offset)
            offset += size
            largest = max(largest, alignment)
        end
        total = cld(offset, largest) * largest
        name = definition.captures[2]
        sizes[name] = (total, largest)
        layouts[name] = string(name, " size=", total, String(take!(row)))
    end
    return layouts
end

@testset "layout manifest agrees with agpu.h" begin
    layouts = header_layouts()
    rows = split(strip(F.layout_manifest()), '\n')
    @test length(rows) == length(layouts) >= 12
    for row in rows
        @test row == get(layouts, String(first(split(row))), "not in agpu.h")
    end
end
