//! Messages about the user's source: every one points at a line and says what to do.

use std::fmt;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::source::{SourceMap, Span};

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Severity {
    Note,
    Warning,
    Error,
}

/// One message, complete with the text it points at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Diagnostic {
    pub severity: Severity,
    pub file: String,
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    pub message: String,
    pub hint: Option<String>,
    /// The source line (the part around the column when it is very long).
    pub line_text: String,
    /// Characters of `line_text` before the caret.
    pub caret: u32,
    /// Characters under the caret.
    pub caret_length: u32,
    /// The message names a feature of HIP that this compiler does not have, rather than a mistake.
    pub is_unsupported: bool,
    /// The instances the line was compiled for, innermost first: `f<float>, made at kernel.hip:3:5`.
    #[serde(default)]
    pub instances: Vec<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(
            out,
            "{}:{}:{}: {severity}: {}",
            self.file, self.line, self.column, self.message
        )?;
        let text = &self.line_text;
        if !text.trim().is_empty() {
            // Tabs are repeated, so that the caret stands under its character whatever the width of a tab.
            let blank: String = text
                .chars()
                .take(self.caret as usize)
                .map(|character| if character == '\t' { '\t' } else { ' ' })
                .collect();
            let tail = "~".repeat(self.caret_length.saturating_sub(1) as usize);
            write!(out, "\n    {text}\n    {blank}^{tail}")?;
        }
        if let Some(hint) = &self.hint {
            write!(out, "\n    hint: {hint}")?;
        }
        for instance in &self.instances {
            write!(out, "\n    in {instance}")?;
        }
        Ok(())
    }
}

/// Errors kept of one source; the rest is counted. More than this helps nobody.
pub const MAX_ERRORS: usize = 200;

/// Longest message: a few lines of a screen.
const MAX_MESSAGE_BYTES: usize = 600;

#[derive(Clone, Debug)]
struct Message {
    severity: Severity,
    span: Span,
    text: String,
    hint: Option<String>,
    is_unsupported: bool,
    /// Text and place of the instances around it.
    instances: Rc<Vec<(String, Span)>>,
}

/// How far the messages had come.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    messages: usize,
    errors: usize,
}

/// Collects messages while the phases run.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    messages: Vec<Message>,
    error_count: usize,
    instances: Rc<Vec<(String, Span)>>,
}

impl Diagnostics {
    /// The instances that what follows is about, innermost first; gives back those before.
    pub fn set_instances(&mut self, instances: Rc<Vec<(String, Span)>>) -> Rc<Vec<(String, Span)>> {
        std::mem::replace(&mut self.instances, instances)
    }

    pub fn mark(&self) -> Mark {
        Mark {
            messages: self.messages.len(),
            errors: self.error_count,
        }
    }

    pub fn has_errors_since(&self, mark: Mark) -> bool {
        self.error_count > mark.errors
    }

    /// Forgets the messages since the mark.
    pub fn forget(&mut self, mark: Mark) {
        self.messages.truncate(mark.messages);
        self.error_count = mark.errors;
    }

    pub fn error(&mut self, span: Span, text: impl Into<String>, hint: Option<&str>) {
        self.push(Severity::Error, span, text.into(), hint, false);
    }

    /// An error that names a feature of the language this compiler does not have.
    pub fn unsupported(&mut self, span: Span, text: impl Into<String>, hint: Option<&str>) {
        self.push(Severity::Error, span, text.into(), hint, true);
    }

    pub fn warning(&mut self, span: Span, text: impl Into<String>, hint: Option<&str>) {
        self.push(Severity::Warning, span, text.into(), hint, false);
    }

    pub fn note(&mut self, span: Span, text: impl Into<String>) {
        self.push(Severity::Note, span, text.into(), None, false);
    }

    pub fn has_errors(&self) -> bool {
        self.error_count > 0
    }

    /// Whether an error was told about this very place.
    pub fn has_error_at(&self, span: Span) -> bool {
        self.messages
            .iter()
            .any(|message| message.severity == Severity::Error && message.span == span)
    }

    /// So many errors that going on is pointless.
    pub fn is_full(&self) -> bool {
        self.error_count >= MAX_ERRORS
    }

    /// Errors that were not kept.
    pub fn dropped(&self) -> usize {
        self.error_count.saturating_sub(MAX_ERRORS)
    }

    /// The messages in source order, with their lines; the same message at the same place is told once.
    pub fn resolve(&self, sources: &SourceMap) -> Vec<Diagnostic> {
        let mut messages: Vec<&Message> = self.messages.iter().collect();
        messages.sort_by_key(|message| message.span.start);
        messages
            .dedup_by(|one, other| one.span.start == other.span.start && one.text == other.text);
        messages
            .into_iter()
            .map(|message| resolve_one(message, sources))
            .collect()
    }

    fn push(
        &mut self,
        severity: Severity,
        span: Span,
        text: String,
        hint: Option<&str>,
        is_unsupported: bool,
    ) {
        if severity == Severity::Error {
            self.error_count += 1;
            if self.error_count > MAX_ERRORS {
                return;
            }
        }
        self.messages.push(Message {
            severity,
            span,
            text: shortened(text),
            hint: hint.map(|hint| shortened(hint.to_owned())),
            is_unsupported,
            instances: Rc::clone(&self.instances),
        });
    }
}

/// A message that quotes a very long name keeps its start and its end.
fn shortened(text: String) -> String {
    if text.len() <= MAX_MESSAGE_BYTES {
        return text;
    }
    let half = MAX_MESSAGE_BYTES / 2;
    let start = (0..=half).rev().find(|at| text.is_char_boundary(*at));
    let end = (text.len() - half..text.len()).find(|at| text.is_char_boundary(*at));
    format!(
        "{}…{}",
        &text[..start.unwrap_or(0)],
        &text[end.unwrap_or(text.len())..]
    )
}

fn resolve_one(message: &Message, sources: &SourceMap) -> Diagnostic {
    let location = sources.location(message.span.start);
    let text = sources.text(message.span);
    let first_line = text.lines().next().unwrap_or("").chars().count() as u32;
    let room = (location.line_text.chars().count() as u32).saturating_sub(location.caret);
    Diagnostic {
        severity: message.severity,
        file: location.file,
        line: location.line,
        column: location.column,
        message: message.text.clone(),
        hint: message.hint.clone(),
        line_text: location.line_text,
        caret: location.caret,
        caret_length: first_line.min(room).max(1),
        is_unsupported: message.is_unsupported,
        instances: message
            .instances
            .iter()
            .map(|(text, span)| {
                let place = sources.location(span.start);
                format!(
                    "{text}, made at {}:{}:{}",
                    place.file, place.line, place.column
                )
            })
            .collect(),
    }
}
