//! The text of attention and its gradients: a work-item for each query, and of gradients by keys and values for each key. No scores are in memory:
//! their largest and the sum of their powers so far stand beside what is summed (Milakov and Gimelshein 2018; Dao et al. 2022).

use amdgpu_abi::Dtype;

use super::loss::computed;
use super::source;

/// Elements of a query and of a value together at most: a work-item holds them, and as many sums.
pub const SIZE_LIMIT: i64 = 512;

/// What the texts depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttentionKernel {
    pub x: Dtype,
    /// Elements of a query, and of a value.
    pub size: i64,
    pub value_size: i64,
    /// Truth values, or the dtype of addends.
    pub mask: Option<Dtype>,
    pub is_mask_dense: bool,
    /// Axes of the mask in front of queries and keys.
    pub mask_rank: usize,
    pub is_causal: bool,
}

const FORWARD: &str = r"
    OWN(own, q, item * SIZE, SIZE, scale);
    C sums[VALUE_SIZE];
    for (int e = 0; e < VALUE_SIZE; e++) sums[e] = 0;
    C largest = -INFINITY, total = 0;
    const unsigned long long end = VISIBLE_KEYS;
    for (unsigned long long key = 0; key < end; key++) {
        SCORE(own, k, (first + key) * SIZE);
        if (score == -INFINITY) continue;
        if (score > largest || score != score) {
            const C factor = largest == -INFINITY ? (C)0 : F(exp)(largest - score);
            total *= factor;
            for (int e = 0; e < VALUE_SIZE; e++) sums[e] *= factor;
            largest = score;
        }
        const C power = F(exp)(score - largest);
        total += power;
        for (int e = 0; e < VALUE_SIZE; e++) sums[e] += power * (C)v[(first + key) * VALUE_SIZE + e];
    }
    // Who sees no key gets nothing.
    const C inverse = total == 0 ? (C)0 : (C)1 / total;
    for (int e = 0; e < VALUE_SIZE; e++) out[item * VALUE_SIZE + e] = (X)(sums[e] * inverse);
";

const BY_QUERIES: &str = r"
    OWN(own, q, item * SIZE, SIZE, scale);
    OWN(given, gradient, item * VALUE_SIZE, VALUE_SIZE, (C)1);
    C largest = -INFINITY, total = 0, level = 0;
    const unsigned long long end = VISIBLE_KEYS;
    for (unsigned long long key = 0; key < end; key++) {
        SCORE(own, k, (first + key) * SIZE);
        if (score == -INFINITY) continue;
        if (score > largest || score != score) {
            const C factor = largest == -INFINITY ? (C)0 : F(exp)(largest - score);
            total *= factor;
            level *= factor;
            largest = score;
        }
        const C power = F(exp)(score - largest);
        DOT(slope, given, v, (first + key) * VALUE_SIZE, VALUE_SIZE);
        total += power;
        level += power * slope;
    }
    const C logarithm = total == 0 ? (C)INFINITY : largest + F(log)(total);
    level = total == 0 ? (C)0 : level / total;
    logarithms[item] = logarithm;
    levels[item] = level;
    C sums[SIZE];
    for (int e = 0; e < SIZE; e++) sums[e] = 0;
    for (unsigned long long key = 0; key < end; key++) {
        SCORE(own, k, (first + key) * SIZE);
        const C share = F(exp)(score - logarithm);
        if (share == 0) continue;
        DOT(slope, given, v, (first + key) * VALUE_SIZE, VALUE_SIZE);
        const C by_score = share * (slope - level);
        for (int e = 0; e < SIZE; e++) sums[e] += by_score * (C)k[(first + key) * SIZE + e];
    }
    for (int e = 0; e < SIZE; e++) by_q[item * SIZE + e] = (X)(sums[e] * scale);
";

const BY_KEYS: &str = r"
    OWN(own, k, item * SIZE, SIZE, scale);
    OWN(own_value, v, item * VALUE_SIZE, VALUE_SIZE, (C)1);
    C sums[SIZE], value_sums[VALUE_SIZE];
    for (int e = 0; e < SIZE; e++) sums[e] = 0;
    for (int e = 0; e < VALUE_SIZE; e++) value_sums[e] = 0;
    const unsigned long long key_head = item / keys, key = item % keys;
    for (unsigned long long head = key_head * group; head < (key_head + 1) * group; head++) {
        MASK_OF_HEAD;
        // Queries before this key do not see it.
        for (unsigned long long query = IS_CAUSAL ? key : 0; query < queries; query++) {
            const unsigned long long row = head * queries + query;
            SCORE(own, q, row * SIZE);
            const C share = F(exp)(score - logarithms[row]);
            if (share == 0) continue;
            DOT(slope, own_value, gradient, row * VALUE_SIZE, VALUE_SIZE);
            const C by_score = share * (slope - levels[row]);
            for (int e = 0; e < SIZE; e++) sums[e] += by_score * (C)q[row * SIZE + e];
            for (int e = 0; e < VALUE_SIZE; e++) value_sums[e] += share * (C)gradient[row * VALUE_SIZE + e];
        }
    }
    for (int e = 0; e < SIZE; e++) by_k[item * SIZE + e] = (X)(sums[e] * scale);
    for (int e = 0; e < VALUE_SIZE; e++) by_v[item * VALUE_SIZE + e] = (X)value_sums[e];
";

impl AttentionKernel {
    /// The kernel `attention`.
    #[must_use]
    pub fn forward(&self) -> String {
        self.text(
            "attention",
            "const X* q, const X* k, const X* v, X* out",
            &of_queries(FORWARD),
        )
    }

    /// The kernel `attention_by_queries`: logarithms of the sums of powers, sums of shares times their gradients, and the gradient by the queries.
    #[must_use]
    pub fn by_queries(&self) -> String {
        let parameters = "const X* q, const X* k, const X* v, const X* gradient, C* logarithms, C* levels, X* by_q";
        self.text("attention_by_queries", parameters, &of_queries(BY_QUERIES))
    }

    /// The kernel `attention_by_keys`: the gradients by keys and values.
    #[must_use]
    pub fn by_keys(&self) -> String {
        let parameters = "const X* q, const X* k, const X* v, const X* gradient, const C* logarithms, const C* levels, X* by_k, X* by_v";
        self.text("attention_by_keys", parameters, BY_KEYS)
    }

    fn text(&self, name: &str, parameters: &str, body: &str) -> String {
        let computed = computed(self.x);
        let mut types = source::types(&[("X", self.x), ("C", computed)]);
        types += source::functions(computed);
        let (mut mask_parameters, mut setup, mut walk) =
            (String::new(), String::new(), String::new());
        let mut masked = "";
        if let Some(mask) = self.mask {
            types += &source::types(&[("M", mask)]);
            let (parameter, pointer) =
                source::pointer_parameter(self.is_mask_dense, "M", "mask", false);
            mask_parameters = format!(
                ", {parameter}, long long mask_row, long long mask_step{}",
                source::walk_parameters("m", self.mask_rank, 1)
            );
            setup = pointer;
            walk = source::walk(
                "m",
                self.mask_rank,
                &["mask_at"],
                "head",
                "unsigned long long",
            );
            walk = walk.replace('\n', " ");
            masked = if mask == Dtype::BOOL {
                "if (!mask[mask_at + (long long)query * mask_row + (long long)key * mask_step]) score = -INFINITY;"
            } else {
                "score += (C)mask[mask_at + (long long)query * mask_row + (long long)key * mask_step];"
            };
        }
        format!(
            r#"{types}
#define SIZE {size}
#define VALUE_SIZE {value_size}
#define IS_CAUSAL {is_causal}
#define VISIBLE_KEYS (IS_CAUSAL && query + 1 < keys ? query + 1 : keys)
#define MASK_OF_HEAD long long mask_at = 0; {walk}
// Elements of a row of the work-item's own.
#define OWN(name, from, at, count, factor) C name[count]; for (int e = 0; e < count; e++) name[e] = (C)from[(at) + e] * factor
#define DOT(name, own, other, at, count) C name = 0; for (int e = 0; e < count; e++) name += own[e] * (C)other[(at) + e]
#define SCORE(own, other, at) DOT(score, own, other, at, SIZE); {masked}

extern "C" __global__ void {name}({parameters}, double given_scale, unsigned long long queries, unsigned long long keys,
                                  unsigned long long group, unsigned long long count{mask_parameters}) {{
    const unsigned long long item = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= count) return;
    const C scale = (C)given_scale;
{setup}{body}}}
"#,
            size = self.size,
            value_size = self.value_size,
            is_causal = i32::from(self.is_causal),
        )
    }
}

/// The statements of a work-item for a query.
fn of_queries(body: &str) -> String {
    format!(
        r"
    const unsigned long long head = item / queries, query = item % queries, first = head / group * keys;
    MASK_OF_HEAD;
{body}"
    )
}
