//! The conversation by the numbers of its events.

use super::rule::Rule;
use super::{Event, SurfaceChange, SurfaceOp};

/// The events whose messages stand in the conversation, in its order.
#[derive(Debug, Default)]
pub(super) struct Surface {
    shown: Vec<u64>,
}

impl Surface {
    /// Whether `event`, the next one under the number `seq`, may change the conversation as it says.
    pub(super) fn check(&self, event: &Event, seq: u64) -> Result<(), Rule> {
        let sources = event.source_event_seqs.as_deref();
        if event.fact.surface().is_none() {
            return match (event.surface_op, sources) {
                (None, None) => Ok(()),
                (Some(_), _) | (_, Some(_)) => Err(Rule::NotSurface),
            };
        }
        let mut sources = sources.unwrap_or_default().to_vec();
        sources.sort_unstable();
        let twice = sources.windows(2).find(|it| it[0] == it[1]).map(|it| it[0]);
        let later = sources.last().copied().filter(|it| *it >= seq);
        if let Some(cited) = twice.or(later) {
            return Err(Rule::Source { cited });
        }
        let Some(change) = change(event) else { return Ok(()) };
        let SurfaceChange::Replace { start, end } = change;
        let hidden = self.places(change).ok_or(Rule::NotShown { start, end })?;
        match self.shown[hidden].iter().find(|it| sources.binary_search(it).is_err()) {
            Some(hidden) => Err(Rule::Uncited { hidden: *hidden }),
            None => Ok(()),
        }
    }

    /// Goes on after `event`, which was checked.
    pub(super) fn take(&mut self, event: &Event, seq: u64) {
        if event.fact.surface().is_none() {
            return;
        }
        match change(event).and_then(|it| self.places(it)) {
            Some(hidden) => drop(self.shown.splice(hidden, [seq])),
            None => self.shown.push(seq),
        }
    }

    fn places(
        &self,
        SurfaceChange::Replace { start, end }: SurfaceChange,
    ) -> Option<std::ops::Range<usize>> {
        let find = |seq| self.shown.iter().position(|it| *it == seq);
        let (start, end) = find(start).zip(find(end))?;
        (start <= end).then_some(start..end + 1)
    }
}

fn change(event: &Event) -> Option<SurfaceChange> {
    match event.surface_op {
        Some(SurfaceOp::Change(change)) => Some(change),
        Some(SurfaceOp::Append) | None => None,
    }
}
