//! Source texts and positions in them. All texts of a compile (device library, user source, scratch text of pasted tokens)
//! share one number line, so a position is four bytes.

use std::sync::Arc;
use std::sync::OnceLock;

/// A range of one source text: where it starts on the common number line, and its length in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    pub start: u32,
    pub len: u32,
}

impl Span {
    /// The range from the start of `self` to the end of `last`; `self` when `last` lies before it (macro arguments).
    #[must_use]
    pub fn to(self, last: Span) -> Span {
        let end = last.start.saturating_add(last.len);
        if end > self.start {
            Span {
                start: self.start,
                len: end - self.start,
            }
        } else {
            self
        }
    }
}

/// A position as people write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub file: String,
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    /// The line, without its end; of a very long line the part around the column.
    pub line_text: String,
    /// Characters of `line_text` before the column.
    pub caret: u32,
}

#[derive(Clone, Debug)]
struct SourceFile {
    name: String,
    text: Arc<str>,
    base: u32,
    line_starts: OnceLock<Vec<u32>>,
}

/// The texts of one compile.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

/// Longest part of a line shown under an error, in characters.
const SHOWN_LINE_CHARACTERS: usize = 160;

impl SourceMap {
    /// Adds a text and returns the position of its first byte.
    pub fn add(&mut self, name: &str, text: Arc<str>) -> u32 {
        let base = self.end();
        self.files.push(SourceFile {
            name: name.to_owned(),
            text,
            base,
            line_starts: OnceLock::new(),
        });
        base
    }

    /// The text at `span`; empty when it is outside of all texts.
    pub fn text(&self, span: Span) -> &str {
        let Some(file) = self.file_at(span.start) else {
            return "";
        };
        let start = (span.start - file.base) as usize;
        file.text
            .get(start..start + span.len as usize)
            .unwrap_or("")
    }

    /// Line number (from 1) of a position.
    pub fn line(&self, position: u32) -> u32 {
        self.file_at(position)
            .map_or(0, |file| file.line_index(position) as u32 + 1)
    }

    /// The position as file, line, column and text.
    pub fn location(&self, position: u32) -> Location {
        let Some(file) = self.file_at(position) else {
            return Location {
                file: String::new(),
                line: 0,
                column: 0,
                line_text: String::new(),
                caret: 0,
            };
        };
        let line_index = file.line_index(position);
        let starts = file.line_starts();
        let start = starts[line_index] as usize;
        let end = starts
            .get(line_index + 1)
            .map_or(file.text.len(), |&next| next as usize);
        let line = file.text[start..end].trim_end_matches(['\n', '\r']);
        let mut offset = ((position - file.base) as usize - start).min(line.len());
        while !line.is_char_boundary(offset) {
            offset -= 1;
        }
        let column = line[..offset].chars().count();
        let first = column.saturating_sub(SHOWN_LINE_CHARACTERS / 2);
        let (first, line_text) = if line.len() <= SHOWN_LINE_CHARACTERS {
            (0, line.to_owned())
        } else {
            (
                first,
                line.chars()
                    .skip(first)
                    .take(SHOWN_LINE_CHARACTERS)
                    .collect(),
            )
        };
        Location {
            file: file.name.clone(),
            line: line_index as u32 + 1,
            column: column as u32 + 1,
            line_text,
            caret: (column - first) as u32,
        }
    }

    fn end(&self) -> u32 {
        // One byte between texts, so that the end of one is not the start of the next.
        self.files
            .last()
            .map_or(0, |file| file.base + file.text.len() as u32 + 1)
    }

    fn file_at(&self, position: u32) -> Option<&SourceFile> {
        let index = self.files.partition_point(|file| file.base <= position);
        index.checked_sub(1).map(|index| &self.files[index])
    }
}

impl SourceFile {
    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let ends = self
                .text
                .bytes()
                .enumerate()
                .filter(|&(_, byte)| byte == b'\n');
            std::iter::once(0)
                .chain(ends.map(|(index, _)| index as u32 + 1))
                .collect()
        })
    }

    fn line_index(&self, position: u32) -> usize {
        let offset = position - self.base;
        self.line_starts().partition_point(|&start| start <= offset) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_become_lines_and_columns_in_characters() {
        let mut map = SourceMap::default();
        map.add("lib", "x\n".into());
        let base = map.add("k.hip", "int a;\r\n\tünt b;\n".into());
        let location = map.location(base + 13);
        assert_eq!((location.line, location.column), (2, 5));
        assert_eq!(location.line_text, "\tünt b;");
        assert_eq!(map.line(0), 1);
    }

    #[test]
    fn of_a_very_long_line_only_the_part_around_the_column_is_kept() {
        let mut map = SourceMap::default();
        let text = "a".repeat(1_000_000);
        map.add("long", text.as_str().into());
        let location = map.location(500_000);
        assert_eq!(location.line_text.len(), SHOWN_LINE_CHARACTERS);
        assert_eq!(location.caret as usize, SHOWN_LINE_CHARACTERS / 2);
    }
}
