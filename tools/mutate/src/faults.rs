//! The faults of one function body: what a tired person might have written instead.

use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Arm, BinOp, Block, Expr, ExprBinary, ExprIf, ExprLit, ExprMatch, ExprMethodCall, ExprRange,
    ExprUnary, ExprWhile, GenericArgument, Item, Lit, Pat, PathArguments, RangeLimits, ReturnType,
    Signature, Stmt, Type, UnOp,
};

use crate::functions::bytes;

/// One edit of the source text.
#[derive(Debug, PartialEq)]
pub struct Edit {
    pub operator: &'static str,
    pub place: Range<usize>,
    pub line: usize,
    pub after: String,
}

/// Every fault that can be put into `body`, the body of a function with this signature in the file `text`.
pub fn faults_of_body(signature: &Signature, body: &Block, text: &str) -> Vec<Edit> {
    let mut visitor = Faults {
        text,
        found: Vec::new(),
    };
    visitor.visit_block(body);
    if !body.stmts.is_empty() {
        for value in constant_results(&signature.output) {
            let whole = format!("{{ {value} }}");
            // A body that is the constant already would give a mutant that changes nothing.
            if text[bytes(body)]
                .split_whitespace()
                .ne(whole.split_whitespace())
            {
                visitor.add("body", body, whole);
            }
        }
    }
    visitor.found
}

struct Faults<'a> {
    text: &'a str,
    found: Vec<Edit>,
}

impl Faults<'_> {
    fn add(&mut self, operator: &'static str, at: &impl Spanned, after: impl Into<String>) {
        let span = at.span();
        self.found.push(Edit {
            operator,
            place: span.byte_range(),
            line: span.start().line,
            after: after.into(),
        });
    }

    fn negate(&mut self, condition: &Expr) {
        if !contains_let(condition) {
            let after = format!("!({})", &self.text[bytes(condition)]);
            self.add("condition", condition, after);
        }
    }
}

impl<'ast> Visit<'ast> for Faults<'_> {
    // Types hold lengths and generic arguments, and items constants: the compiler needs their values.
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_path_arguments(&mut self, _: &'ast PathArguments) {}
    fn visit_item(&mut self, item: &'ast Item) {
        if let Item::Fn(inner) = item
            && inner.sig.constness.is_none()
        {
            visit::visit_item(self, item);
        }
    }

    fn visit_expr_binary(&mut self, expression: &'ast ExprBinary) {
        for after in other_operators(&expression.op) {
            let operator = match expression.op {
                BinOp::And(_) | BinOp::Or(_) => "logic",
                BinOp::Eq(_)
                | BinOp::Ne(_)
                | BinOp::Lt(_)
                | BinOp::Le(_)
                | BinOp::Gt(_)
                | BinOp::Ge(_) => "comparison",
                _ => "arithmetic",
            };
            self.add(operator, &expression.op, *after);
        }
        visit::visit_expr_binary(self, expression);
    }

    fn visit_expr_unary(&mut self, expression: &'ast ExprUnary) {
        if matches!(expression.op, UnOp::Neg(_) | UnOp::Not(_)) {
            let operand = self.text[bytes(&*expression.expr)].to_string();
            self.add("sign", expression, operand);
        }
        visit::visit_expr_unary(self, expression);
    }

    fn visit_expr_lit(&mut self, expression: &'ast ExprLit) {
        match &expression.lit {
            Lit::Bool(value) => self.add("constant", expression, (!value.value).to_string()),
            Lit::Int(value) => {
                if let Ok(number) = value.base10_parse::<u128>() {
                    let suffix = value.suffix();
                    self.add(
                        "constant",
                        expression,
                        format!("{}{suffix}", number.saturating_add(1)),
                    );
                    if number > 0 {
                        self.add("constant", expression, format!("{}{suffix}", number - 1));
                    }
                }
            }
            Lit::Float(value) => {
                let text = &self.text[bytes(expression)];
                self.add(
                    "constant",
                    expression,
                    format!("({text} + 1.0{})", value.suffix()),
                );
            }
            _ => {}
        }
    }

    // A literal in a pattern is an expression to syn, but not one that may be computed.
    fn visit_pat(&mut self, pattern: &'ast Pat) {
        if let Pat::Lit(literal) = pattern
            && let Lit::Int(value) = &literal.lit
            && let Ok(number) = value.base10_parse::<u128>()
        {
            self.add(
                "constant",
                literal,
                format!("{}{}", number.saturating_add(1), value.suffix()),
            );
        }
        if !matches!(pattern, Pat::Lit(_) | Pat::Range(_)) {
            visit::visit_pat(self, pattern);
        }
    }

    fn visit_expr_if(&mut self, expression: &'ast ExprIf) {
        self.negate(&expression.cond);
        visit::visit_expr_if(self, expression);
    }

    fn visit_expr_while(&mut self, expression: &'ast ExprWhile) {
        self.negate(&expression.cond);
        visit::visit_expr_while(self, expression);
    }

    fn visit_expr_range(&mut self, expression: &'ast ExprRange) {
        if expression.end.is_some() {
            match expression.limits {
                RangeLimits::HalfOpen(dots) => self.add("range", &dots, "..="),
                RangeLimits::Closed(dots) => self.add("range", &dots, ".."),
            }
        }
        visit::visit_expr_range(self, expression);
    }

    fn visit_expr_match(&mut self, expression: &'ast ExprMatch) {
        if let Some((last, others)) = expression.arms.split_last()
            && last.guard.is_none()
            && matches!(last.pat, Pat::Wild(_) | Pat::Ident(_))
        {
            for arm in others {
                self.add("arm", arm, "");
            }
        }
        visit::visit_expr_match(self, expression);
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        if let Some((_, guard)) = &arm.guard
            && !contains_let(guard)
        {
            self.add("condition", &**guard, "true");
            self.add("condition", &**guard, "false");
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        for after in other_methods(&call.method.to_string()) {
            self.add("method", &call.method, *after);
        }
        if call.method == "rev" && call.args.is_empty() {
            let receiver = self.text[bytes(&*call.receiver)].to_string();
            self.add("method", call, receiver);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if let Stmt::Expr(expression, Some(_)) = statement {
            match expression {
                Expr::Call(_) | Expr::MethodCall(_) | Expr::Assign(_) | Expr::Try(_) => {
                    self.add("statement", statement, "{}")
                }
                Expr::Binary(binary) if is_assignment(&binary.op) => {
                    self.add("statement", statement, "{}")
                }
                Expr::Continue(jump) if jump.label.is_none() => {
                    self.add("statement", statement, "break;")
                }
                _ => {}
            }
        }
        visit::visit_stmt(self, statement);
    }
}

fn contains_let(condition: &Expr) -> bool {
    struct Search(bool);
    impl<'ast> Visit<'ast> for Search {
        fn visit_expr_let(&mut self, _: &'ast syn::ExprLet) {
            self.0 = true;
        }
        fn visit_block(&mut self, _: &'ast Block) {}
    }
    let mut search = Search(false);
    search.visit_expr(condition);
    search.0
}

fn is_assignment(operator: &BinOp) -> bool {
    !other_operators(operator).is_empty()
        && other_operators(operator)
            .iter()
            .all(|text| text.len() > 1 && text.ends_with('='))
        && !matches!(
            operator,
            BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_)
        )
}

fn other_operators(operator: &BinOp) -> &'static [&'static str] {
    match operator {
        BinOp::Add(_) => &["-", "*"],
        BinOp::Sub(_) => &["+"],
        BinOp::Mul(_) => &["/", "+"],
        BinOp::Div(_) => &["*", "%"],
        BinOp::Rem(_) => &["/"],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::BitXor(_) => &["|", "&"],
        BinOp::BitAnd(_) => &["|", "^"],
        BinOp::BitOr(_) => &["&", "^"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::Lt(_) => &["<=", ">"],
        BinOp::Le(_) => &["<", ">="],
        BinOp::Gt(_) => &[">=", "<"],
        BinOp::Ge(_) => &[">", "<="],
        BinOp::AddAssign(_) => &["-=", "="],
        BinOp::SubAssign(_) => &["+=", "="],
        BinOp::MulAssign(_) => &["/=", "="],
        BinOp::DivAssign(_) | BinOp::RemAssign(_) => &["*="],
        BinOp::BitXorAssign(_) => &["|="],
        BinOp::BitAndAssign(_) => &["|="],
        BinOp::BitOrAssign(_) => &["&=", "="],
        BinOp::ShlAssign(_) => &[">>="],
        BinOp::ShrAssign(_) => &["<<="],
        _ => &[],
    }
}

fn other_methods(name: &str) -> &'static [&'static str] {
    match name {
        "min" => &["max"],
        "max" => &["min"],
        "any" => &["all"],
        "all" => &["any"],
        "is_some" => &["is_none"],
        "is_none" => &["is_some"],
        "is_ok" => &["is_err"],
        "is_err" => &["is_ok"],
        "first" => &["last"],
        "last" => &["first"],
        "push_back" => &["push_front"],
        "push_front" => &["push_back"],
        "pop_back" => &["pop_front"],
        "pop_front" => &["pop_back"],
        "wrapping_add" => &["wrapping_sub"],
        "wrapping_sub" => &["wrapping_add"],
        "wrapping_shl" => &["wrapping_shr"],
        "wrapping_shr" => &["wrapping_shl"],
        "saturating_add" => &["wrapping_add", "saturating_sub"],
        "saturating_sub" => &["wrapping_sub", "saturating_add"],
        "checked_add" => &["checked_sub"],
        "checked_sub" => &["checked_add"],
        "leading_zeros" => &["trailing_zeros"],
        "trailing_zeros" => &["leading_zeros"],
        "take_while" => &["skip_while"],
        "skip_while" => &["take_while"],
        "floor" => &["ceil"],
        "ceil" => &["floor"],
        _ => &[],
    }
}

/// Values of the return type that a forgotten implementation could give.
fn constant_results(output: &ReturnType) -> Vec<String> {
    match output {
        ReturnType::Default => vec![String::new()],
        ReturnType::Type(_, kind) => constants_of(kind),
    }
}

fn constants_of(kind: &Type) -> Vec<String> {
    let values = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
    match kind {
        Type::Tuple(tuple) if tuple.elems.is_empty() => values(&["()"]),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else {
                return Vec::new();
            };
            match last.ident.to_string().as_str() {
                "bool" => values(&["true", "false"]),
                "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64"
                | "i128" | "isize" => values(&["0", "1"]),
                "f32" | "f64" => values(&["0.0", "1.0"]),
                "String" => values(&["String::new()"]),
                "Vec" => values(&["Vec::new()"]),
                "Option" => values(&["None"]),
                "Result" => first_argument(&last.arguments)
                    .map(constants_of)
                    .unwrap_or_default()
                    .iter()
                    .map(|value| format!("Ok({value})"))
                    .collect(),
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

fn first_argument(arguments: &PathArguments) -> Option<&Type> {
    let PathArguments::AngleBracketed(list) = arguments else {
        return None;
    };
    list.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(kind) => Some(kind),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
