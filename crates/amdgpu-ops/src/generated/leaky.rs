//! The text of leaky integrators and leaky integrate-and-fire neurons through time: a work-item for each neuron of each sample.
//!
//! Products have names, so that they are not fused with the sums: the bits are those of the CPU's loops.

const FORWARD: &str = r#"
extern "C" __global__ void leaky(float* sums, float* values, float decay, unsigned int steps, unsigned int size, unsigned long long count) {
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned long long place = i / size * steps * size + i % size;
    float potential = 0.0f, value = 0.0f;
    for (unsigned int step = 0; step < steps; ++step, place += size) {
        float now = sums[place];
        if (step) {
            const float left = IS_SPIKING ? potential - value : potential;
            const float kept = decay * left;
            now = now + kept;
        }
        potential = now;
        value = IS_SPIKING ? (now > 1.0f ? 1.0f : 0.0f) : now;
        sums[place] = potential;
        values[place] = value;
    }
}
"#;

const BACKWARD: &str = r#"
extern "C" __global__ void leaky_gradient(const float* potentials, float* delta, float decay, float slope, unsigned int steps,
                                          unsigned int size, unsigned long long count) {
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned long long place = i / size * steps * size + i % size + (unsigned long long)(steps - 1) * size;
    float later = 0.0f;
    for (unsigned int step = steps; step > 0; --step, place -= size) {
        float own = delta[place];
        if (IS_SPIKING) {
            const float steep = slope * fabsf(potentials[place] - 1.0f);
            const float root = 1.0f + steep;
            const float square = root * root;
            const float share = 1.0f / square;
            const float passed = own * share;
            const float kept = later * decay * (1.0f - share);
            own = passed + kept;
        } else if (step < steps) {
            const float kept = decay * later;
            own = own + kept;
        }
        later = own;
        delta[place] = own;
    }
}
"#;

/// The kernel `leaky`: values and potentials of every step from what arrives.
#[must_use]
pub fn forward_source(is_spiking: bool) -> String {
    format!("#define IS_SPIKING {}\n{FORWARD}", i32::from(is_spiking))
}

/// The kernel `leaky_gradient`: the gradient by what arrives from the one by the values, in place.
#[must_use]
pub fn backward_source(is_spiking: bool) -> String {
    format!("#define IS_SPIKING {}\n{BACKWARD}", i32::from(is_spiking))
}
