//! The source files of a crate, found by following `mod name;` from its root, without those that only tests compile.

use std::fs;
use std::path::{Path, PathBuf};

use syn::{Expr, ExprLit, Item, ItemMod, Lit, Meta};

use crate::configuration::is_compiled;

/// One parsed source file.
pub struct SourceFile {
    pub path: PathBuf,
    pub text: String,
    pub syntax: syn::File,
}

/// The root file and every module below it.
pub fn files_of_crate(root: &Path) -> Result<Vec<SourceFile>, String> {
    let mut files = Vec::new();
    let folder = root.parent().unwrap_or(Path::new("")).to_path_buf();
    read(root, &folder, &mut files)?;
    Ok(files)
}

/// Reads one file; `folder` is where its submodules are.
fn read(path: &Path, folder: &Path, files: &mut Vec<SourceFile>) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let syntax = syn::parse_file(&text).map_err(|error| {
        let place = error.span().start();
        format!("{}:{}: {error}", path.display(), place.line)
    })?;
    let mut submodules = Vec::new();
    collect(&syntax.items, path, folder, &mut submodules);
    files.push(SourceFile {
        path: path.to_path_buf(),
        text,
        syntax,
    });
    for (file, its_folder) in submodules {
        read(&file, &its_folder, files)?;
    }
    Ok(())
}

fn collect(items: &[Item], path: &Path, folder: &Path, found: &mut Vec<(PathBuf, PathBuf)>) {
    for item in items {
        let Item::Mod(module) = item else { continue };
        if !is_compiled(&module.attrs) {
            continue;
        }
        let name = module.ident.to_string();
        if let Some((_, inner)) = &module.content {
            collect(inner, path, &folder.join(&name), found);
        } else if let Some(given) = path_attribute(module) {
            let file = path.parent().unwrap_or(Path::new("")).join(given);
            let its_folder = file.parent().unwrap_or(Path::new("")).to_path_buf();
            found.push((file, its_folder));
        } else {
            let beside = folder.join(format!("{name}.rs"));
            let inside = folder.join(&name).join("mod.rs");
            let file = if beside.exists() { beside } else { inside };
            found.push((file, folder.join(&name)));
        }
    }
}

fn path_attribute(module: &ItemMod) -> Option<String> {
    module
        .attrs
        .iter()
        .find_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(text),
                    ..
                }) => Some(text.value()),
                _ => None,
            },
            _ => None,
        })
}
