//! The process group of a subprocess: all that it started, signalled as one.

use std::process::ExitStatus;

#[cfg(unix)]
pub(super) use self::unix::{Group, TERMINATE, lead, signal_of};

#[cfg(not(unix))]
pub(super) use self::none::{Group, TERMINATE, lead, signal_of};

#[cfg(unix)]
mod unix {
    use std::os::unix::process::ExitStatusExt;
    use std::time::Duration;

    use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
    use tokio::process::{Child, Command};
    use tokio::time;

    use super::ExitStatus;

    /// The time between two looks at a group whose members are not ours to wait for.
    const LOOK: Duration = Duration::from_millis(5);

    /// The number of the signal that asks a process to end.
    pub(crate) const TERMINATE: i32 = Signal::TERM.as_raw();

    /// A group that is killed when this is dropped, unless it was released.
    ///
    /// Its number stays its own while a member lives or the leader is not waited for.
    pub(crate) struct Group(Option<Pid>);

    /// Lets what `command` starts lead a group of its own.
    pub(crate) fn lead(command: &mut Command) {
        command.process_group(0);
    }

    /// The number of the signal that ended a process without an exit code; 0 for none.
    pub(crate) fn signal_of(status: ExitStatus) -> i32 {
        status.signal().unwrap_or(0)
    }

    impl Group {
        /// The group that `child` leads.
        pub(crate) fn of(child: &Child) -> Self {
            Self(child.id().and_then(|it| Pid::from_raw(i32::try_from(it).ok()?)))
        }

        /// Asks every member to end.
        pub(crate) fn terminate(&self) {
            self.send(Signal::TERM);
        }

        /// Kills every member.
        pub(crate) fn kill(&self) {
            self.send(Signal::KILL);
        }

        /// Waits until no member is alive. The leader must have been waited for.
        pub(crate) async fn gone(&self) {
            let mut looks = time::interval(LOOK);
            while self.0.is_some_and(|it| test_kill_process_group(it).is_ok() && has_living(it)) {
                looks.tick().await;
            }
        }

        /// Leaves the members alone from here on.
        pub(crate) fn release(&mut self) {
            self.0 = None;
        }

        fn send(&self, signal: Signal) {
            if let Some(group) = self.0 {
                // It fails where nobody is left.
                let _nobody = kill_process_group(group, signal);
            }
        }
    }

    impl Drop for Group {
        fn drop(&mut self) {
            self.kill();
        }
    }

    /// Whether a member of the group is more than a zombie. In a container without an init
    /// nobody reaps orphans, and they answer to signals for ever.
    #[cfg(target_os = "linux")]
    fn has_living(group: Pid) -> bool {
        let Ok(processes) = std::fs::read_dir("/proc") else { return true };
        processes.flatten().any(|process| {
            std::fs::read_to_string(process.path().join("stat"))
                .is_ok_and(|stat| is_living_member(&stat, group))
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn has_living(_: Pid) -> bool {
        true
    }

    /// Whether this line of a process's state is of a member that lives.
    #[cfg(target_os = "linux")]
    fn is_living_member(stat: &str, group: Pid) -> bool {
        // The name comes before, in parentheses, and may hold anything.
        let Some((_, after)) = stat.rsplit_once(')') else { return false };
        let mut fields = after.split_whitespace();
        let state = fields.next();
        let member = fields.nth(1).and_then(|it| it.parse().ok());
        !matches!(state, Some("Z" | "X")) && member == Some(group.as_raw_nonzero().get())
    }

    #[cfg(all(test, target_os = "linux"))]
    mod tests {
        use super::*;

        #[test]
        fn zombies_and_strangers_are_not_living_members() {
            #[track_caller]
            fn check(stat: &str, expected: bool) {
                let group = Pid::from_raw(42).unwrap();
                assert_eq!(is_living_member(stat, group), expected);
            }
            check("43 (sleep) S 1 42 42 0 -1", true);
            check("43 (a) b) R 1 42 42 0 -1", true);
            check("43 (sleep) Z 1 42 42 0 -1", false);
            check("43 (sleep) S 42 41 42 0 -1", false);
            check("", false);
        }
    }
}

#[cfg(not(unix))]
mod none {
    use tokio::process::{Child, Command};

    use super::ExitStatus;

    /// The number by which an end on demand is told.
    pub(crate) const TERMINATE: i32 = 15;

    /// No group: the process is killed by its own means.
    pub(crate) struct Group;

    /// Does nothing.
    pub(crate) fn lead(_command: &mut Command) {}

    /// No signals: always 0.
    pub(crate) fn signal_of(_status: ExitStatus) -> i32 {
        0
    }

    impl Group {
        /// Nothing.
        pub(crate) fn of(_child: &Child) -> Self {
            Self
        }

        /// Does nothing.
        pub(crate) fn terminate(&self) {}

        /// Does nothing.
        pub(crate) fn kill(&self) {}

        /// Returns at once.
        pub(crate) async fn gone(&self) {}

        /// Does nothing.
        pub(crate) fn release(&mut self) {}
    }
}
