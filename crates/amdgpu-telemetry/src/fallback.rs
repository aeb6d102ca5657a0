//! What must never happen silently: fallbacks and errors. Both are counted with telemetry switched off too.

use std::sync::Arc;

use amdgpu_abi::{Coded, ErrorCode, Language, MetricId};

use crate::hub::{self, Hub, lock};
use crate::metrics::Counter;
use crate::names::NameId;
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

    /// Look a fallback up, and say it the first time.
    fn find_fallback(&self, operation: &str, reason: &str) -> Fallback {
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
        Fallback {
            counter: self.counter(MetricId::FallbacksTotal, &[operation, reason]),
            name,
            why,
        }
    }

    /// Count a fallback, and say it the first time. Returns its record.
    pub(crate) fn count_fallback(&self, operation: &str, reason: &str) -> Record {
        self.find_fallback(operation, reason).record(self)
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

/// A fallback that comes again with the same reason: looked up and said when it is made, counted and recorded by each [`Self::count`].
#[derive(Clone)]
pub struct Fallback {
    counter: Counter,
    name: NameId,
    why: NameId,
}

impl Fallback {
    /// As for [`fallback`], which counts at once.
    #[must_use]
    pub fn new(operation: &str, reason: &str) -> Self {
        hub::global().find_fallback(operation, reason)
    }

    /// Count and record it once more.
    pub fn count(&self) {
        hub::emit(self.record(hub::global()));
    }

    fn record(&self, hub: &Hub) -> Record {
        self.counter.increment();
        Record::new(Kind::Fallback, self.name)
            .detail(u64::from(self.why.number()), 0)
            .at(hub.now_ns(), 0)
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
