//! Types of HIP-C, with the sizes every target shares (LP64, `char` is signed).

use crate::interner::Symbol;
use rustc_hash::{FxHashMap, FxHashSet};

/// Arithmetic types. `char`, `signed char` and the 64-bit pairs are distinct types of equal representation, as in C++.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum ScalarType {
    Bool,
    Char,
    SignedChar,
    UnsignedChar,
    Short,
    UnsignedShort,
    Int,
    UnsignedInt,
    Long,
    UnsignedLong,
    LongLong,
    UnsignedLongLong,
    /// IEEE binary16. A storage type to the middle of the compiler: arithmetic is that of `float`, rounded once more, which for
    /// `+ - * /` gives the correctly rounded result.
    Half,
    /// The upper half of a `float`; computes like [`Self::Half`].
    BFloat16,
    Float,
    Double,
}

impl ScalarType {
    pub fn bytes(self) -> u32 {
        match self {
            Self::Bool | Self::Char | Self::SignedChar | Self::UnsignedChar => 1,
            Self::Short | Self::UnsignedShort | Self::Half | Self::BFloat16 => 2,
            Self::Int | Self::UnsignedInt | Self::Float => 4,
            Self::Long
            | Self::UnsignedLong
            | Self::LongLong
            | Self::UnsignedLongLong
            | Self::Double => 8,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(
            self,
            Self::Half | Self::BFloat16 | Self::Float | Self::Double
        )
    }

    /// Half or bfloat16.
    pub fn is_narrow_float(self) -> bool {
        matches!(self, Self::Half | Self::BFloat16)
    }

    pub fn is_signed(self) -> bool {
        matches!(
            self,
            Self::Char | Self::SignedChar | Self::Short | Self::Int | Self::Long | Self::LongLong
        )
    }

    /// C's conversion rank.
    pub fn rank(self) -> u32 {
        match self {
            Self::Bool => 0,
            Self::Char | Self::SignedChar | Self::UnsignedChar => 1,
            Self::Short | Self::UnsignedShort => 2,
            Self::Int | Self::UnsignedInt => 3,
            Self::Long | Self::UnsignedLong => 4,
            Self::LongLong | Self::UnsignedLongLong => 5,
            Self::Half => 6,
            Self::BFloat16 => 7,
            Self::Float => 8,
            Self::Double => 9,
        }
    }

    pub fn to_unsigned(self) -> Self {
        match self {
            Self::Char | Self::SignedChar => Self::UnsignedChar,
            Self::Short => Self::UnsignedShort,
            Self::Int => Self::UnsignedInt,
            Self::Long => Self::UnsignedLong,
            Self::LongLong => Self::UnsignedLongLong,
            other => other,
        }
    }

    /// The integer promotions.
    pub fn promoted(self) -> Self {
        if self.rank() < Self::Int.rank() {
            Self::Int
        } else {
            self
        }
    }

    /// The usual arithmetic conversions.
    pub fn common(self, other: Self) -> Self {
        if self != other && self.is_narrow_float() && other.is_narrow_float() {
            return Self::Float;
        }
        if self.is_float() || other.is_float() {
            return if self.rank() >= other.rank() {
                self
            } else {
                other
            };
        }
        let (left, right) = (self.promoted(), other.promoted());
        if left == right {
            return left;
        }
        let (high, low) = if left.rank() >= right.rank() {
            (left, right)
        } else {
            (right, left)
        };
        if left.is_signed() == right.is_signed() {
            return high;
        }
        let (signed, unsigned) = if left.is_signed() {
            (left, right)
        } else {
            (right, left)
        };
        if unsigned.rank() >= signed.rank() {
            unsigned
        } else if signed.bytes() > unsigned.bytes() {
            signed
        } else {
            debug_assert!(high == signed && low == unsigned);
            signed.to_unsigned()
        }
    }

    pub fn text(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Char => "char",
            Self::SignedChar => "signed char",
            Self::UnsignedChar => "unsigned char",
            Self::Short => "short",
            Self::UnsignedShort => "unsigned short",
            Self::Int => "int",
            Self::UnsignedInt => "unsigned int",
            Self::Long => "long",
            Self::UnsignedLong => "unsigned long",
            Self::LongLong => "long long",
            Self::UnsignedLongLong => "unsigned long long",
            Self::Half => "__half",
            Self::BFloat16 => "__hip_bfloat16",
            Self::Float => "float",
            Self::Double => "double",
        }
    }

    /// A value of this integer type, from the low bits of `value`.
    pub fn wrap(self, value: i64) -> i64 {
        match (self, self.bytes()) {
            (Self::Bool, _) => i64::from(value != 0),
            (_, 1) if self.is_signed() => i64::from(value as i8),
            (_, 1) => i64::from(value as u8),
            (_, 2) if self.is_signed() => i64::from(value as i16),
            (_, 2) => i64::from(value as u16),
            (_, 4) if self.is_signed() => i64::from(value as i32),
            (_, 4) => i64::from(value as u32),
            _ => value,
        }
    }
}

/// A type, as an index into the [`TypeTable`]; equal types have equal numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct TypeId(pub u32);

/// What a [`TypeId`] stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// The type of an expression that has an error; fits everything, so that one mistake is told once.
    Error,
    Void,
    Scalar(ScalarType),
    Pointer {
        pointee: TypeId,
        is_const: bool,
        is_volatile: bool,
    },
    Array {
        element: TypeId,
        length: u64,
    },
    Struct(StructId),
    Enum(EnumId),
    /// `nullptr`.
    Null,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StructId(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EnumId(pub u32);

#[allow(clippy::struct_excessive_bools)] // Each is a fact of its own.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: Symbol,
    pub ty: TypeId,
    /// Of bit-fields: that of the unit they lie in.
    pub offset: u64,
    pub bits: Option<BitRange>,
    /// Its fields count as those of the struct: a base, or a union without a name.
    pub is_transparent: bool,
    pub is_base: bool,
    /// Written through const objects too.
    pub is_mutable: bool,
    /// Of volatile fields: the type of a pointer to them.
    pub volatile_pointer: Option<TypeId>,
}

/// Which bits of its unit a bit-field has, counted from the lowest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BitRange {
    pub shift: u8,
    pub width: u8,
}

#[derive(Clone, Debug)]
pub struct StructType {
    pub name: String,
    pub fields: Vec<Field>,
    pub bytes: u64,
    pub align: u64,
    pub is_union: bool,
}

#[derive(Clone, Debug)]
pub struct EnumType {
    pub name: String,
    pub underlying: ScalarType,
    /// `enum class`: no implicit conversion to integers.
    pub is_scoped: bool,
}

/// Largest object a kernel may declare or point into by constant size, in bytes: what 32-bit scratch offsets can reach.
pub const MAX_OBJECT_BYTES: u64 = 1 << 31;

/// All types of one compile.
#[derive(Clone, Debug)]
pub struct TypeTable {
    types: Vec<Type>,
    index: FxHashMap<Type, TypeId>,
    pub structs: Vec<StructType>,
    pub enums: Vec<EnumType>,
}

impl TypeTable {
    pub const ERROR: TypeId = TypeId(0);
    pub const VOID: TypeId = TypeId(1);
    pub const BOOL: TypeId = TypeId(2);
    pub const INT: TypeId = TypeId(3);
    pub const UNSIGNED_INT: TypeId = TypeId(4);
    pub const LONG: TypeId = TypeId(5);
    pub const UNSIGNED_LONG: TypeId = TypeId(6);
    pub const NULL: TypeId = TypeId(9);

    pub fn new() -> Self {
        let mut table = Self {
            types: Vec::new(),
            index: FxHashMap::default(),
            structs: Vec::new(),
            enums: Vec::new(),
        };
        for ty in [
            Type::Error,
            Type::Void,
            Type::Scalar(ScalarType::Bool),
            Type::Scalar(ScalarType::Int),
            Type::Scalar(ScalarType::UnsignedInt),
            Type::Scalar(ScalarType::Long),
            Type::Scalar(ScalarType::UnsignedLong),
            Type::Scalar(ScalarType::Float),
            Type::Scalar(ScalarType::Double),
            Type::Null,
        ] {
            table.intern(ty);
        }
        table
    }

    pub fn intern(&mut self, ty: Type) -> TypeId {
        if let Some(&id) = self.index.get(&ty) {
            return id;
        }
        let id = TypeId(self.types.len() as u32);
        self.types.push(ty);
        self.index.insert(ty, id);
        id
    }

    /// The number of a type that exists already.
    pub fn find(&self, ty: Type) -> Option<TypeId> {
        self.index.get(&ty).copied()
    }

    pub fn get(&self, id: TypeId) -> Type {
        self.types[id.0 as usize]
    }

    pub fn scalar(&mut self, scalar: ScalarType) -> TypeId {
        self.intern(Type::Scalar(scalar))
    }

    pub fn pointer(&mut self, pointee: TypeId, is_const: bool) -> TypeId {
        self.qualified_pointer(pointee, is_const, false)
    }

    pub fn qualified_pointer(
        &mut self,
        pointee: TypeId,
        is_const: bool,
        is_volatile: bool,
    ) -> TypeId {
        self.intern(Type::Pointer {
            pointee,
            is_const,
            is_volatile,
        })
    }

    /// The arithmetic type a value of this type computes in; enums compute in their underlying type.
    pub fn as_scalar(&self, id: TypeId) -> Option<ScalarType> {
        match self.get(id) {
            Type::Scalar(scalar) => Some(scalar),
            Type::Enum(index) if !self.enums[index.0 as usize].is_scoped => {
                Some(self.enums[index.0 as usize].underlying)
            }
            _ => None,
        }
    }

    /// How a value of this type is represented: like [`Self::as_scalar`], scoped enums included.
    pub fn representation(&self, id: TypeId) -> Option<ScalarType> {
        match self.get(id) {
            Type::Enum(index) => Some(self.enums[index.0 as usize].underlying),
            _ => self.as_scalar(id),
        }
    }

    pub fn bytes(&self, id: TypeId) -> u64 {
        match self.get(id) {
            Type::Error | Type::Void => 1,
            Type::Scalar(scalar) => u64::from(scalar.bytes()),
            Type::Pointer { .. } | Type::Null => 8,
            Type::Array { element, length } => self.bytes(element).saturating_mul(length),
            Type::Struct(index) => self.structs[index.0 as usize].bytes,
            Type::Enum(index) => u64::from(self.enums[index.0 as usize].underlying.bytes()),
        }
    }

    /// Whether the type, or the type of a part of it however deep, is wanted. Looks at each type once: a struct of two structs of two
    /// structs has many parts and few types.
    pub fn any_part(&self, id: TypeId, mut is_wanted: impl FnMut(TypeId) -> bool) -> bool {
        let mut waiting = vec![id];
        let mut seen: FxHashSet<TypeId> = FxHashSet::default();
        while let Some(part) = waiting.pop() {
            crate::effort::spend(1);
            if is_wanted(part) {
                return true;
            }
            match self.get(part) {
                Type::Array { element, .. } => waiting.push(element),
                Type::Struct(index) => {
                    for field in &self.structs[index.0 as usize].fields {
                        let is_compound =
                            matches!(self.get(field.ty), Type::Array { .. } | Type::Struct(_));
                        if is_compound && seen.insert(field.ty) {
                            waiting.push(field.ty);
                        }
                    }
                }
                _ => {}
            }
        }
        false
    }

    pub fn align(&self, id: TypeId) -> u64 {
        match self.get(id) {
            Type::Array { element, .. } => self.align(element),
            Type::Struct(index) => self.structs[index.0 as usize].align,
            _ => self.bytes(id),
        }
    }

    /// The type as the user writes it.
    pub fn text(&self, id: TypeId) -> String {
        match self.get(id) {
            Type::Error => "<error>".to_owned(),
            Type::Void => "void".to_owned(),
            Type::Scalar(scalar) => scalar.text().to_owned(),
            Type::Pointer {
                pointee,
                is_const,
                is_volatile,
            } => format!(
                "{}{}{}*",
                if is_const { "const " } else { "" },
                if is_volatile { "volatile " } else { "" },
                self.text(pointee)
            ),
            Type::Array { element, length } => {
                // `float a[2][3]` has the outer length first.
                let mut lengths = format!("[{length}]");
                let mut inner = element;
                while let Type::Array { element, length } = self.get(inner) {
                    lengths = format!("{lengths}[{length}]");
                    inner = element;
                }
                format!("{}{lengths}", self.text(inner))
            }
            Type::Struct(index) => self.structs[index.0 as usize].name.clone(),
            Type::Enum(index) => self.enums[index.0 as usize].name.clone(),
            Type::Null => "nullptr_t".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ScalarType as S;

    #[test]
    fn usual_arithmetic_conversions_follow_the_standard() {
        assert_eq!(S::Char.common(S::UnsignedChar), S::Int);
        assert_eq!(S::Int.common(S::UnsignedInt), S::UnsignedInt);
        assert_eq!(S::UnsignedInt.common(S::Long), S::Long);
        assert_eq!(S::UnsignedLong.common(S::LongLong), S::UnsignedLongLong);
        assert_eq!(S::UnsignedLongLong.common(S::Float), S::Float);
        assert_eq!(S::Float.common(S::Double), S::Double);
        assert_eq!(S::Bool.common(S::Bool), S::Int);
    }

    #[test]
    fn types_are_written_as_in_the_source() {
        let mut table = TypeTable::new();
        let float = table.scalar(S::Float);
        let pointer = table.pointer(float, true);
        let row = table.intern(Type::Array {
            element: pointer,
            length: 3,
        });
        let matrix = table.intern(Type::Array {
            element: row,
            length: 2,
        });
        assert_eq!(table.text(matrix), "const float*[2][3]");
        assert_eq!(table.bytes(matrix), 48);
    }
}
