//! Which items are compiled: `#[cfg(...)]` as Cargo sees it for a build of the library on Linux on x86-64.

use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Lit, Meta, Token};

/// Whether the attributes leave the item in the library.
pub fn is_compiled(attributes: &[Attribute]) -> bool {
    attributes.iter().all(|attribute| {
        if attribute.path().is_ident("test") {
            return false;
        }
        if !attribute.path().is_ident("cfg") {
            return true;
        }
        attribute
            .parse_args::<Meta>()
            .is_ok_and(|condition| holds(&condition))
    })
}

fn holds(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => !["test", "windows", "doc", "miri", "loom"]
            .iter()
            .any(|name| path.is_ident(name)),
        Meta::NameValue(pair) => {
            let Expr::Lit(ExprLit {
                lit: Lit::Str(value),
                ..
            }) = &pair.value
            else {
                return true;
            };
            let value = value.value();
            match pair.path.get_ident().map(ToString::to_string).as_deref() {
                Some("target_arch") => value == "x86_64",
                Some("target_os") => value == "linux",
                Some("target_family") => value == "unix",
                Some("target_pointer_width") => value == "64",
                Some("target_endian") => value == "little",
                _ => true,
            }
        }
        Meta::List(list) => {
            let parts = list
                .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
                .unwrap_or_default();
            if list.path.is_ident("not") {
                parts.first().is_some_and(|part| !holds(part))
            } else if list.path.is_ident("any") {
                parts.iter().any(holds)
            } else {
                parts.iter().all(holds)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_compiled;
    use syn::{ItemFn, parse_str};

    fn compiled(attribute: &str) -> bool {
        let item: ItemFn = parse_str(&format!("{attribute} fn f() {{}}")).expect("a function");
        is_compiled(&item.attrs)
    }

    #[test]
    fn tests_and_other_machines_are_left_out() {
        for attribute in [
            "#[test]",
            "#[cfg(test)]",
            "#[cfg(all(test, unix))]",
            "#[cfg(target_arch = \"aarch64\")]",
            "#[cfg(any(windows, target_os = \"macos\"))]",
            "#[cfg(not(target_arch = \"x86_64\"))]",
        ] {
            assert!(!compiled(attribute), "{attribute}");
        }
    }

    #[test]
    fn what_is_built_here_stays() {
        for attribute in [
            "",
            "#[inline]",
            "#[cfg(target_arch = \"x86_64\")]",
            "#[cfg(not(test))]",
            "#[cfg(feature = \"x\")]",
        ] {
            assert!(compiled(attribute), "{attribute}");
        }
    }
}
