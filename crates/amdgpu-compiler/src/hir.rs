//! The typed tree: every name resolved, every conversion written out, every type known. What the checker produces and the
//! lowering reads.

use crate::ast::BinaryOp;
use crate::ir::Unroll;
use crate::ir::{Cooperation, GlobalKind, Intrinsic, Special};
use crate::messages::Message;
use crate::source::Span;
use crate::types::{BitRange, Type, TypeId, TypeTable};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LocalId(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FunctionId(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GlobalId(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SharedId(pub u32);

/// A checked program: the functions that were asked for, and the constants they use.
#[derive(Debug, Default)]
pub struct Program {
    pub functions: Vec<Function>,
    pub globals: Vec<Global>,
    pub shared: Vec<Shared>,
    /// What kernels tell the host, and where the source says so.
    pub messages: Vec<(Message, Span)>,
}

/// A variable of a function, parameters included.
#[allow(clippy::struct_excessive_bools)] // Each is a fact of its own.
#[derive(Clone, Debug)]
pub struct Local {
    pub name: String,
    /// Of references: the type of what they refer to.
    pub ty: TypeId,
    /// Holds the address of its value.
    pub is_reference: bool,
    pub is_const: bool,
    pub is_volatile: bool,
    /// Has an address: arrays, structs, and scalars whose address is taken.
    pub is_in_memory: bool,
    /// What the source asks for beside the alignment of the type; 1 when it does not.
    pub align: u64,
    /// Value known at compile time.
    pub constant: Option<Constant>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Constant {
    Integer(i64),
    Float(f64),
}

#[derive(Clone, Debug)]
pub struct Function {
    /// In machine code.
    pub name: String,
    /// As the user calls it: `scale<float>`.
    pub display: String,
    /// Other texts that ask for it.
    pub aliases: Vec<String>,
    pub id: FunctionId,
    pub is_kernel: bool,
    pub is_never_inlined: bool,
    pub parameters: Vec<Parameter>,
    pub locals: Vec<Local>,
    pub return_type: TypeId,
    pub body: Vec<Stmt>,
    pub launch_bounds: Option<LaunchBounds>,
    pub span: Span,
}

#[derive(Clone, Copy, Debug)]
pub struct LaunchBounds {
    pub max_threads: u32,
    pub min_blocks: u32,
}

#[derive(Clone, Debug)]
pub struct Parameter {
    pub local: LocalId,
    pub is_restrict: bool,
}

/// Memory of the module.
#[derive(Clone, Debug)]
pub struct Global {
    pub name: String,
    pub ty: TypeId,
    pub kind: GlobalKind,
    /// What it starts with; the rest is zero.
    pub bytes: Vec<u8>,
    pub align: u64,
    pub is_volatile: bool,
    /// The host knows it by its name.
    pub is_exported: bool,
    /// Of the device library: there only when used.
    pub is_library: bool,
}

/// A `__shared__` variable; of `extern` ones the type is an array of length 0.
#[derive(Clone, Debug)]
pub struct Shared {
    pub name: String,
    pub ty: TypeId,
    pub align: u64,
    pub is_volatile: bool,
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: TypeId,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Integer(i64),
    Float(f64),
    /// Null pointer.
    Null,
    Load(Box<Place>),
    /// A struct from its fields, in order.
    Struct(Vec<Expr>),
    /// An array or union: values at byte offsets; the rest is zero.
    Aggregate(Vec<(u64, Expr)>),
    /// Conversion to the type of the expression.
    Cast(Box<Expr>),
    Negate(Box<Expr>),
    Complement(Box<Expr>),
    Not(Box<Expr>),
    /// Both sides have one type, shifts excepted.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    Assign(Box<Place>, Box<Expr>),
    /// `place = (type of place)((compute)place op value)`; pointers: `op` is Add or Subtract of an index.
    Compound {
        operation: BinaryOp,
        place: Box<Place>,
        value: Box<Expr>,
        compute: TypeId,
    },
    Step {
        place: Box<Place>,
        is_increment: bool,
        is_prefix: bool,
    },
    /// `pointer + index`, or minus.
    Offset {
        pointer: Box<Expr>,
        index: Box<Expr>,
        is_negative: bool,
    },
    Distance(Box<Expr>, Box<Expr>),
    AddressOf(Box<Place>),
    Call(FunctionId, Vec<Expr>),
    Intrinsic(Intrinsic, Vec<Expr>),
    Cooperative(Cooperation, Vec<Expr>),
    /// A load or store whose memory the caches need not keep.
    NontemporalLoad(Box<Expr>),
    NontemporalStore {
        pointer: Box<Expr>,
        value: Box<Expr>,
    },
    Special(Special),
    Comma(Box<Expr>, Box<Expr>),
}

/// Something with an address, or a variable that could have one.
#[derive(Clone, Debug)]
pub struct Place {
    pub kind: PlaceKind,
    pub ty: TypeId,
    pub is_const: bool,
    pub span: Span,
}

impl Place {
    /// Whether its accesses are to happen as written: the variable it is part of, or the pointer it is reached by, says so.
    pub fn is_volatile(
        &self,
        types: &TypeTable,
        locals: &[Local],
        globals: &[Global],
        shared: &[Shared],
    ) -> bool {
        let mut place = self;
        loop {
            place = match &place.kind {
                PlaceKind::Field(inner, _) | PlaceKind::Bits(inner, _) => inner,
                PlaceKind::Local(local) => return locals[local.0 as usize].is_volatile,
                PlaceKind::Global(global) => return globals[global.0 as usize].is_volatile,
                PlaceKind::Shared(number) => return shared[number.0 as usize].is_volatile,
                PlaceKind::Dereference(pointer) => {
                    return matches!(
                        types.get(pointer.ty),
                        Type::Pointer {
                            is_volatile: true,
                            ..
                        }
                    );
                }
                PlaceKind::Temporary(_) => return false,
            };
        }
    }
}

#[derive(Clone, Debug)]
pub enum PlaceKind {
    Local(LocalId),
    Global(GlobalId),
    Shared(SharedId),
    Dereference(Expr),
    Field(Box<Place>, u64),
    /// A bit-field in its unit, which has the same type.
    Bits(Box<Place>, BitRange),
    /// The value of an expression that has no address of its own: a struct returned by a function.
    Temporary(Expr),
}

#[derive(Clone, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum StmtKind {
    Expr(Expr),
    /// The life of a local begins: with a value, or zeroed when nothing is given.
    Declare(LocalId, Initial),
    Block(Vec<Stmt>),
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    /// `for` and `while`.
    Loop {
        condition: Option<Expr>,
        step: Option<Expr>,
        body: Box<Stmt>,
    },
    DoWhile {
        body: Box<Stmt>,
        condition: Expr,
    },
    Switch {
        value: Expr,
        groups: Vec<CaseGroup>,
    },
    Break,
    Continue,
    Return(Option<Expr>),
    /// The first loop in it is to be unrolled, or not.
    Unrolled(Unroll, Box<Stmt>),
}

#[derive(Clone, Debug)]
pub enum Initial {
    None,
    Value(Expr),
    /// Of an aggregate: values at byte offsets; the rest is zero.
    Parts(Vec<(u64, Expr)>),
}

/// Statements of a `switch` from one set of labels to the next; control falls through to the next group.
#[derive(Clone, Debug)]
pub struct CaseGroup {
    pub values: Vec<i64>,
    pub is_default: bool,
    pub body: Vec<Stmt>,
}
