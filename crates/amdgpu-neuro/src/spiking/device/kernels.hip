// What the engine itself does on a GPU: random spikes, lists of spikes, delivery. Integer additions in any order give the same sums as the CPU.

// Philox4x32-10 (Salmon et al. 2011), as crates/amdgpu-neuro/src/philox.rs: word `index % 4` of block `index / 4`.
struct Words {
    unsigned int a, b, c, d;
};

__device__ inline Words random_block(unsigned long long seed, unsigned int a, unsigned int b, unsigned int c, unsigned int d)
{
    unsigned int key_0 = (unsigned int)seed, key_1 = (unsigned int)(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        unsigned long long first = (unsigned long long)a * 0xD2511F53u;
        unsigned long long second = (unsigned long long)c * 0xCD9E8D57u;
        unsigned int next_a = (unsigned int)(second >> 32) ^ b ^ key_0;
        unsigned int next_c = (unsigned int)(first >> 32) ^ d ^ key_1;
        b = (unsigned int)second;
        d = (unsigned int)first;
        a = next_a;
        c = next_c;
        key_0 += 0x9E3779B9u;
        key_1 += 0xBB67AE85u;
    }
    Words words;
    words.a = a;
    words.b = b;
    words.c = c;
    words.d = d;
    return words;
}

__device__ inline unsigned int random_word(unsigned long long seed, unsigned int object, unsigned int step, unsigned int index)
{
    Words words = random_block(seed, index / 4, 0, object, step);
    unsigned int place = index % 4;
    return place == 0 ? words.a : place == 1 ? words.b : place == 2 ? words.c : words.d;
}

// Kernels learn the step from `clock`, so that launches of every step are the same: entry 0 is the step until its spikes are listed, entry 1
// the step of the spikes listed last, entry 2 the first step of the interval. The list of a step has its number in one of two counters, by intervals,
// so that one is cleared while nobody reads it.

// A source that spikes at random: `chances` has one entry for all, or one each.
struct PoissonSource {
    unsigned char* fired;
    const unsigned long long* chances;
    unsigned long long seed;
    unsigned int object, each, size, unused;
};

extern "C" __global__ void agpu_poisson_sources(const PoissonSource* sources, const unsigned long long* clock)
{
    PoissonSource source = sources[blockIdx.y];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= source.size) return;
    unsigned int word = random_word(source.seed, source.object, (unsigned int)clock[0], i);
    source.fired[i] = word < source.chances[source.each ? i : 0] ? 1 : 0;
}

// A source of listed spikes, sorted by step. One block takes back the spikes of the step before, then gives those of this one.
struct ListedSource {
    unsigned char* fired;
    const unsigned long long* steps;
    const unsigned int* indices;
    unsigned long long count;
};

__device__ inline unsigned long long first_of_step(const ListedSource& source, unsigned long long step)
{
    unsigned long long low = 0, high = source.count;
    while (low < high) {
        unsigned long long middle = (low + high) / 2;
        if (source.steps[middle] < step) low = middle + 1;
        else high = middle;
    }
    return low;
}

extern "C" __global__ void agpu_listed_sources(const ListedSource* sources, const unsigned long long* clock)
{
    const ListedSource source = sources[blockIdx.x];
    unsigned long long step = clock[0];
    unsigned long long begin = first_of_step(source, step), end = first_of_step(source, step + 1);
    unsigned long long before = step ? first_of_step(source, step - 1) : begin;
    for (unsigned long long k = before + threadIdx.x; k < begin; k += blockDim.x) source.fired[source.indices[k]] = 0;
    __syncthreads();
    for (unsigned long long k = begin + threadIdx.x; k < end; k += blockDim.x) source.fired[source.indices[k]] = 1;
}

// A Poisson number of events for each neuron of a range: as many as thresholds that its random word reaches.
struct Drive {
    int* ring;
    const unsigned int* table;
    unsigned long long seed;
    unsigned int object, entries, size, first, slots, stride;
    int units;
    unsigned int unused;
};

extern "C" __global__ void agpu_poisson_drives(const Drive* drives, const unsigned long long* clock)
{
    Drive drive = drives[blockIdx.y];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= drive.size) return;
    unsigned long long step = clock[0];
    unsigned int word = random_word(drive.seed, drive.object, (unsigned int)step, i);
    unsigned int low = 0, high = drive.entries;
    while (low < high) {
        unsigned int middle = (low + high) / 2;
        if (word >= drive.table[middle]) low = middle + 1;
        else high = middle;
    }
    // Several drives may act on one neuron.
    if (low) atomicAdd(&drive.ring[(step % drive.slots) * drive.stride + drive.first + i], (int)low * drive.units);
}

// Neurons of a group or source.
struct Origin {
    unsigned char* fired;
    unsigned int* list;
    unsigned int* list_counts;
    unsigned int* log_indices;
    unsigned int* log_steps;
    unsigned int* log_count;
    unsigned int size, unused;
};

// The spikes of a step as a list for deliveries, and behind one another in the log of the interval. `cleared` are counters of later kernels.
extern "C" __global__ void agpu_list_spikes(const Origin* origins, unsigned long long* clock, unsigned int* const* cleared, unsigned int cleared_count)
{
    Origin origin = origins[blockIdx.y];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long step = clock[0];
    unsigned int now = (unsigned int)step & 1;
    if (i == 0) origin.list_counts[1 - now] = 0;
    if (blockIdx.y == 0) {
        if (i == 0) clock[1] = step;
        for (unsigned int k = i; k < cleared_count; k += gridDim.x * blockDim.x) *cleared[k] = 0;
    }
    if (i >= origin.size || !origin.fired[i]) return;
    origin.list[atomicAdd(&origin.list_counts[now], 1u)] = i;
    unsigned int place = atomicAdd(origin.log_count, 1u);
    origin.log_indices[place] = i;
    origin.log_steps[place] = (unsigned int)(step - clock[2]);
}

// Ends a step.
__device__ inline void tick(unsigned long long* clock)
{
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) clock[0] = clock[1] + 1;
}

extern "C" __global__ void agpu_tick(unsigned long long* clock)
{
    tick(clock);
}

// A projection without variables. `weights` or `delays` is null where all synapses share one.
struct Delivery {
    const unsigned int* list;
    const unsigned int* list_counts;
    // Plain rows: their first synapses. Gap-coded ones: their first bytes.
    const unsigned long long* row_starts;
    const unsigned int* columns;
    const unsigned char* skip;
    const unsigned int* marks;
    const unsigned int* thresholds;
    const int* weights;
    const unsigned int* delays;
    int* ring;
    unsigned long long seed;
    int weight;
    unsigned int delay, first, size, slots, stride, target_first, targets;
    unsigned int threshold_count, piece, object, skips_self;
    float per_octave;
    unsigned int unused;
};

__device__ inline int* arrival_row(const Delivery& one, unsigned long long step, unsigned int delay_steps)
{
    unsigned int slot = (unsigned int)((step + 1 + delay_steps) % one.slots);
    return one.ring + (unsigned long long)slot * one.stride + one.target_first;
}

// A block takes a spike's row.
extern "C" __global__ void agpu_deliver_rows(const Delivery* deliveries, unsigned long long* clock, unsigned int ticks)
{
    const Delivery one = deliveries[blockIdx.y];
    unsigned long long step = clock[1];
    unsigned int spikes = one.list_counts[step & 1];
    for (unsigned int k = blockIdx.x; k < spikes; k += gridDim.x) {
        unsigned int source = one.list[k] - one.first;
        if (source >= one.size) continue;
        unsigned long long end = one.row_starts[source + 1];
        if (one.delays) {
            for (unsigned long long s = one.row_starts[source] + threadIdx.x; s < end; s += blockDim.x) {
                atomicAdd(&arrival_row(one, step, one.delays[s])[one.columns[s]], one.weights ? one.weights[s] : one.weight);
            }
        } else {
            int* row = arrival_row(one, step, one.delay);
            for (unsigned long long s = one.row_starts[source] + threadIdx.x; s < end; s += blockDim.x) {
                atomicAdd(&row[one.columns[s]], one.weights ? one.weights[s] : one.weight);
            }
        }
    }
    if (ticks) tick(clock);
}

// A block takes a spike's row, a thread MARK_BYTES of it, whose first distance counts from the mark before them.
#define MARK_BYTES 128
extern "C" __global__ void agpu_deliver_gaps(const Delivery* deliveries, unsigned long long* clock, unsigned int ticks)
{
    const Delivery one = deliveries[blockIdx.y];
    unsigned long long step = clock[1];
    unsigned int spikes = one.list_counts[step & 1];
    int* row = arrival_row(one, step, one.delay);
    for (unsigned int k = blockIdx.x; k < spikes; k += gridDim.x) {
        unsigned int source = one.list[k] - one.first;
        if (source >= one.size) continue;
        unsigned long long begin = one.row_starts[source], end = one.row_starts[source + 1];
        const unsigned int* marks = one.marks + begin / MARK_BYTES + source;
        for (unsigned long long part = begin + threadIdx.x * MARK_BYTES; part < end; part += blockDim.x * MARK_BYTES) {
            unsigned int target = marks[(part - begin) / MARK_BYTES];
            unsigned long long stop = part + MARK_BYTES < end ? part + MARK_BYTES : end;
            for (unsigned long long place = part; place < stop; ++place) {
                unsigned int gap = one.skip[place];
                target += gap;
                if (gap != 255) atomicAdd(&row[target], one.weight);
            }
        }
    }
    if (ticks) tick(clock);
}

// Where the search for a distance begins: about 32 less the binary logarithm, as crates/amdgpu-neuro/src/spiking/skip.rs.
__device__ inline float octaves_below(unsigned int word)
{
    unsigned int bits = __float_as_uint((float)(word | 1u));
    float exponent = (float)(bits >> 23) - 127.0f;
    float mantissa = __uint_as_float((bits & 0x007fffffu) | 0x3f800000u);
    float logarithm = -0.07844068f;
    logarithm = logarithm * mantissa + 0.6260322f;
    logarithm = logarithm * mantissa + -2.0783352f;
    logarithm = logarithm * mantissa + 4.0292114f;
    logarithm = logarithm * mantissa + -2.4983532f;
    float octaves = 32.0f - exponent - logarithm;
    return octaves > 0.0f ? octaves : 0.0f;
}

// The distance that a random word stands for: how many thresholds, which descend, it is below.
__device__ inline unsigned int distance(const unsigned int* thresholds, unsigned int count, float per_octave, unsigned int word)
{
    unsigned int gap = (unsigned int)(octaves_below(word) * per_octave);
    if (gap > count) gap = count;
    while (gap < count && word < thresholds[gap]) ++gap;
    while (gap > 0 && word >= thresholds[gap - 1]) --gap;
    return gap;
}

// Rows that are made anew for each spike: a thread takes a piece of one.
extern "C" __global__ void agpu_deliver_drawn(const Delivery* deliveries, unsigned long long* clock, unsigned int ticks)
{
    const Delivery one = deliveries[blockIdx.y];
    unsigned long long step = clock[1];
    unsigned int spikes = one.list_counts[step & 1];
    unsigned int pieces = (one.targets + one.piece - 1) / one.piece;
    int* row = arrival_row(one, step, one.delay);
    unsigned long long work = (unsigned long long)spikes * pieces;
    for (unsigned long long item = blockIdx.x * blockDim.x + threadIdx.x; item < work; item += (unsigned long long)gridDim.x * blockDim.x) {
        unsigned int source = one.list[item / pieces] - one.first;
        if (source >= one.size) continue;
        unsigned int position = (unsigned int)(item % pieces) * one.piece;
        unsigned int end = one.targets - position < one.piece ? one.targets : position + one.piece;
        unsigned int block = position / 2;
        while (position < end) {
            Words words = random_block(one.seed, block, source, one.object, 0);
            ++block;
            for (int place = 0; place < 4; ++place) {
                unsigned int word = place == 0 ? words.a : place == 1 ? words.b : place == 2 ? words.c : words.d;
                position += distance(one.thresholds, one.threshold_count, one.per_octave, word);
                if (position >= end) break;
                if (!one.skips_self || position != source) atomicAdd(&row[position], one.weight);
                ++position;
            }
        }
    }
    if (ticks) tick(clock);
}

// Spikes of one end of a projection with state, after its delay: `line` keeps the flags of `slots` steps.
struct End {
    const unsigned char* fired;
    unsigned char* line;
    unsigned char* flags;
    unsigned int* list;
    unsigned int* list_count;
    unsigned int count, first, slots, unused;
};

extern "C" __global__ void agpu_collect(const End* ends, const unsigned long long* clock)
{
    const End end = ends[blockIdx.y];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= end.count) return;
    unsigned long long step = clock[1];
    end.line[(step % end.slots) * end.count + i] = end.fired[end.first + i];
    unsigned char arrives = end.line[((step + 1) % end.slots) * end.count + i];
    end.flags[i] = arrives;
    if (arrives) end.list[atomicAdd(end.list_count, 1u)] = i;
}
