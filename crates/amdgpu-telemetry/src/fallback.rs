//! What must never happen silently: fallbacks and errors. Both are counted with telemetry switched off too.

use std::sync::Arc;

use amdgpu_abi::{Coded, ErrorCode, Language, MetricId};

use crate::hub::{self, Hub, lock};
use crate::record::{Kind, Record};

/// Takes the sentence that is said once for each fallback, for example to raise a Python warning.
pub type NoticeHandler = Arc<dyn Fn(&str) + Send + Sync>;

/// Distinct fallbacks that are said; those past the limit are only counted.
const MAX_NOTICES: usize = 1024;

impl Hub {
    /// Who says notices; without a handler they go to standard error.
    pub fn set_notice_handler(&self, handler: NoticeHandler) {
        *lock(&self.notice_handler) = Some(handler);
    }

    /// Count a fallback, and say it the first time. Returns its record.
    pub(crate) fn count_fallback(&self, operation: &str, reason: &str) -> Record {
        self.counter(MetricId::FallbacksTotal, &[operation, reason])
            .increment();
        let (name, why) = (self.intern(operation), self.intern(reason));
        let first = {
            let mut said = lock(&self.said);
            said.len() < MAX_NOTICES && said.insert((name, why))
        };
        if first {
            let notice = format!("amdgpu: {operation} does not run as preferred: {reason}");
            let handler = lock(&self.notice_handler).clone();
            match handler {
                Some(handler) => handler(&notice),
                None => eprintln!("{notice}"),
            }
        }
        Record::new(Kind::Fallback, name)
            .detail(u64::from(why.number()), 0)
            .at(self.now_ns(), 0)
    }

    /// Count an error that reaches the user. Returns its record.
    pub(crate) fn count_error(&self, error: ErrorCode, language: Language) -> Record {
        self.counter(MetricId::ErrorsTotal, &[error.name(), language.name()])
            .increment();
        Record::new(Kind::Error, self.intern(error.name()))
            .language(language)
            .value(u64::from(error.code().unsigned_abs()))
            .at(self.now_ns(), 0)
    }
}

/// An operation runs on another implementation than the preferred one: count it, record it, and say it the first time.
///
/// `reason` is a label value: a short phrase from a small set ("no AVX2", "strided input"), without numbers that vary.
pub fn fallback(operation: &str, reason: &str) {
    hub::emit(hub::global().count_fallback(operation, reason));
}

/// An error reaches the user: count and record it. Called once, where it leaves the library.
pub fn error(error: &dyn Coded) {
    hub::emit(hub::global().count_error(error.code(), error.language()));
}

/// Let `handler` say what [`fallback`] says once; without one it goes to standard error.
pub fn set_notice_handler(handler: impl Fn(&str) + Send + Sync + 'static) {
    hub::global().set_notice_handler(Arc::new(handler));
}
