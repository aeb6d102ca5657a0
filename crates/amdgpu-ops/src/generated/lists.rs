//! The text of operations on lists of tensors: a block works on a part of one tensor, which it finds in a table of all of them.

use std::fmt::Write as _;

use amdgpu_abi::Dtype;

use super::elementwise::{VALUES, helpers};
use super::{formulas, source};

/// Memory that an operation takes of each tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub name: &'static str,
    pub access: Access,
    /// Whether the operation can do without.
    pub is_optional: bool,
}

/// What an operation does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    ReadWrite,
    /// One number, the same for all elements.
    One,
    /// One number that any element may set.
    Flag,
}

impl Access {
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite | Self::Flag)
    }

    /// Whether there is a value for each element.
    #[must_use]
    pub const fn is_each(self) -> bool {
        !matches!(self, Self::One | Self::Flag)
    }
}

const fn slot(name: &'static str, access: Access) -> Slot {
    Slot {
        name,
        access,
        is_optional: false,
    }
}

const fn optional(name: &'static str, access: Access) -> Slot {
    Slot {
        is_optional: true,
        ..slot(name, access)
    }
}

/// An operation that is written for lists. Its statements see values by the names of slots, of type C, and numbers, of type double; `HAS_NAME` says
/// whether a slot that may be left out was given.
#[derive(Debug)]
pub struct ListRow {
    pub name: &'static str,
    pub slots: &'static [Slot],
    pub numbers: &'static [&'static str],
    /// Statements that one work-item runs for the block: they set `first` and `second`, of type double.
    pub setup: &'static str,
    pub statements: &'static str,
}

/// Gradients without the scale of the loss, negated where the loss is to grow.
const PREPARED: &str = "
#if HAS_SCALE
    gradient = gradient / scale;
#endif
    C slope = maximizes != 0 ? -gradient : gradient;
";

/// The operations that are written for lists, beside those of elements.
pub static LIST_ROWS: [ListRow; 6] = [
    ListRow {
        name: "adam",
        slots: &[
            slot("x", Access::ReadWrite),
            slot("gradient", Access::ReadWrite),
            slot("mean", Access::ReadWrite),
            slot("square", Access::ReadWrite),
            optional("largest", Access::ReadWrite),
            slot("step", Access::One),
            optional("scale", Access::One),
            optional("skip", Access::One),
        ],
        numbers: &[
            "rate",
            "first_decay",
            "second_decay",
            "weight_decay",
            "epsilon",
            "decouples",
            "maximizes",
        ],
        setup: "
    const double steps = (double)step;
    first = rate / (1.0 - pow(first_decay, steps));
    second = sqrt(1.0 - pow(second_decay, steps));
",
        statements: "
    if (decouples != 0) x = x * (C)(1.0 - rate * weight_decay);
    else if (weight_decay != 0) slope = slope + (C)weight_decay * x;
    mean = (C)first_decay * mean + (C)(1.0 - first_decay) * slope;
    square = (C)second_decay * square + (C)(1.0 - second_decay) * (slope * slope);
    C variance = square;
#if HAS_LARGEST
    largest = largest != largest ? largest : largest >= square ? largest : square;
    variance = largest;
#endif
    x = x - (C)first * mean / (F(sqrt)(variance) / (C)second + (C)epsilon);
",
    },
    ListRow {
        name: "sgd",
        slots: &[
            slot("x", Access::ReadWrite),
            slot("gradient", Access::ReadWrite),
            optional("velocity", Access::ReadWrite),
            optional("scale", Access::One),
            optional("skip", Access::One),
        ],
        numbers: &[
            "rate",
            "weight_decay",
            "momentum",
            "dampening",
            "is_nesterov",
            "maximizes",
            "is_first",
        ],
        setup: "",
        statements: "
    if (weight_decay != 0) slope = slope + (C)weight_decay * x;
#if HAS_VELOCITY
    velocity = is_first != 0 ? slope : (C)momentum * velocity + (C)(1.0 - dampening) * slope;
    slope = is_nesterov != 0 ? slope + (C)momentum * velocity : velocity;
#endif
    x = x - (C)rate * slope;
",
    },
    ListRow {
        name: "unscale",
        slots: &[
            slot("x", Access::ReadWrite),
            slot("inverse", Access::One),
            slot("found", Access::Flag),
        ],
        numbers: &[],
        setup: "",
        statements: "
    if (!isfinite(x)) *found = 1;
    x = x * inverse;
",
    },
    ListRow {
        name: "lerp",
        slots: &[
            slot("out", Access::Write),
            slot("x", Access::Read),
            slot("y", Access::Read),
        ],
        numbers: &["weight"],
        setup: "",
        // From the nearer end.
        statements: "
    out = fabs(weight) < 0.5 ? x + (C)weight * (y - x) : y - (y - x) * (C)(1.0 - weight);
",
    },
    ListRow {
        name: "addcmul",
        slots: &[
            slot("out", Access::Write),
            slot("x", Access::Read),
            slot("y", Access::Read),
            slot("z", Access::Read),
        ],
        numbers: &["value"],
        setup: "",
        statements: "
    out = x + (C)value * (y * z);
",
    },
    ListRow {
        name: "addcdiv",
        slots: &[
            slot("out", Access::Write),
            slot("x", Access::Read),
            slot("y", Access::Read),
            slot("z", Access::Read),
        ],
        numbers: &["value"],
        setup: "",
        statements: "
    out = x + (C)value * (y / z);
",
    },
];

/// What is computed.
#[derive(Clone, Copy, Debug)]
pub enum ListBody {
    Row(&'static ListRow),
    /// An operation of elements by name, with so many inputs: each is a slot behind "out", or where that is left out a number.
    Elementwise(&'static str, usize),
}

const ELEMENTWISE_SLOTS: [Slot; 5] = [
    slot("out", Access::Write),
    optional("x", Access::Read),
    optional("y", Access::Read),
    optional("z", Access::Read),
    optional("w", Access::Read),
];
const ELEMENTWISE_NUMBERS: [&str; 4] = ["number_x", "number_y", "number_z", "number_w"];
/// Inputs of an operation of elements at most.
pub const INPUT_LIMIT: usize = 4;

impl ListBody {
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Row(row) => row.name,
            Self::Elementwise(name, _) => name,
        }
    }

    #[must_use]
    pub fn slots(&self) -> &'static [Slot] {
        match self {
            Self::Row(row) => row.slots,
            Self::Elementwise(_, inputs) => &ELEMENTWISE_SLOTS[..=*inputs],
        }
    }

    #[must_use]
    pub fn numbers(&self) -> &'static [&'static str] {
        match self {
            Self::Row(row) => row.numbers,
            Self::Elementwise(_, inputs) => &ELEMENTWISE_NUMBERS[..*inputs],
        }
    }
}

/// The slots of an operation, where so many are given: gradients are written only if there is a scale that they are divided by.
pub fn slots_of(body: ListBody, dtypes: &[Option<Dtype>]) -> impl Iterator<Item = Slot> {
    let slots = body.slots();
    let has_scale =
        { slots.iter().zip(dtypes) }.any(|(slot, dtype)| slot.name == "scale" && dtype.is_some());
    slots.iter().map(move |slot| {
        let mut slot = *slot;
        if slot.name == "gradient" && !has_scale {
            slot.access = Access::Read;
        }
        slot
    })
}

/// Elements that a work-item takes at once.
const PACK: usize = 4;
/// Elements of a block.
pub const PART: i64 = 8192;

/// What the text of a kernel depends on.
#[derive(Clone, Copy, Debug)]
pub struct ListKernel<'a> {
    pub body: ListBody,
    /// Of each slot; `None` where it is left out.
    pub dtypes: &'a [Option<Dtype>],
    pub computed: Dtype,
    /// Whether tensors have numbers of their own, in the table.
    pub has_own_numbers: bool,
    /// Whether work-items take packs; else neighbours are lanes of one vector.
    pub is_packed: bool,
}

impl ListKernel<'_> {
    /// Slots that are there, with their dtypes.
    fn given(&self) -> impl Iterator<Item = (Slot, Dtype)> {
        let slots = slots_of(self.body, self.dtypes).zip(self.dtypes);
        slots.filter_map(|(slot, dtype)| dtype.map(|dtype| (slot, dtype)))
    }

    /// 64-bit words of a tensor in the table: its first block, its elements, its addresses, its numbers.
    #[must_use]
    pub fn words(&self) -> usize {
        let numbers = if self.has_own_numbers {
            self.body.numbers().len()
        } else {
            0
        };
        2 + self.given().count() + numbers
    }

    /// The kernel `list_step`.
    #[must_use]
    pub fn source(&self) -> String {
        let mut text = source::types(&[("C", self.computed)]);
        text += source::functions(self.computed);
        for slot in self.body.slots() {
            let is_given = self.given().any(|(given, _)| given.name == slot.name);
            let name = slot.name.to_uppercase();
            let _ = writeln!(text, "#define HAS_{name} {}", i32::from(is_given));
        }
        let statements = self.statements(&mut text);
        format!(
            "{text}
#define WORDS {words}
#define PART {PART}
template <typename T> struct alignas(sizeof(T) * {PACK}) Pack {{ T v[{PACK}]; }};

extern \"C\" __global__ void list_step(const unsigned long long* table, unsigned count{parameters}) {{
    unsigned low = 0, high = count;
    while (high - low > 1) {{
        const unsigned middle = (low + high) / 2;
        if (table[(unsigned long long)middle * WORDS] <= blockIdx.x) low = middle;
        else high = middle;
    }}
    const unsigned long long* const item = table + (unsigned long long)low * WORDS;
    const unsigned long long begin = (blockIdx.x - item[0]) * PART, whole = item[1];
    const unsigned long long end = begin + PART < whole ? begin + PART : whole;
{prologue}{work}}}
",
            words = self.words(),
            parameters = self.parameters(),
            prologue = self.prologue(),
            work = self.work(&statements),
        )
    }

    /// Statements of an element; what they call goes into the text.
    fn statements(&self, text: &mut String) -> String {
        match self.body {
            ListBody::Row(row) => {
                let is_step = row.slots.iter().any(|slot| slot.name == "gradient");
                let prepared = if is_step { PREPARED } else { "" };
                format!("{prepared}{}", row.statements)
            }
            ListBody::Elementwise(name, inputs) => {
                let result = self.dtypes[0].unwrap_or(self.computed);
                *text += &helpers(result);
                *text += formulas::own_helpers(name);
                let formula = formulas::formula(name, self.computed).unwrap_or("x");
                let values = VALUES[..inputs].iter().map(|value| format!("C {value}"));
                let _ = writeln!(
                    text,
                    "__device__ inline C one({}, C alpha) {{ return {formula}; }}",
                    values.collect::<Vec<_>>().join(", ")
                );
                let values = VALUES[..inputs].iter().zip(&self.dtypes[1..]);
                let values = values.map(|(value, dtype)| match dtype {
                    Some(_) => (*value).to_owned(),
                    None => format!("(C)number_{value}"),
                });
                let values = values.collect::<Vec<_>>().join(", ");
                format!("    out = one({values}, (C)0);\n")
            }
        }
    }

    fn parameters(&self) -> String {
        if self.has_own_numbers {
            return String::new();
        }
        let mut text = String::new();
        for name in self.body.numbers() {
            let _ = write!(text, ", double {name}");
        }
        text
    }

    /// Addresses and numbers of the tensor, and what a block needs once.
    fn prologue(&self) -> String {
        let mut text = String::new();
        for (place, (slot, dtype)) in self.given().enumerate() {
            let (name, ctype) = (slot.name, source::c_type(dtype));
            let place = place + 2;
            let _ = match slot.access {
                Access::One => writeln!(
                    text,
                    "    const C {name} = (C)*(const {ctype}*)item[{place}];"
                ),
                Access::Flag => {
                    writeln!(text, "    {ctype}* const {name} = ({ctype}*)item[{place}];")
                }
                _ => writeln!(
                    text,
                    "    {ctype}* const at_{name} = ({ctype}*)item[{place}];"
                ),
            };
        }
        if self.has_own_numbers {
            let first = 2 + self.given().count();
            for (place, name) in self.body.numbers().iter().enumerate() {
                let _ = writeln!(
                    text,
                    "    const double {name} = *(const double*)(item + {});",
                    first + place
                );
            }
        }
        text += "#if HAS_SKIP\n    if (skip != 0) return;\n#endif\n";
        if let ListBody::Row(row) = self.body
            && !row.setup.is_empty()
        {
            let _ = write!(
                text,
                "    __shared__ double shared[2];
    if (threadIdx.x == 0) {{
        double first, second;
{}
        shared[0] = first;
        shared[1] = second;
    }}
    __syncthreads();
    const double first = shared[0], second = shared[1];
",
                row.setup
            );
        }
        text
    }

    /// The loops over the elements.
    fn work(&self, statements: &str) -> String {
        let each: Vec<_> = self
            .given()
            .filter(|(slot, _)| slot.access.is_each())
            .collect();
        let single = element(
            &each,
            statements,
            |name| format!("at_{name}[i]"),
            |name| format!("at_{name}[i]"),
        );
        if !self.is_packed {
            return format!(
                "    for (unsigned long long i = begin + threadIdx.x; i < end; i += blockDim.x) {{\n{single}    }}\n"
            );
        }
        let packed = element(
            &each,
            statements,
            |name| format!("p_{name}.v[j]"),
            |name| format!("p_{name}.v[j]"),
        );
        let (mut addresses, mut loads, mut stores) = (String::new(), String::new(), String::new());
        for (slot, dtype) in &each {
            let (name, ctype) = (slot.name, source::c_type(*dtype));
            let _ = write!(
                addresses,
                " | (unsigned long long)at_{name} % (sizeof({ctype}) * {PACK})"
            );
            let _ = write!(loads, "            Pack<{ctype}> p_{name}");
            if slot.access == Access::Write {
                loads += ";\n";
            } else {
                let _ = writeln!(loads, " = *(const Pack<{ctype}>*)(at_{name} + i);");
            }
            if slot.access.writes() {
                let _ = writeln!(
                    stores,
                    "            *(Pack<{ctype}>*)(at_{name} + i) = p_{name};"
                );
            }
        }
        format!(
            "    unsigned long long behind = begin;
    if ((0{addresses}) == 0) {{
        behind = end - (end - begin) % {PACK};
        for (unsigned long long i = begin + threadIdx.x * {PACK}; i < behind; i += blockDim.x * {PACK}) {{
{loads}            #pragma unroll
            for (int j = 0; j < {PACK}; j++) {{
{packed}            }}
{stores}        }}
    }}
    for (unsigned long long i = behind + threadIdx.x; i < end; i += blockDim.x) {{
{single}    }}
"
        )
    }
}

/// The statements of an element between its loads and stores.
fn element(
    each: &[(Slot, Dtype)],
    statements: &str,
    load: impl Fn(&str) -> String,
    store: impl Fn(&str) -> String,
) -> String {
    let mut text = String::new();
    for (slot, _) in each {
        let name = slot.name;
        let _ = match slot.access {
            Access::Write => writeln!(text, "    C {name};"),
            _ => writeln!(text, "    C {name} = (C){};", load(name)),
        };
    }
    text += statements;
    for (slot, dtype) in each {
        if slot.access.writes() {
            let name = slot.name;
            let _ = writeln!(
                text,
                "    {} = ({}){name};",
                store(name),
                source::c_type(*dtype)
            );
        }
    }
    text
}

/// Words that one launch of [`table_source`] writes: no more than arguments of a kernel hold on every kind of device.
pub const TABLE_WORDS: usize = 448;

/// The kernel `write_words`, which writes [`TABLE_WORDS`] words that arrive with its arguments to memory of the device: nothing waits for it.
#[must_use]
pub fn table_source() -> String {
    format!(
        "struct Words {{ unsigned long long all[{TABLE_WORDS}]; }};

extern \"C\" __global__ void write_words(unsigned long long* table, Words words) {{
    #pragma unroll
    for (unsigned i = 0; i < {TABLE_WORDS}; i++) table[i] = words.all[i];
}}
"
    )
}
