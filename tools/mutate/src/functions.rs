//! The functions of a file whose bodies can be switched at run time, and the faults of each.

use std::ops::Range;

use serde::Serialize;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, Item, ItemFn, ItemImpl, ItemMod, ItemTrait, Signature, TraitItemFn};

use crate::configuration::is_compiled;
use crate::faults::{Edit, faults_of_body};
use crate::modules::SourceFile;

/// One fault, as `./x mutate` reads it. Offsets count bytes of the file.
#[derive(Serialize)]
pub struct Fault {
    file: String,
    line: usize,
    function: String,
    operator: &'static str,
    before: String,
    after: String,
    edit: (usize, usize),
    /// The body of the outermost function around the edit, braces included.
    body: (usize, usize),
}

/// All faults of one file.
pub fn faults_of_file(file: &SourceFile) -> Vec<Fault> {
    let mut visitor = Functions {
        file,
        path: Vec::new(),
        found: Vec::new(),
    };
    visitor.visit_file(&file.syntax);
    visitor.found
}

struct Functions<'a> {
    file: &'a SourceFile,
    /// Names of the modules and types around the function.
    path: Vec<String>,
    found: Vec<Fault>,
}

impl Functions<'_> {
    fn function(&mut self, signature: &Signature, body: &Block) {
        // The switch is read at run time, which a constant function cannot do.
        if signature.constness.is_some() {
            return;
        }
        let mut names = self.path.clone();
        names.push(signature.ident.to_string());
        let around = bytes(body);
        for Edit {
            operator,
            place,
            line,
            after,
        } in faults_of_body(signature, body, &self.file.text)
        {
            self.found.push(Fault {
                file: self.file.path.to_string_lossy().into_owned(),
                line,
                function: names.join("::"),
                operator,
                before: self.file.text[place.clone()].to_string(),
                after,
                edit: (place.start, place.end),
                body: (around.start, around.end),
            });
        }
    }

    fn inside(&mut self, name: String, walk: impl FnOnce(&mut Self)) {
        self.path.push(name);
        walk(self);
        self.path.pop();
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        // The value of a constant is computed by the compiler, where there is no switch.
        if !matches!(item, Item::Const(_) | Item::Static(_) | Item::Macro(_)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if is_compiled(&module.attrs) {
            self.inside(module.ident.to_string(), |this| {
                visit::visit_item_mod(this, module)
            });
        }
    }

    fn visit_item_impl(&mut self, block: &'ast ItemImpl) {
        let is_debug = block.trait_.as_ref().is_some_and(|(_, path, _)| {
            path.segments
                .last()
                .is_some_and(|last| last.ident == "Debug")
        });
        if is_compiled(&block.attrs) && !is_debug {
            let name = self.file.text[bytes(&*block.self_ty)].to_string();
            self.inside(name, |this| visit::visit_item_impl(this, block));
        }
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        if is_compiled(&item.attrs) {
            self.inside(item.ident.to_string(), |this| {
                visit::visit_item_trait(this, item)
            });
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if is_compiled(&item.attrs) {
            self.function(&item.sig, &item.block);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if is_compiled(&item.attrs) {
            self.function(&item.sig, &item.block);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(body) = item.default.as_ref().filter(|_| is_compiled(&item.attrs)) {
            self.function(&item.sig, body);
        }
    }
}

/// Where a piece of syntax stands in its file.
pub fn bytes(syntax: &impl Spanned) -> Range<usize> {
    syntax.span().byte_range()
}
