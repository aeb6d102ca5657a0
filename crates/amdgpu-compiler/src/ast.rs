//! The syntax tree: what the source says, before names and types are looked up.

use crate::interner::Symbol;
use crate::source::Span;
use crate::types::ScalarType;

/// A type as written.
#[derive(Clone, Debug)]
pub struct TypeExpr {
    pub kind: TypeKind,
    pub is_const: bool,
    pub is_volatile: bool,
    pub span: Span,
}

impl TypeExpr {
    /// Whether it is written volatile; of arrays, whether their elements are.
    pub fn has_volatile(&self) -> bool {
        self.is_volatile
            || matches!(&self.kind, TypeKind::Array { element, .. } if element.has_volatile())
    }
}

#[derive(Clone, Debug)]
pub enum TypeKind {
    /// A name that is unknown, as was said.
    Unknown,
    Void,
    Auto,
    Scalar(ScalarType),
    Named(Symbol),
    /// `Matrix<float, 4>`.
    Template {
        name: Symbol,
        arguments: Vec<TemplateArgument>,
    },
    /// `typename Traits<T>::type`.
    Member {
        scope: Box<TypeExpr>,
        name: Symbol,
    },
    Pointer {
        pointee: Box<TypeExpr>,
        is_restrict: bool,
    },
    Reference(Box<TypeExpr>),
    /// `T&&` of a parameter: binds to variables and to values.
    Forwarding(Box<TypeExpr>),
    Array {
        element: Box<TypeExpr>,
        length: Option<Box<Expr>>,
    },
    /// `decltype(expression)`.
    Decltype(Box<Expr>),
}

/// An argument of a template, as written.
#[derive(Clone, Debug)]
pub enum TemplateArgument {
    Type(TypeExpr),
    Value(Expr),
    /// `Ts...`: once for each element of the packs among the names.
    Expansion(Box<TemplateArgument>, Vec<Symbol>),
}

/// A parameter of a template.
#[derive(Clone, Debug)]
pub struct TemplateParameter {
    pub name: Option<Symbol>,
    /// `typename... Ts`: the last one, and any number of arguments.
    pub is_pack: bool,
    pub kind: TemplateParameterKind,
}

#[derive(Clone, Debug)]
pub enum TemplateParameterKind {
    Type { default: Option<TypeExpr> },
    Value { ty: TypeExpr, default: Option<Expr> },
}

/// `template <…>` before a function, struct, alias or variable.
#[derive(Clone, Debug)]
pub struct Template {
    pub parameters: Vec<TemplateParameter>,
    /// `template <…> struct Name<arguments>` and `template <> void name<arguments>(…)`: what it is a specialisation for.
    pub specialisation: Option<Vec<TemplateArgument>>,
    pub item: Item,
    pub span: Span,
}

/// A lambda.
#[derive(Clone, Debug)]
pub struct Lambda {
    /// What stands for everything that is used and not named: `[=]` or `[&]`.
    pub default_capture: Option<CaptureKind>,
    pub captures: Vec<Capture>,
    pub captures_this: bool,
    /// Names in the body: what a default capture may mean.
    pub names: Vec<Symbol>,
    /// Names from the captures to the end of the body: what it may mean by anything around it.
    pub all_names: Vec<Symbol>,
    pub templates: Vec<TemplateParameter>,
    pub function: Function,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaptureKind {
    Value,
    Reference,
}

#[derive(Clone, Debug)]
pub struct Capture {
    pub name: Symbol,
    pub span: Span,
    pub kind: CaptureKind,
    /// `[n = 2 * m]`.
    pub start: Option<Expr>,
}

/// An expression; messages about it point at `span` (the operator, the called name, the literal).
#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
    /// Height of the tree below; bounded by the parser, so that later phases may recurse.
    pub height: u32,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Integer {
        value: u64,
        ty: ScalarType,
    },
    Float {
        value: f64,
        ty: ScalarType,
    },
    Bool(bool),
    Null,
    /// Bytes between the quotes, escapes resolved, neighbours joined.
    String(Vec<u8>),
    Name(Symbol),
    Scoped(Symbol, Symbol),
    /// `f<float, 4>`.
    TemplateName(Symbol, Vec<TemplateArgument>),
    /// `Traits<T>::value`.
    TypeMember(Box<TypeExpr>, Symbol),
    This,
    Lambda(Box<Lambda>),
    Member {
        object: Box<Expr>,
        name: Symbol,
        is_arrow: bool,
        /// `object.template name<arguments>`.
        arguments: Option<Vec<TemplateArgument>>,
    },
    Index(Box<Expr>, Box<Expr>),
    Call(Box<Expr>, Vec<Expr>),
    Cast {
        ty: Box<TypeExpr>,
        value: Box<Expr>,
        is_reinterpret: bool,
    },
    /// `float(x)`, `P{1, 2}`.
    Construct {
        ty: Box<TypeExpr>,
        arguments: Vec<Expr>,
    },
    Unary(UnaryOp, Box<Expr>),
    Step {
        object: Box<Expr>,
        is_increment: bool,
        is_prefix: bool,
    },
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `=` without an operator, `+=` and so on with one.
    Assign(Option<BinaryOp>, Box<Expr>, Box<Expr>),
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    Comma(Box<Expr>, Box<Expr>),
    SizeofType(Box<TypeExpr>),
    /// `__is_same(T, U)`.
    SameType(Box<TypeExpr>, Box<TypeExpr>),
    SizeofValue(Box<Expr>),
    AlignofType(Box<TypeExpr>),
    /// `sizeof...(Ts)`.
    SizeofPack(Symbol),
    /// `pattern...` among arguments: once for each element of the packs among the names.
    Expansion {
        pattern: Box<Expr>,
        names: Vec<Symbol>,
    },
    /// `(pattern + ...)`, `(... + pattern)`, each also with a start value.
    Fold(Box<Fold>),
    /// `.field = value` in a list.
    Designated(Symbol, Box<Expr>),
    /// `{a, b}` as an initialiser.
    List(Vec<Expr>),
}

/// A fold of a pack with an operator; without one, with the comma.
#[derive(Clone, Debug)]
pub struct Fold {
    pub operation: Option<BinaryOp>,
    pub pattern: Expr,
    /// Names of the pattern.
    pub names: Vec<Symbol>,
    pub start: Option<Expr>,
    /// The first element is the last to be taken: `(pattern op ...)`.
    pub is_right: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    Plus,
    Minus,
    Not,
    Complement,
    AddressOf,
    Dereference,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    ShiftLeft,
    ShiftRight,
    And,
    Or,
    Xor,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    LogicalAnd,
    LogicalOr,
}

impl BinaryOp {
    pub fn text(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
            Self::And => "&",
            Self::Or => "|",
            Self::Xor => "^",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::LogicalAnd => "&&",
            Self::LogicalOr => "||",
        }
    }

    pub fn is_comparison(self) -> bool {
        matches!(
            self,
            Self::Less
                | Self::LessEqual
                | Self::Greater
                | Self::GreaterEqual
                | Self::Equal
                | Self::NotEqual
        )
    }
}

#[derive(Clone, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum StmtKind {
    Empty,
    Expr(Expr),
    Variables(Vec<Variable>),
    /// `auto [a, b] = value;`
    Bindings(Bindings),
    /// Statements without a scope of their own: a declaration that defines a struct and variables.
    Sequence(Vec<Stmt>),
    Item(Box<Item>),
    Block(Vec<Stmt>),
    If {
        condition: Condition,
        then: Box<Stmt>,
        otherwise: Option<Box<Stmt>>,
        is_constexpr: bool,
    },
    For {
        start: Box<Stmt>,
        condition: Option<Expr>,
        step: Option<Expr>,
        body: Box<Stmt>,
    },
    /// `for (variable : range)`.
    RangeFor {
        variable: Variable,
        range: Expr,
        body: Box<Stmt>,
    },
    While {
        condition: Condition,
        body: Box<Stmt>,
    },
    DoWhile {
        body: Box<Stmt>,
        condition: Expr,
    },
    Switch {
        value: Expr,
        body: Vec<Stmt>,
    },
    Case(Option<Expr>),
    Break,
    Continue,
    Return(Option<Expr>),
    /// A loop with what a pragma says about it.
    Hinted {
        unrolling: Unrolling,
        body: Box<Stmt>,
    },
}

#[derive(Clone, Debug)]
pub enum Unrolling {
    /// All iterations.
    Full,
    /// So many iterations at a time.
    Times(Expr),
    Never,
}

/// The condition of an `if`, with the declaration it may hold (`if (int n = f())`, `if (int n = f(); n > 2)`).
#[derive(Clone, Debug)]
pub struct Condition {
    pub start: Option<Box<Stmt>>,
    pub value: Expr,
}

/// Names for the fields of a struct or the elements of an array.
#[derive(Clone, Debug)]
pub struct Bindings {
    pub names: Vec<(Symbol, Span)>,
    pub value: Expr,
    /// `auto& [a, b]`: of the value itself, not of a copy.
    pub is_reference: bool,
    pub is_const: bool,
}

/// A declared variable.
#[allow(clippy::struct_excessive_bools)] // One for each word that may stand before it.
#[derive(Clone, Debug)]
pub struct Variable {
    pub name: Symbol,
    pub span: Span,
    pub ty: TypeExpr,
    pub start: Option<Expr>,
    pub is_constexpr: bool,
    pub is_static: bool,
    pub is_constant_memory: bool,
    pub is_device: bool,
    pub is_shared: bool,
    pub is_extern: bool,
    /// `alignas(…)`, `__align__(…)`.
    pub align: Option<Expr>,
    /// Of fields: the width of a bit-field.
    pub bits: Option<Expr>,
    /// Of fields: `union { … };` without a name, and bases, whose fields count as those of the struct.
    pub is_transparent: bool,
    /// Of fields.
    pub is_mutable: bool,
}

#[derive(Clone, Debug)]
pub enum Item {
    Function(Function),
    Struct(Struct),
    Enum(Enum),
    Alias {
        name: Symbol,
        ty: TypeExpr,
    },
    Variable(Variable),
    StaticAssert {
        condition: Expr,
        span: Span,
    },
    Template(Box<Template>),
    Namespace {
        path: Vec<Symbol>,
        /// Its names can be used around it: it is inline or has no name.
        is_open: bool,
        items: Vec<Item>,
    },
    /// `namespace name = target;`
    NamespaceAlias {
        name: Symbol,
        target: Vec<Symbol>,
    },
    UsingNamespace(Vec<Symbol>),
    /// `using a::name;`
    Using {
        name: Symbol,
        target: Symbol,
    },
    /// `template __global__ void f<float>(float*);` and kernels asked for by name.
    Instantiate {
        name: Symbol,
        arguments: Vec<TemplateArgument>,
        /// The text of the request, where it came from outside of the source.
        expression: Option<String>,
        span: Span,
    },
}

#[allow(clippy::struct_excessive_bools)] // One for each word that may stand before it.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: Symbol,
    pub span: Span,
    pub is_kernel: bool,
    pub launch_bounds: Option<(Expr, Option<Expr>)>,
    pub return_type: TypeExpr,
    pub parameters: Vec<Parameter>,
    /// `None` for a declaration.
    pub body: Option<Vec<Stmt>>,
    pub is_never_inlined: bool,
    /// A member function for volatile objects.
    pub is_volatile: bool,
    pub is_constexpr: bool,
    /// Of constructors and conversions: only where it is written.
    pub is_explicit: bool,
    /// `operator type()`.
    pub is_conversion: bool,
    /// Of members.
    pub role: Role,
    /// Of constructors: `: field(value), …`.
    pub initialisers: Vec<Initialiser>,
}

/// What kind of member a function is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    #[default]
    Free,
    Method,
    ConstMethod,
    StaticMethod,
    Constructor,
    Destructor,
}

/// `field(value)` before the body of a constructor.
#[derive(Clone, Debug)]
pub struct Initialiser {
    pub name: Symbol,
    /// `Base<T>(…)`.
    pub arguments: Option<Vec<TemplateArgument>>,
    pub span: Span,
    pub values: Vec<Expr>,
}

#[derive(Clone, Debug)]
pub struct Parameter {
    pub name: Option<Symbol>,
    pub span: Span,
    pub ty: TypeExpr,
    /// The default argument.
    pub start: Option<Expr>,
    /// `Ts... values`: the names in the type.
    pub pack: Option<Vec<Symbol>>,
}

#[derive(Clone, Debug)]
pub struct Struct {
    pub name: Symbol,
    pub span: Span,
    pub fields: Vec<Variable>,
    /// Functions, types and constants that belong to the struct.
    pub members: Vec<Item>,
    pub align: Option<Expr>,
    /// How many of the fields, from the first, are bases.
    pub bases: usize,
    pub is_union: bool,
    /// `struct name;`
    pub is_declaration: bool,
}

#[derive(Clone, Debug)]
pub struct Enum {
    pub name: Option<Symbol>,
    pub span: Span,
    pub is_scoped: bool,
    pub underlying: Option<TypeExpr>,
    pub values: Vec<(Symbol, Span, Option<Expr>)>,
}
