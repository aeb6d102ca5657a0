//! The text of kernels that fold: one that reads values, one that reads what the first left of each chunk.

use std::borrow::Cow;

use amdgpu_abi::Dtype;

use super::source;
use crate::kernel_form::KernelForm;

/// Bytes that a lane of rows has asked for before it folds the first value: memory answers late, and a block that waits for each value
/// reaches half of its speed. 2,048 work-items of 16 bytes each on every unit of an H200 are what its bandwidth times its latency asks for.
const AHEAD_BYTES: usize = 16;
/// Shared memory of a block, so that units hold several: AMD's have 64 KB.
const SHARED_BYTES: i64 = 32 << 10;
/// The same in groups of 16 bytes, most of which the tree hides from half of the work-items.
const GROUPS_AHEAD: i64 = 2;
/// Values that a lane of columns, or of states, has asked for.
pub const COLUMNS_AHEAD: i64 = 4;

/// How values are folded.
#[derive(Clone, Debug)]
pub struct Fold {
    /// Part of the kernel's identity.
    pub name: &'static str,
    /// What is carried.
    pub state: Dtype,
    /// Statements that make `a` a state that changes nothing.
    pub start: Cow<'static, str>,
    /// Statements that make `a` the state of a value `x`, of the type C; `shift` is what the launch gives for the result.
    pub mapped: Cow<'static, str>,
    /// Two states `a` and `b` as one.
    pub joined: Cow<'static, str>,
    /// The result of a state `a` and the divisor `divisor`.
    pub finished: &'static str,
    /// A state has the index of its value, which is the result.
    pub has_indices: bool,
    /// There is an array of float64 with one `shift` for each result.
    pub has_shift: bool,
    /// Fields of a state beside its value, of its type.
    pub more: &'static [&'static str],
    /// A state `a` with a value `x` that comes after all of its own; `None` for `joined` with `mapped`. `shift` is the first value of the
    /// work-item, where `closed` is there.
    pub absorbed: Option<Cow<'static, str>>,
    /// Where a lane carries numbers of its own that are closed before they are joined.
    pub closed: Option<Closed>,
}

/// What a lane carries, and how it becomes a state.
#[derive(Clone, Copy, Debug)]
pub struct Closed {
    pub part: Dtype,
    /// What a lane carries, `a`, of `count` values made a state `b`.
    pub text: &'static str,
}

impl Fold {
    /// Bytes of a state in memory.
    #[must_use]
    pub fn state_bytes(&self) -> i64 {
        if self.has_indices {
            return 16;
        }
        (self.state.size_bytes() * (1 + self.more.len())) as i64
    }
}

/// What the text of a kernel depends on, beside its form.
#[derive(Clone, Copy, Debug)]
pub struct Signature<'a> {
    pub fold: &'a Fold,
    /// Of the values.
    pub x: Dtype,
    /// In which values are mapped.
    pub computed: Dtype,
    pub result: Dtype,
}

/// How work-items share a fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Work-items that fold the same results.
    pub lanes: i64,
    /// Neighbouring results of a work-item, whose values it reads at once.
    pub width: i64,
    /// Neighbours in memory belong to different results.
    pub is_column: bool,
    /// The kernel gives results; else states.
    pub is_last: bool,
    /// Neighbouring values of a row without gaps that a work-item folds one after the other.
    pub group: i64,
    /// It reads them at once.
    pub is_aligned: bool,
    pub launched: KernelForm,
}

impl Form {
    /// Groups of results of a block.
    #[must_use]
    pub fn rows(&self) -> i64 {
        self.launched.block / self.lanes
    }

    /// Shape of a block.
    #[must_use]
    pub fn block(&self) -> [i64; 3] {
        if self.is_column {
            [self.rows(), self.lanes, 1]
        } else {
            [self.lanes, self.rows(), 1]
        }
    }
}

/// How the first kernel walks x: ranks of the kept and the reduced axes, and types of their indices.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    pub is_dense: bool,
    pub kept_rank: usize,
    pub reduced_rank: usize,
    pub outputs_index: &'static str,
    pub length_index: &'static str,
}

/// Steps of a work-item that reads values, before it folds the first: without a measurement.
#[must_use]
pub fn usual_ahead(signature: &Signature<'_>, is_column: bool, group: i64) -> i64 {
    if is_column {
        return COLUMNS_AHEAD;
    }
    if group > 1 {
        return GROUPS_AHEAD;
    }
    ((AHEAD_BYTES / signature.x.size_bytes()) as i64)
        .max(2)
        .min(most_ahead(signature))
}

/// The same at most: beyond four, indices cost registers and time to compile.
#[must_use]
pub fn most_ahead(signature: &Signature<'_>) -> i64 {
    if signature.fold.has_indices { 4 } else { 8 }
}

/// Neighbouring results whose states are folded at once: a part of `Form::width`, which is a power of two.
fn tree_width(fold: &Fold, form: &Form) -> i64 {
    let mut width = form.width;
    while width > 1 && width * form.launched.block * fold.state_bytes() > SHARED_BYTES {
        width /= 2;
    }
    width
}

/// Types, and the functions of a fold.
fn head(signature: &Signature<'_>, form: &Form) -> String {
    let (fold, ahead) = (signature.fold, form.launched.ahead);
    let (row, lane) = if form.is_column {
        ("x", "y")
    } else {
        ("y", "x")
    };
    let mut names = vec!["value"];
    names.extend(fold.more);
    let names = names.join(", ");
    let fields = if fold.has_indices {
        "S value; long long place;".to_owned()
    } else {
        format!("S {names};")
    };
    let shift = match (fold.has_shift, fold.closed) {
        (true, _) => "double shift, ",
        (false, Some(_)) => "C shift, ",
        (false, None) => "",
    };
    let absorbed = fold.absorbed.clone().unwrap_or_else(|| {
        let given = if fold.has_shift { "shift, " } else { "" };
        format!("return joined(a, mapped(x, {given}place));").into()
    });
    let functions = if let Some(closed) = fold.closed {
        // A lane's own numbers may be narrower than what is joined.
        format!(
            "typedef {} L;\nstruct Part {{ L {names}; }};\n__device__ inline State closed(Part a, C shift, S count) {{ State b; {} return b; }}\n",
            source::c_type(closed.part),
            closed.text
        )
    } else {
        format!(
            "typedef State Part;\n__device__ inline State mapped(C x, {shift}long long place) {{ State a; {} return a; }}\n",
            fold.mapped
        )
    };
    let types = source::types(&[
        ("X", signature.x),
        ("C", signature.computed),
        ("R", signature.result),
        ("S", fold.state),
    ]);
    format!(
        "{types}{macros}
#define LANES {lanes}
#define AHEAD {ahead}
#define WIDTH {width}
#define TREE_WIDTH {tree_width}
#define ROWS {rows}
#define ROW threadIdx.{row}
#define LANE threadIdx.{lane}
struct State {{ {fields} }};
struct alignas(sizeof(X) * WIDTH) Values {{ X v[WIDTH]; }};
__device__ inline State nothing() {{ State a; {start} return a; }}
__device__ inline State joined(State a, State b) {{ {joined} }}
{functions}__device__ inline Part absorbed(Part a, C x, {shift}long long place) {{ {absorbed} }}
__device__ inline R finished(State a, double divisor) {{ return (R)({finished}); }}
",
        macros = source::functions(fold.state),
        lanes = form.lanes,
        width = form.width,
        tree_width = tree_width(fold, form),
        rows = form.rows(),
        start = fold.start,
        joined = fold.joined,
        finished = fold.finished,
    )
}

fn tree(form: &Form) -> String {
    let at = if form.is_column {
        "(lane) * ROWS + ROW"
    } else {
        "ROW * LANES + (lane)"
    };
    let store = if form.is_last {
        "out[output + first + j] = finished(AT(0, j), divisor);"
    } else {
        "out[(unsigned long long)part * outputs + output + first + j] = AT(0, j);"
    };
    format!(
        "
    // The rows of shared memory are those of the block, so that neighbours write neighbouring banks.
    __shared__ State states[{block} * TREE_WIDTH];
    #define AT(lane, j) states[(j) * {block} + {at}]
    #pragma unroll
    for (int first = 0; first < WIDTH; first += TREE_WIDTH) {{
        #pragma unroll
        for (int j = 0; j < TREE_WIDTH; ++j) AT(LANE, j) = state[first + j];
        __syncthreads();
        for (int half = LANES / 2; half > 0; half /= 2) {{
            if (LANE < half) {{
                #pragma unroll
                for (int j = 0; j < TREE_WIDTH; ++j) AT(LANE, j) = joined(AT(LANE, j), AT(LANE + half, j));
            }}
            __syncthreads();
        }}
        if (LANE == 0 && output < outputs) {{
            #pragma unroll
            for (int j = 0; j < TREE_WIDTH; ++j) {store}
        }}
        // What was read last is written again.
        if (first + TREE_WIDTH < WIDTH) __syncthreads();
    }}
",
        block = form.launched.block,
    )
}

/// The kernel that reads x.
#[must_use]
pub fn first_source(signature: &Signature<'_>, form: &Form, walk: &Walk) -> String {
    let fold = signature.fold;
    let (parameter, statement) = source::pointer_parameter(walk.is_dense, "X", "x", false);
    let shift_parameter = if fold.has_shift {
        ", const double* shifts"
    } else {
        ""
    };
    let (begun_parts, begun) = if fold.closed.is_some() {
        let walked = source::walk("r", walk.reduced_rank, &["place"], "i", walk.length_index);
        ("Part parts[WIDTH] = {};", first_values(&walked))
    } else {
        let shifts = if fold.has_shift { SHIFTS } else { "" };
        ("Part (&parts)[WIDTH] = state;", shifts.to_owned())
    };
    let has_shift = fold.has_shift || fold.closed.is_some();
    format!(
        r#"{head}
extern "C" __global__ void fold({parameter}, {out}* out{shift_parameter}, unsigned long long outputs,
                                unsigned long long length, unsigned long long chunk,
                                double divisor{kept_parameters}{reduced_parameters},
                                unsigned first_part) {{
{statement}    const unsigned long long output = ((unsigned long long)blockIdx.x * ROWS + ROW) * WIDTH;
    const unsigned part = blockIdx.y + first_part;
    State state[WIDTH];
    #pragma unroll
    for (int j = 0; j < WIDTH; ++j) state[j] = nothing();
    if (output < outputs) {{
        long long row = 0;
{kept_walk}        const unsigned long long begin = part * chunk;
        const unsigned long long end = begin + chunk < length ? begin + chunk : length;
        unsigned long long i = begin + LANE * {group};
        {begun_parts}
{begun}{loops}{closing}    }}
{tree}}}
"#,
        head = head(signature, form),
        out = if form.is_last { "R" } else { "State" },
        kept_parameters = source::walk_parameters("k", walk.kept_rank, 1),
        reduced_parameters = source::walk_parameters("r", walk.reduced_rank, 1),
        kept_walk = source::walk("k", walk.kept_rank, &["row"], "output", walk.outputs_index),
        group = form.group,
        loops = loops(form, walk, has_shift),
        closing = if fold.closed.is_some() {
            closing(form.group)
        } else {
            String::new()
        },
        tree = tree(form),
    )
}

/// Statements by which a work-item folds its values from number `i` on.
fn loops(form: &Form, walk: &Walk, has_shift: bool) -> String {
    if form.group > 1 {
        let load = if form.is_aligned { AT_ONCE } else { EACH };
        return GROUP_LOOPS
            .replace("LOAD", load)
            .replace("GIVEN", if has_shift { "shift[0], " } else { "" })
            .replace("GROUP", &form.group.to_string());
    }
    let given = if has_shift { "shift[j], " } else { "" };
    let walked = |index| source::walk("r", walk.reduced_rank, &["place"], index, walk.length_index);
    format!(
        "        for (; i + (AHEAD - 1) * LANES < end; i += AHEAD * LANES) {{
            Values values[AHEAD];
            #pragma unroll
            for (int step = 0; step < AHEAD; ++step) {{
                const unsigned long long at = i + step * LANES;
                long long place = row;
{walked_at}                values[step] = *(const Values*)(x + place);
            }}
            #pragma unroll
            for (int step = 0; step < AHEAD; ++step) {{
                #pragma unroll
                for (int j = 0; j < WIDTH; ++j)
                    parts[j] = absorbed(parts[j], (C)values[step].v[j], {given}i + step * LANES);
            }}
        }}
        for (; i < end; i += LANES) {{
            long long place = row;
{walked_i}            const Values values = *(const Values*)(x + place);
            #pragma unroll
            for (int j = 0; j < WIDTH; ++j) parts[j] = absorbed(parts[j], (C)values.v[j], {given}i);
        }}
",
        walked_at = walked("at"),
        walked_i = walked("i"),
    )
}

/// Unaligned memory is folded in the same order, value by value.
const EACH: &str = "
                #pragma unroll
                for (int j = 0; j < GROUP; ++j) values[step].v[j] = x[place + j];";
const AT_ONCE: &str = "
                values[step] = *(const Group*)(x + place);";
const GROUP_LOOPS: &str = "        struct alignas(sizeof(X) * GROUP) Group { X v[GROUP]; };
        for (; i + (AHEAD - 1) * LANES * GROUP + GROUP <= end; i += AHEAD * LANES * GROUP) {
            Group values[AHEAD];
            #pragma unroll
            for (int step = 0; step < AHEAD; ++step) {
                const long long place = row + (long long)(i + step * LANES * GROUP);LOAD
            }
            #pragma unroll
            for (int step = 0; step < AHEAD; ++step) {
                #pragma unroll
                for (int j = 0; j < GROUP; ++j)
                    parts[0] = absorbed(parts[0], (C)values[step].v[j], GIVENi + step * LANES * GROUP + j);
            }
        }
        for (; i < end; i += LANES * GROUP)
            for (unsigned long long at = i; at < i + GROUP && at < end; ++at)
                parts[0] = absorbed(parts[0], (C)x[row + (long long)at], GIVENat);
";

const SHIFTS: &str = "
        double shift[WIDTH];
        #pragma unroll
        for (int j = 0; j < WIDTH; ++j) shift[j] = shifts[output + j];
";

/// What a work-item subtracts from its values is one of them: where it is far from the others, their deviations are large as well, and the
/// digits that are lost are none that the result has.
fn first_values(walked: &str) -> String {
    format!(
        "
        C shift[WIDTH];
        #pragma unroll
        for (int j = 0; j < WIDTH; ++j) shift[j] = 0;
        if (i < end) {{
            long long place = row;
{walked}            const Values values = *(const Values*)(x + place);
            #pragma unroll
            for (int j = 0; j < WIDTH; ++j) {{
                shift[j] = (C)values.v[j];
                // A shift of at most 1e30 is lost in the rounding of the largest floats, so that no difference from it overflows.
                if (!(shift[j] > (C)-1e30f && shift[j] < (C)1e30f)) shift[j] = 0;
            }}
        }}
"
    )
}

/// How many values this lane had: whole groups, and the part of one.
fn closing(group: i64) -> String {
    format!(
        "        const unsigned long long span = end > begin ? end - begin : 0, rest = span % (LANES * {group});
        const unsigned long long own = rest < LANE * {group} ? 0 : rest - LANE * {group};
        const S count = (S)(span / (LANES * {group}) * {group} + (own < {group} ? own : {group}));
        #pragma unroll
        for (int j = 0; j < WIDTH; ++j) state[j] = closed(parts[j], shift[j], count);
"
    )
}

/// The kernel that reads states.
#[must_use]
pub fn again_source(signature: &Signature<'_>, form: &Form) -> String {
    format!(
        r#"{head}
extern "C" __global__ void fold(const State* states_of_chunks, {out}* out, unsigned long long outputs,
                                unsigned long long length, unsigned long long chunk, double divisor,
                                unsigned first_part) {{
    const unsigned long long output = (unsigned long long)blockIdx.x * ROWS + ROW;
    const unsigned part = blockIdx.y + first_part;
    State state[1] = {{nothing()}};
    if (output < outputs) {{
        const unsigned long long begin = part * chunk;
        const unsigned long long end = begin + chunk < length ? begin + chunk : length;
        unsigned long long i = begin + LANE;
        for (; i + (AHEAD - 1) * LANES < end; i += AHEAD * LANES) {{
            State states_ahead[AHEAD];
            #pragma unroll
            for (int step = 0; step < AHEAD; ++step)
                states_ahead[step] = states_of_chunks[(i + step * LANES) * outputs + output];
            #pragma unroll
            for (int step = 0; step < AHEAD; ++step) state[0] = joined(state[0], states_ahead[step]);
        }}
        for (; i < end; i += LANES) state[0] = joined(state[0], states_of_chunks[i * outputs + output]);
    }}
{tree}}}
"#,
        head = head(signature, form),
        out = if form.is_last { "R" } else { "State" },
        tree = tree(form),
    )
}
