//! What a fork takes along.

use lockgate::session::{Event, Fact, ForkError, LogError, SessionLog, read, validate};
use serde_json::json;

use crate::rows::*;

#[test]
fn a_fork_takes_whole_turns_along_and_no_inbox() {
    let turns = [
        inserted("a"),
        inserted("b"),
        turn(1),
        step(1),
        answer(&[]),
        step_end(),
        turn_end("completed"),
        row("approval/policy", json!({ "policy": "never" })),
        turn(2),
    ];
    let place = Place::of(&turns);
    let mut parent = SessionLog::ephemeral(serde_json::from_str(HEADER).unwrap(), || 99);
    for row in &turns {
        parent.append(serde_json::from_value::<Event>(row.clone()).unwrap().fact).unwrap();
    }
    let path = place.path("fork");
    let mut fork = parent.fork(8, Some(&path)).unwrap();
    assert_eq!(fork.waiting(), &Default::default());
    assert_eq!(fork.events()[..8], parent.events()[..8]);
    assert_eq!(fork.events()[8].fact, Fact::EndSeed {});
    let header = serde_json::to_value(fork.header()).unwrap();
    assert_ne!(header["id"], "s1");
    assert_eq!((&header["parentSession"], &header["seedLength"]), (&json!("s1"), &json!(8)));
    fork.append(Fact::TurnStart { turn: 2 }).unwrap();
    drop(fork);
    validate(&read(&path).unwrap()).unwrap();
    // Gone on with, and forked again.
    let (fork, repair) = SessionLog::resume(&path, || 99).unwrap();
    assert_eq!((fork.waiting(), repair.interrupted), (&Default::default(), Some(2)));
    let again = fork.fork(9, None).unwrap();
    assert_eq!(again.events().len(), 9);

    let refused = |length| parent.fork(length, None).err().unwrap();
    assert!(matches!(refused(10), ForkError::Boundary { length: 10, events: 9 }));
    assert!(matches!(refused(5), ForkError::OpenTurn { length: 5, turn: 1 }));
    assert!(matches!(refused(9), ForkError::OpenTurn { length: 9, turn: 2 }));
    let taken = parent.fork(0, Some(&path)).err().unwrap();
    assert!(matches!(taken, ForkError::Log(LogError::Create { .. })), "{taken}");
    assert_eq!(parent.fork(0, None).unwrap().events(), []);
}
