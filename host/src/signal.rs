//! Signals that tell work to end, and the numbers by which plugins know them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use tokio_util::sync::CancellationToken;

/// Fires once, and stays fired. Clones are the same signal.
#[derive(Debug, Clone, Default)]
pub struct Signal {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    token: CancellationToken,
    /// Given on demand: most signals are never seen by a plugin.
    id: OnceLock<u64>,
}

/// The signals that plugins know, as long as they exist.
static KNOWN: LazyLock<Mutex<HashMap<u64, CancellationToken>>> = LazyLock::new(Mutex::default);

impl Signal {
    /// A signal that has not fired.
    pub fn new() -> Self {
        Self::default()
    }

    /// A signal that fires when this one does, and can fire alone.
    pub fn child(&self) -> Self {
        let inner = Inner { token: self.inner.token.child_token(), id: OnceLock::new() };
        Self { inner: Arc::new(inner) }
    }

    /// Fires it. Firing it again does nothing.
    pub fn fire(&self) {
        self.inner.token.cancel();
    }

    /// Whether it has fired.
    pub fn has_fired(&self) -> bool {
        self.inner.token.is_cancelled()
    }

    /// Waits until it has fired.
    pub async fn fired(&self) {
        self.inner.token.cancelled().await;
    }

    /// The token behind it, for what takes one.
    pub fn token(&self) -> &CancellationToken {
        &self.inner.token
    }

    /// The number by which plugins know it; valid until the last clone is dropped, never 0.
    pub(crate) fn id(&self) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        *self.inner.id.get_or_init(|| {
            let id = NEXT.fetch_add(1, Ordering::Relaxed);
            let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(id, self.inner.token.clone());
            id
        })
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(id) = self.id.get() {
            KNOWN.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        }
    }
}

/// The token of the signal that a plugin knows by `id`. `None` when it is gone, and then
/// whatever it was for is over.
pub(crate) fn known(id: u64) -> Option<CancellationToken> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
}

/// A signal that nobody fires, for questions that nobody can take back.
pub(crate) fn never() -> &'static Signal {
    static NEVER: LazyLock<Signal> = LazyLock::new(Signal::new);
    &NEVER
}

/// A token that has fired, for work that is over before it begins.
pub(crate) fn fired() -> CancellationToken {
    let token = CancellationToken::new();
    token.cancel();
    token
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_fires_with_its_parent_and_not_the_other_way() {
        let parent = Signal::new();
        let (with, alone) = (parent.child(), parent.child());
        alone.fire();
        assert_eq!((parent.has_fired(), with.has_fired(), alone.has_fired()), (false, false, true));
        parent.fire();
        assert!(with.has_fired());
    }

    #[test]
    fn a_number_is_known_until_the_last_clone_is_gone() {
        let signal = Signal::new();
        let clone = signal.clone();
        let id = signal.id();
        assert_eq!(clone.id(), id);
        drop(signal);
        assert!(known(id).is_some());
        drop(clone);
        assert!(known(id).is_none());
    }
}
