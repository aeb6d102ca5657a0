use syn::{ItemFn, parse_str};

use super::faults_of_body;

/// The function's text after each fault, without blanks.
fn mutants(source: &str) -> Vec<String> {
    let item: ItemFn = parse_str(source).expect("a function");
    faults_of_body(&item.sig, &item.block, source)
        .iter()
        .map(|edit| {
            let changed = format!(
                "{}{}{}",
                &source[..edit.place.start],
                edit.after,
                &source[edit.place.end..]
            );
            parse_str::<ItemFn>(&changed).unwrap_or_else(|error| panic!("{changed}: {error}"));
            changed.split_whitespace().collect()
        })
        .collect()
}

fn assert_has(source: &str, wanted: &[&str]) {
    let found = mutants(source);
    for text in wanted {
        let text: String = text.split_whitespace().collect();
        assert!(found.contains(&text), "{text} is not among {found:#?}");
    }
}

#[test]
fn operators_are_replaced_by_their_neighbours() {
    assert_has(
        "fn f(a: u32, b: u32) -> bool { a + 2 < b << 1 && a != b }",
        &[
            "fn f(a: u32, b: u32) -> bool { a - 2 < b << 1 && a != b }",
            "fn f(a: u32, b: u32) -> bool { a + 3 < b << 1 && a != b }",
            "fn f(a: u32, b: u32) -> bool { a + 1 < b << 1 && a != b }",
            "fn f(a: u32, b: u32) -> bool { a + 2 <= b << 1 && a != b }",
            "fn f(a: u32, b: u32) -> bool { a + 2 < b >> 1 && a != b }",
            "fn f(a: u32, b: u32) -> bool { a + 2 < b << 1 || a != b }",
            "fn f(a: u32, b: u32) -> bool { a + 2 < b << 1 && a == b }",
            "fn f(a: u32, b: u32) -> bool { true }",
        ],
    );
}

#[test]
fn statements_arms_conditions_and_ranges_change() {
    assert_has(
        "fn f(a: &mut Vec<u8>) { for i in 0..9 { if a.len() > i { a.clear(); } } }",
        &[
            "fn f(a: &mut Vec<u8>) { for i in 0..=9 { if a.len() > i { a.clear(); } } }",
            "fn f(a: &mut Vec<u8>) { for i in 0..9 { if !(a.len() > i) { a.clear(); } } }",
            "fn f(a: &mut Vec<u8>) { for i in 0..9 { if a.len() > i { {} } } }",
            "fn f(a: &mut Vec<u8>) { }",
        ],
    );
    assert_has(
        "fn f(a: u8) -> u8 { match a { 1 => 5, n if n > 7 => 6, _ => 0 } }",
        &[
            "fn f(a: u8) -> u8 { match a { n if n > 7 => 6, _ => 0 } }",
            "fn f(a: u8) -> u8 { match a { 2 => 5, n if n > 7 => 6, _ => 0 } }",
            "fn f(a: u8) -> u8 { match a { 1 => 5, n if true => 6, _ => 0 } }",
        ],
    );
}

#[test]
fn types_and_nested_constants_stay() {
    assert_eq!(
        mutants("fn f() { let _: [u8; 4]; const N: usize = 3; }"),
        ["fnf(){}"]
    );
}

#[test]
fn results_become_constants() {
    assert_has(
        "fn f() -> Result<bool, String> { g() }",
        &["fn f() -> Result<bool, String> { Ok(true) }"],
    );
    assert_has(
        "fn f() -> Option<u8> { g() }",
        &["fn f() -> Option<u8> { None }"],
    );
    assert!(!mutants("fn f() -> bool { true }").contains(&"fnf()->bool{true}".to_string()));
}
