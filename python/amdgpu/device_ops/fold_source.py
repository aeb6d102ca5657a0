"""The text of the kernels that fold: one that reads values, one that reads what the first left of each chunk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from amdgpu.device_ops import dtypes, source

if TYPE_CHECKING:
    from amdgpu.device_ops.fold import Problem

# Bytes that a lane of rows has asked for before it folds the first value: memory answers late, and a block that waits for each value
# reaches half of its speed. 2,048 work-items of 16 bytes each on every unit of an H200 are what its bandwidth times its latency asks for.
_AHEAD_BYTES = 16
# Shared memory of a block, so that units hold several: AMD's have 64 KB.
_SHARED_BYTES = 32 << 10
# The same in groups of 16 bytes, most of which the tree hides from half of the work-items.
_GROUPS_AHEAD = 2
# Values that a lane of columns, or of states, has asked for.
_COLUMNS_AHEAD = 4


@dataclass(frozen=True)
class Form:
    """How work-items share a fold.

    Attributes:
        lanes: Work-items that fold the same results.
        width: Neighbouring results of a work-item, whose values it reads at once.
        is_column: Neighbours in memory belong to different results.
        is_last: The kernel gives results; else states.
        group: Neighbouring values of a row without gaps that a work-item folds one after the other.
        is_aligned: It reads them at once.
    """

    lanes: int
    width: int
    is_column: bool
    is_last: bool
    group: int = 1
    is_aligned: bool = False

    @property
    def rows(self) -> int:
        """Groups of results of a block."""
        return source.BLOCK // self.lanes

    @property
    def block(self) -> tuple[int, int, int]:
        """Shape of a block."""
        return (self.rows, self.lanes, 1) if self.is_column else (self.lanes, self.rows, 1)


def _ahead(problem: Problem, form: Form) -> int:
    if form.is_column:
        return _COLUMNS_AHEAD
    if form.group > 1:
        return _GROUPS_AHEAD
    # Beyond four, places cost registers and time to compile.
    return min(max(_AHEAD_BYTES // dtypes.ITEM_BYTES[problem.x.dtype], 2), 4 if problem.fold.has_places else 8)


def _head(problem: Problem, form: Form, ahead: int) -> str:
    """Types, and the functions of a fold."""
    how = problem.fold
    row, lane = ("x", "y") if form.is_column else ("y", "x")
    fields = "S value; long long place;" if how.has_places else f"S {', '.join(('value', *how.more))};"
    given = ("double shift, " if how.has_shift else "C shift, " if how.closed else "") + "long long place"
    absorbed = how.absorbed or f"return joined(a, mapped(x, {'shift, ' if how.has_shift else ''}place));"
    if how.closed:
        # A lane's own numbers may be narrower than what is joined.
        part = how.part or how.state
        functions = f"typedef {dtypes.C_TYPES[part]} L;\nstruct Part {{ L {', '.join(('value', *how.more))}; }};\n"
        functions += f"__device__ inline State closed(Part a, C shift, S count) {{ State b; {how.closed} return b; }}\n"
    else:
        functions = "typedef State Part;\n"
        functions += f"__device__ inline State mapped(C x, {given}) {{ State a; {how.mapped} return a; }}\n"
    return (
        source.types(X=problem.x.dtype, C=problem.computed, R=problem.result, S=how.state)
        + source.functions(how.state)
        + f"""
#define LANES {form.lanes}
#define AHEAD {ahead}
#define WIDTH {form.width}
#define TREE_WIDTH {_tree_width(problem, form)}
#define ROWS {form.rows}
#define ROW threadIdx.{row}
#define LANE threadIdx.{lane}
struct State {{ {fields} }};
struct alignas(sizeof(X) * WIDTH) Values {{ X v[WIDTH]; }};
__device__ inline State nothing() {{ State a; {how.start} return a; }}
__device__ inline State joined(State a, State b) {{ {how.joined} }}
{functions}__device__ inline Part absorbed(Part a, C x, {given}) {{ {absorbed} }}
__device__ inline R finished(State a, double divisor) {{ return (R)({how.finished}); }}
"""
    )


def _tree_width(problem: Problem, form: Form) -> int:
    """Neighbouring results whose states are folded at once: a part of `Form.width`, which is a power of two."""
    width = form.width
    while width > 1 and width * source.BLOCK * problem.fold.state_bytes > _SHARED_BYTES:
        width //= 2
    return width


_TREE = """
    // The rows of shared memory are those of the block, so that neighbours write neighbouring banks.
    __shared__ State states[BLOCK * TREE_WIDTH];
    #define AT(lane, j) states[(j) * BLOCK + {place}]
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
"""


def _tree(form: Form) -> str:
    place = "(lane) * ROWS + ROW" if form.is_column else "ROW * LANES + (lane)"
    store = (
        "out[output + first + j] = finished(AT(0, j), divisor);"
        if form.is_last
        else "out[(unsigned long long)part * outputs + output + first + j] = AT(0, j);"
    )
    return _TREE.replace("BLOCK", str(source.BLOCK)).format(place=place, store=store)


def first(problem: Problem, form: Form, ranks: tuple[int, int], counts: tuple[int, int]) -> str:
    """The kernel that reads x, whose kept and reduced axes have these ranks and counts."""
    how, x = problem.fold, problem.x
    parameter, statement = source.pointer_parameter(x, "X", "x")
    outputs, length = counts
    out = "R" if form.is_last else "State"
    shift = ", const double* shifts" if how.has_shift else ""
    given = "shift[j], " if how.has_shift or how.closed else ""
    begun_parts = "Part parts[WIDTH] = {};" if how.closed else "Part (&parts)[WIDTH] = state;"
    begun = _SHIFTS if how.has_shift else ""
    if how.closed:
        walked = source.walk("r", ranks[1], ["place"], "i", source.index_type(length))
        begun = _FIRST_VALUES.replace("WALK", walked)
    loops = _loops(form, ranks[1], source.index_type(length), given.replace("[j]", "[0]") if form.group > 1 else given)
    return (
        _head(problem, form, _ahead(problem, form))
        + f"""
extern "C" __global__ void fold({parameter}, {out}* out{shift}, unsigned long long outputs,
                                unsigned long long length, unsigned long long chunk,
                                double divisor{source.walk_parameters("k", ranks[0], 1)}\
{source.walk_parameters("r", ranks[1], 1)},
                                unsigned first_part) {{
{statement}\
    const unsigned long long output = ((unsigned long long)blockIdx.x * ROWS + ROW) * WIDTH;
    const unsigned part = blockIdx.y + first_part;
    State state[WIDTH];
    #pragma unroll
    for (int j = 0; j < WIDTH; ++j) state[j] = nothing();
    if (output < outputs) {{
        long long row = 0;
{source.walk("k", ranks[0], ["row"], "output", source.index_type(outputs))}\
        const unsigned long long begin = part * chunk;
        const unsigned long long end = begin + chunk < length ? begin + chunk : length;
        unsigned long long i = begin + LANE * {form.group};
        {begun_parts}
{begun}\
{loops}\
{_CLOSED.format(group=form.group) if how.closed else ""}\
    }}
{_tree(form)}}}
"""
    )


def _loops(form: Form, rank: int, width: str, given: str) -> str:
    """Statements by which a work-item folds its values from number `i` on."""
    if form.group > 1:
        lines = _GROUP_LOOPS.replace("LOAD", _AT_ONCE if form.is_aligned else _EACH).replace("GIVEN", given)
        return lines.replace("GROUP", str(form.group))
    return f"""\
        for (; i + (AHEAD - 1) * LANES < end; i += AHEAD * LANES) {{
            Values values[AHEAD];
            #pragma unroll
            for (int step = 0; step < AHEAD; ++step) {{
                const unsigned long long at = i + step * LANES;
                long long place = row;
{source.walk("r", rank, ["place"], "at", width)}\
                values[step] = *(const Values*)(x + place);
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
{source.walk("r", rank, ["place"], "i", width)}\
            const Values values = *(const Values*)(x + place);
            #pragma unroll
            for (int j = 0; j < WIDTH; ++j) parts[j] = absorbed(parts[j], (C)values.v[j], {given}i);
        }}
"""


# Unaligned memory is folded in the same order, value by value.
_EACH = """
                #pragma unroll
                for (int j = 0; j < GROUP; ++j) values[step].v[j] = x[place + j];"""
_AT_ONCE = """
                values[step] = *(const Group*)(x + place);"""
_GROUP_LOOPS = """\
        struct alignas(sizeof(X) * GROUP) Group { X v[GROUP]; };
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
"""


_SHIFTS = """
        double shift[WIDTH];
        #pragma unroll
        for (int j = 0; j < WIDTH; ++j) shift[j] = shifts[output + j];
"""


# What a work-item subtracts from its values is one of them: where it is far from the others, their deviations are large as well, and the
# digits that are lost are none that the result has.
_FIRST_VALUES = """
        C shift[WIDTH];
        #pragma unroll
        for (int j = 0; j < WIDTH; ++j) shift[j] = 0;
        if (i < end) {
            long long place = row;
WALK\
            const Values values = *(const Values*)(x + place);
            #pragma unroll
            for (int j = 0; j < WIDTH; ++j) {
                shift[j] = (C)values.v[j];
                // A shift of at most 1e30 is lost in the rounding of the largest floats, so that no difference from it overflows.
                if (!(shift[j] > (C)-1e30f && shift[j] < (C)1e30f)) shift[j] = 0;
            }
        }
"""

# How many values this lane had: whole groups, and the part of one.
_CLOSED = """\
        const unsigned long long span = end > begin ? end - begin : 0, rest = span % (LANES * {group});
        const unsigned long long own = rest < LANE * {group} ? 0 : rest - LANE * {group};
        const S count = (S)(span / (LANES * {group}) * {group} + (own < {group} ? own : {group}));
        #pragma unroll
        for (int j = 0; j < WIDTH; ++j) state[j] = closed(parts[j], shift[j], count);
"""


def again(problem: Problem, form: Form) -> str:
    """The kernel that reads states."""
    out = "R" if form.is_last else "State"
    return (
        _head(problem, form, _COLUMNS_AHEAD)
        + f"""
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
{_tree(form)}}}
"""
    )
