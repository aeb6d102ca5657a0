//! Names as small numbers, so that comparing and hashing them is free. Words the language gives a meaning to come first and
//! are constants in [`words`].

/// An interned name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Symbol(pub u32);

/// Open-addressing table from text to [`Symbol`]; cheap to clone, which is how the device library is shared by compiles.
#[derive(Clone, Debug)]
pub struct Interner {
    text: String,
    ranges: Vec<(u32, u32)>,
    slots: Vec<u32>,
}

const EMPTY: u32 = u32::MAX;

fn hash(text: &str) -> usize {
    // FNV-1a, 64 bit: short keys, no adversary gains more than a slower compile of a bounded source.
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for byte in text.bytes() {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    (state ^ (state >> 29)) as usize
}

impl Interner {
    /// An interner that knows the words of the language.
    pub fn new() -> Self {
        let mut interner = Self {
            text: String::new(),
            ranges: Vec::new(),
            slots: vec![EMPTY; 1024],
        };
        for word in words::ALL {
            interner.intern(word);
        }
        interner
    }

    /// The symbol of `text`, made on first sight.
    pub fn intern(&mut self, text: &str) -> Symbol {
        let mask = self.slots.len() - 1;
        let mut slot = hash(text) & mask;
        loop {
            let entry = self.slots[slot];
            if entry == EMPTY {
                break;
            }
            if self.text_of(Symbol(entry)) == text {
                return Symbol(entry);
            }
            slot = (slot + 1) & mask;
        }
        let symbol = Symbol(self.ranges.len() as u32);
        let start = self.text.len() as u32;
        self.text.push_str(text);
        self.ranges.push((start, self.text.len() as u32));
        self.slots[slot] = symbol.0;
        if self.ranges.len() * 2 > self.slots.len() {
            self.grow();
        }
        symbol
    }

    /// The text of a symbol of this interner.
    pub fn text_of(&self, symbol: Symbol) -> &str {
        let (start, end) = self.ranges[symbol.0 as usize];
        &self.text[start as usize..end as usize]
    }

    /// How many symbols exist.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 2;
        let mut slots = vec![EMPTY; size];
        for index in 0..self.ranges.len() {
            let mut slot = hash(self.text_of(Symbol(index as u32))) & (size - 1);
            while slots[slot] != EMPTY {
                slot = (slot + 1) & (size - 1);
            }
            slots[slot] = index as u32;
        }
        self.slots = slots;
    }
}

macro_rules! words {
    ($($name:ident $text:literal)*) => {
        /// Words with a meaning to the compiler, as constants.
        pub mod words {
            use super::Symbol;
            #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
            #[repr(u32)]
            enum Index { $($name),* }
            $(pub const $name: Symbol = Symbol(Index::$name as u32);)*
            /// Their texts, in symbol order.
            pub const ALL: &[&str] = &[$($text),*];
        }
    };
}

words! {
    VOID "void" BOOL "bool" CHAR "char" SHORT "short" INT "int" LONG "long" FLOAT "float" DOUBLE "double" HALF "_Float16" BFLOAT16 "__bf16" SIGNED "signed"
    UNSIGNED "unsigned" AUTO "auto" CONST "const" VOLATILE "volatile" STATIC "static" EXTERN "extern" INLINE "inline"
    CONSTEXPR "constexpr" STRUCT "struct" CLASS "class" UNION "union" ENUM "enum" TYPEDEF "typedef" USING "using"
    NAMESPACE "namespace" TEMPLATE "template" TYPENAME "typename" IF "if" ELSE "else" FOR "for" WHILE "while" DO "do"
    SWITCH "switch" CASE "case" DEFAULT "default" BREAK "break" CONTINUE "continue" RETURN "return" GOTO "goto"
    SIZEOF "sizeof" TRUE "true" FALSE "false" NULLPTR "nullptr" STATIC_CAST "static_cast"
    REINTERPRET_CAST "reinterpret_cast" CONST_CAST "const_cast" DYNAMIC_CAST "dynamic_cast" REGISTER "register"
    GLOBAL "__global__" DEVICE "__device__" HOST "__host__" SHARED "__shared__" CONSTANT "__constant__"
    MANAGED "__managed__" RESTRICT "__restrict__" RESTRICT2 "__restrict" LAUNCH_BOUNDS "__launch_bounds__"
    FORCEINLINE "__forceinline__" NOINLINE "__noinline__" ATTRIBUTE "__attribute__" ALIGN "__align__" ALIGNAS "alignas"
    INLINE2 "__inline__" INLINE3 "__inline" NOEXCEPT "noexcept" NEW "new" DELETE "delete" THROW "throw" TRY "try" OPERATOR "operator"
    VIRTUAL "virtual" ASM "asm" ASM2 "__asm__" STATIC_ASSERT "static_assert" ALIGNOF "alignof" LAMBDA_THIS "this"
    THREAD_IDX "threadIdx" BLOCK_IDX "blockIdx" BLOCK_DIM "blockDim" GRID_DIM "gridDim" WARP_SIZE "warpSize"
    PRINTF "printf" ASSERT "assert" NO_ASSERT "__agpu_no_assert" NDEBUG "NDEBUG" ABORT "abort" TRAP "__trap"
    ASSERTION_FAILED "__agpu_assertion_failed" FAIL "__agpu_fail" PRINT_BEGIN "__agpu_print_begin" PRINT_WORD "__agpu_print_word"
    PRINT_LONG "__agpu_print_long" PRINT_DOUBLE "__agpu_print_double" PRINT_STRING "__agpu_print_string"
    STRING_BYTES "__agpu_string_bytes" PRINT_END "__agpu_print_end"

    X "x" Y "y" Z "z" STD "std" COOPERATIVE_GROUPS "cooperative_groups" PUBLIC "public" PRIVATE "private"
    DEFINE "define" UNDEF "undef" IFDEF "ifdef" IFNDEF "ifndef" ELIF "elif" ELIFDEF "elifdef" ELIFNDEF "elifndef"
    ENDIF "endif" INCLUDE "include" PRAGMA "pragma" ERROR "error" WARNING "warning" LINE "line"
    DEFINED "defined" VA_ARGS "__VA_ARGS__" FILE_MACRO "__FILE__" LINE_MACRO "__LINE__" COUNTER_MACRO "__COUNTER__"
    HAS_INCLUDE "__has_include"
    PROTECTED "protected" FRIEND "friend" EXPLICIT "explicit" MUTABLE "mutable" INSTANTIATE "__agpu_instantiate"
    DECLTYPE "decltype" PRAGMA_OPERATOR "_Pragma" UNROLL "unroll" NOUNROLL "nounroll" GCC "GCC" CLANG "clang" LOOP "loop"
    UNROLL_COUNT "unroll_count" DISABLE "disable" THREAD_LOCAL "thread_local" CONCEPT "concept" REQUIRES "requires" TYPEID "typeid"
    CATCH "catch" FINAL "final" OPERATOR_ARROW "operator->"
    IS_SAME "__is_same" FORWARD "forward" MOVE "move"
    OPERATOR_ADD "operator+" OPERATOR_SUBTRACT "operator-" OPERATOR_MULTIPLY "operator*" OPERATOR_DIVIDE "operator/"
    OPERATOR_REMAINDER "operator%" OPERATOR_SHIFT_LEFT "operator<<" OPERATOR_SHIFT_RIGHT "operator>>" OPERATOR_AND "operator&"
    OPERATOR_OR "operator|" OPERATOR_XOR "operator^" OPERATOR_LESS "operator<" OPERATOR_LESS_EQUAL "operator<="
    OPERATOR_GREATER "operator>" OPERATOR_GREATER_EQUAL "operator>=" OPERATOR_EQUAL "operator==" OPERATOR_NOT_EQUAL "operator!="
    OPERATOR_NOT "operator!" OPERATOR_COMPLEMENT "operator~" OPERATOR_CALL "operator()" OPERATOR_INDEX "operator[]"
    OPERATOR_ASSIGN "operator=" OPERATOR_INCREMENT "operator++" OPERATOR_DECREMENT "operator--"
    ASSIGN_ADD "operator+=" ASSIGN_SUBTRACT "operator-=" ASSIGN_MULTIPLY "operator*=" ASSIGN_DIVIDE "operator/="
    ASSIGN_REMAINDER "operator%=" ASSIGN_SHIFT_LEFT "operator<<=" ASSIGN_SHIFT_RIGHT "operator>>=" ASSIGN_AND "operator&="
    ASSIGN_OR "operator|=" ASSIGN_XOR "operator^="
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_gives_the_same_symbol() {
        let mut interner = Interner::new();
        let first = interner.intern("alpha");
        for index in 0..5000 {
            interner.intern(&format!("name{index}"));
        }
        assert_eq!(first, interner.intern("alpha"));
        assert_eq!(
            "name4999",
            interner.text_of(Symbol(interner.len() as u32 - 1))
        );
    }

    #[test]
    fn words_have_their_constants() {
        let mut interner = Interner::new();
        assert_eq!(words::GLOBAL, interner.intern("__global__"));
        assert_eq!(words::HAS_INCLUDE, interner.intern("__has_include"));
    }
}
