//! Names as LLVM wants them.

/// A global name, quoted where it has unusual characters.
pub(super) fn quoted(name: &str) -> String {
    if name
        .chars()
        .all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '$'))
    {
        name.to_owned()
    } else {
        format!("\"{}\"", ascii(name))
    }
}

/// Text without anything LLVM would read as an escape.
pub(super) fn ascii(text: &str) -> String {
    text.chars()
        .map(|character| {
            if character.is_ascii_graphic() && !matches!(character, '"' | '\\') || character == ' '
            {
                character
            } else {
                '?'
            }
        })
        .collect()
}
