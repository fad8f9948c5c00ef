//! Whether the process has room for another library, which it keeps for ever.

use std::fs;

use crate::artifact::Artifact;
use crate::refusal::{Code, Refusal};
use crate::sys;

/// The keys for thread-local values that must be free before a plugin is loaded for the first
/// time, of 1,024. A plugin that uses threads takes one for ever, and one that finds none ends the
/// process.
const FIRST_KEYS: usize = 16;

/// The same before one takes the place of another: what is left is for first loads.
const RELOAD_KEYS: usize = 64;

/// Checks that `artifact` can be loaded, for the first time or in the place of another.
///
/// # Errors
/// `E-BUDGET` where the process has no room for it, `E-STATIC-TLS` where it cannot be loaded again.
pub(crate) fn check(artifact: &Artifact, is_reload: bool) -> Result<(), Refusal> {
    if artifact.static_tls && is_reload {
        let message = "it has static thread-local storage, of which the process has a fixed amount";
        return Err(Refusal::new(Code::StaticTls, message));
    }
    let keys = if is_reload { RELOAD_KEYS } else { FIRST_KEYS };
    if !sys::has_thread_keys(keys) {
        let message = format!("the process has less than {keys} keys for thread-local values left");
        return Err(Refusal::new(Code::Budget, message));
    }
    match mappings() {
        Some((used, most)) if is_reload && used > most / 2 => {
            let message = format!("the process has {used} mappings of the {most} that it may have");
            Err(Refusal::new(Code::Budget, message))
        }
        Some(_) | None => Ok(()),
    }
}

/// How many mappings this process has and may have, where the system says so.
fn mappings() -> Option<(usize, usize)> {
    let used = fs::read("/proc/self/maps").ok()?.iter().filter(|it| **it == b'\n').count();
    let most = fs::read_to_string("/proc/sys/vm/max_map_count").ok()?;
    Some((used, most.trim().parse().ok()?))
}
