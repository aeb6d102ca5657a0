//! The text of attention and its gradients: a work-item for each query, and of gradients by keys and values for each key. No scores are in memory:
//! their largest and the sum of their powers so far stand beside what is summed (Milakov and Gimelshein 2018; Dao et al. 2022). And the text of
//! what stands between products that make scores and take shares: some work-items for each row of scores.

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

/// What a row of scores is made of in both kernels: `kept` has the powers of a lane, `inverse` is one over the sum of those of the row.
const POWERS: &str = r"
    __shared__ C waves[ROWS * LANES / 32];
    C* const own_waves = waves + ROW * (LANES / 32);
    const unsigned long long number = (unsigned long long)blockIdx.x * ROWS + ROW, row = first + number;
    const unsigned long long head = row / queries, query = row % queries;
    MASK_OF_HEAD;
    const unsigned long long width = number < count ? keys : 0, end = number < count ? VISIBLE_KEYS : 0, place = number * keys;
    const auto score_of = [&](unsigned long long key) {
        C score = scores[place + key] * scale;
        MASKED
        return score;
    };
    C kept[KEPT];
    C most = -INFINITY;
    EACH_KEPT {
        const unsigned long long key = LANE + j * LANES;
        kept[j] = key < end ? score_of(key) : -INFINITY;
        most = larger(most, kept[j]);
    }
    for (unsigned long long key = LANE + KEPT * LANES; key < end; key += LANES) most = larger(most, score_of(key));
    most = over_lanes(most, own_waves, larger);
    // Who sees no key has no shares.
    if (most == -INFINITY) most = 0;
    C total = 0;
    EACH_KEPT {
        kept[j] = F(exp)(kept[j] - most);
        total += kept[j];
    }
    for (unsigned long long key = LANE + KEPT * LANES; key < end; key += LANES) total += F(exp)(score_of(key) - most);
    total = over_lanes(total, own_waves, plus);
    const C inverse = total == 0 ? (C)0 : (C)1 / total;
";

const SHARES: &str = r"
    EACH_KEPT {
        const unsigned long long key = LANE + j * LANES;
        if (key < width) shares[place + key] = (X)(kept[j] * inverse);
    }
    for (unsigned long long key = LANE + KEPT * LANES; key < width; key += LANES)
        shares[place + key] = (X)(key < end ? F(exp)(score_of(key) - most) * inverse : (C)0);
";

const SHARE_GRADIENTS: &str = r"
    C level = 0;
    EACH_KEPT {
        const unsigned long long key = LANE + j * LANES;
        kept[j] *= inverse;
        if (key < end && kept[j] != 0) level += kept[j] * slopes[place + key];
    }
    for (unsigned long long key = LANE + KEPT * LANES; key < end; key += LANES)
        level += F(exp)(score_of(key) - most) * inverse * slopes[place + key];
    level = over_lanes(level, own_waves, plus);
    EACH_KEPT {
        const unsigned long long key = LANE + j * LANES;
        if (key < width) {
            const C share = kept[j], slope = slopes[place + key];
            shares[place + key] = (X)share;
            by_scores[place + key] = (X)(share == 0 ? (C)0 : share * (slope - level) * scale);
        }
    }
    for (unsigned long long key = LANE + KEPT * LANES; key < width; key += LANES) {
        const C share = key < end ? F(exp)(score_of(key) - most) * inverse : (C)0, slope = slopes[place + key];
        shares[place + key] = (X)share;
        by_scores[place + key] = (X)(share == 0 ? (C)0 : share * (slope - level) * scale);
    }
";

/// How the rows of scores are taken: work-items of a row, and values that each keeps in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowForm {
    pub lanes: i64,
    pub kept: i64,
}

impl RowForm {
    /// For rows of so many scores: a wave as long as registers hold the row, then more of them. What is behind the kept values is computed again.
    #[must_use]
    pub fn of(keys: i64) -> Self {
        let lanes = match keys {
            ..=512 => 32,
            513..=2048 => 128,
            _ => source::BLOCK,
        };
        let kept = [1, 2, 4, 8].into_iter().find(|kept| kept * lanes >= keys);
        Self {
            lanes,
            kept: kept.unwrap_or(16),
        }
    }

    /// Rows of a block.
    #[must_use]
    pub fn rows(&self) -> i64 {
        source::BLOCK / self.lanes
    }
}

impl AttentionKernel {
    /// The kernel `attention_shares`: the softmax of rows of scores.
    #[must_use]
    pub fn shares(&self, form: RowForm) -> String {
        let parameters = "const C* scores, X* shares";
        let body = format!("{POWERS}{SHARES}");
        self.of_rows("attention_shares", parameters, &body, form)
    }

    /// The kernel `attention_share_gradients`: the softmax of rows of scores, and the gradient by the products of queries and keys behind them.
    /// Results may lie where the scores and slopes do.
    #[must_use]
    pub fn share_gradients(&self, form: RowForm) -> String {
        let parameters = "const C* scores, const C* slopes, X* shares, X* by_scores";
        let body = format!("{POWERS}{SHARE_GRADIENTS}");
        self.of_rows("attention_share_gradients", parameters, &body, form)
    }

    fn of_rows(&self, name: &str, parameters: &str, body: &str, form: RowForm) -> String {
        let (masked, text) = self.parts();
        format!(
            r#"{types}
#define LANES {lanes}
#define ROWS {rows}
#define LANE threadIdx.x
#define ROW threadIdx.y
#define KEPT {kept}
#define EACH_KEPT _Pragma("unroll") for (int j = 0; j < KEPT; j++)
#define MASKED {masked}
{macros}
{over_lanes}
extern "C" __global__ void {name}({parameters}, double given_scale, unsigned long long queries, unsigned long long keys,
                                  unsigned long long first, unsigned long long count{mask_parameters}) {{
    const C scale = (C)given_scale;
    const auto larger = [](C a, C b) {{ return a != a ? a : b != b ? b : a >= b ? a : b; }};
    const auto plus = [](C a, C b) {{ return a + b; }};
{setup}{body}}}
"#,
            types = text.types,
            macros = text.macros,
            mask_parameters = text.mask_parameters,
            setup = text.setup,
            lanes = form.lanes,
            rows = form.rows(),
            kept = form.kept,
            over_lanes = source::OVER_LANES,
        )
    }

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
        let (masked, text) = self.parts();
        format!(
            r#"{types}{macros}
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
            types = text.types,
            macros = text.macros,
            mask_parameters = text.mask_parameters,
            setup = text.setup,
        )
    }

    /// The statement that masks a score, and what kernels share.
    fn parts(&self) -> (&'static str, Parts) {
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
        let macros = format!(
            "
#define SIZE {size}
#define VALUE_SIZE {value_size}
#define IS_CAUSAL {is_causal}
#define VISIBLE_KEYS (IS_CAUSAL && query + 1 < keys ? query + 1 : keys)
#define MASK_OF_HEAD long long mask_at = 0; {walk}",
            size = self.size,
            value_size = self.value_size,
            is_causal = i32::from(self.is_causal),
        );
        let parts = Parts {
            types,
            macros,
            mask_parameters,
            setup,
        };
        (masked, parts)
    }
}

/// What all kernels of a call begin with.
struct Parts {
    types: String,
    macros: String,
    mask_parameters: String,
    /// The statement that makes a pointer of the mask's address.
    setup: String,
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
