// What the engine itself does on a GPU: random spikes, lists of spikes, delivery. Integer additions in any order give the same sums as the CPU.

// Philox4x32-10 (Salmon et al. 2011), as crates/amdgpu-neuro/src/philox.rs: word `index % 4` of block `index / 4`.
__device__ inline unsigned int random_word(unsigned long long seed, unsigned int object, unsigned int step, unsigned int index)
{
    unsigned int a = index / 4, b = 0, c = object, d = step;
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
    unsigned int place = index % 4;
    return place == 0 ? a : place == 1 ? b : place == 2 ? c : d;
}

// A spike where a random word is below the neuron's chance; `chances` has one entry for all, or one each.
extern "C" __global__ void agpu_poisson_source(unsigned int count, unsigned char* fired, const unsigned long long* chances, unsigned int each,
    unsigned long long seed, unsigned int object, unsigned long long step)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned int word = random_word(seed, object, (unsigned int)step, i);
    fired[i] = word < chances[each ? i : 0] ? 1 : 0;
}

// Spikes `begin` to `end` of a sorted list happen in this step.
extern "C" __global__ void agpu_listed_source(unsigned char* fired, const unsigned int* indices, unsigned int begin, unsigned int end)
{
    unsigned int k = begin + blockIdx.x * blockDim.x + threadIdx.x;
    if (k < end) fired[indices[k]] = 1;
}

// A Poisson number of events for each neuron: as many as thresholds that its random word reaches.
extern "C" __global__ void agpu_poisson_drive(unsigned int count, int* row, const unsigned int* table, unsigned int entries, int quanta,
    unsigned long long seed, unsigned int object, unsigned long long step)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned int word = random_word(seed, object, (unsigned int)step, i);
    unsigned int low = 0, high = entries;
    while (low < high) {
        unsigned int middle = (low + high) / 2;
        if (word >= table[middle]) low = middle + 1;
        else high = middle;
    }
    if (low) row[i] += (int)low * quanta;
}

// The spikes of a step as a list for deliveries, and behind one another in the log of the turn.
extern "C" __global__ void agpu_list_spikes(unsigned int count, const unsigned char* fired, unsigned int* list, unsigned int* list_count,
    unsigned int* log_indices, unsigned int* log_steps, unsigned int* log_count, unsigned int step_in_turn)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count || !fired[i]) return;
    list[atomicAdd(list_count, 1u)] = i;
    unsigned int place = atomicAdd(log_count, 1u);
    log_indices[place] = i;
    log_steps[place] = step_in_turn;
}

// Adds the weights of the spikes of a step to the rows they reach. `weights` or `delays` is null where all synapses share one.
extern "C" __global__ void agpu_deliver(const unsigned int* list, const unsigned int* list_count, unsigned int first, unsigned int size,
    const unsigned long long* row_starts, const unsigned int* columns, const int* weights, int weight, const unsigned int* delays, unsigned int delay,
    int* ring, unsigned int slots, unsigned int stride, unsigned int target_first, unsigned long long step)
{
    unsigned int spikes = *list_count;
    for (unsigned int k = blockIdx.x; k < spikes; k += gridDim.x) {
        unsigned int source = list[k] - first;
        if (source >= size) continue;
        for (unsigned long long s = row_starts[source] + threadIdx.x; s < row_starts[source + 1]; s += blockDim.x) {
            unsigned int late = delays ? delays[s] : delay;
            unsigned int slot = (unsigned int)((step + 1 + late) % slots);
            atomicAdd(&ring[(unsigned long long)slot * stride + target_first + columns[s]], weights ? weights[s] : weight);
        }
    }
}

// Spikes of one end of a projection with state, as late as its delay: `line` keeps the flags of `slots` steps.
extern "C" __global__ void agpu_collect(unsigned int count, const unsigned char* fired, unsigned int first, unsigned char* line, unsigned int slots,
    unsigned long long step, unsigned char* flags, unsigned int* list, unsigned int* list_count)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    line[(step % slots) * count + i] = fired[first + i];
    unsigned char arrives = line[((step + 1) % slots) * count + i];
    flags[i] = arrives;
    if (arrives) list[atomicAdd(list_count, 1u)] = i;
}
