//! Runs a tool again when it failed in a way that may pass.

mod policy;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use lockgate_plugin_api::{
    Create, Host, Next, Plugin, PluginError, ToolCall, ToolOutcome, export_plugin,
};

use policy::{Config, Policy};

/// The plugin.
#[derive(Debug)]
pub struct Retry {
    /// What is tried again.
    policy: Policy,
    /// For its timers.
    host: Host,
}

impl Plugin for Retry {
    fn create(create: &Create) -> Result<Self, PluginError> {
        let config: Config = create.config()?;
        Ok(Self { policy: Policy::new(&config)?, host: create.host() })
    }
}

impl Retry {
    /// Asks the rest of the chain again, body and all, as often as the policy says. The last
    /// outcome counts; what earlier attempts added to the call is gone with them.
    async fn again(&self, call: &ToolCall, next: &mut Next) -> ToolOutcome {
        if !self.policy.is_for(call.name()) {
            return next.run().await;
        }
        let mut attempt = 1;
        loop {
            let outcome = next.run().await;
            let Some(pause) = self.policy.pause(attempt, &outcome) else {
                return outcome;
            };
            if !self.wait(call, pause).await {
                return outcome;
            }
            tracing::info!(
                tool = call.name(),
                call = call.call_id(),
                attempt,
                code = outcome.code().unwrap_or_default(),
                "a tool that failed is run again"
            );
            attempt += 1;
        }
    }

    /// Waits, and says whether there is anything left to do: not where the caller gave up.
    async fn wait(&self, call: &ToolCall, time: Duration) -> bool {
        let cancelled = call.signal();
        let slept = async { self.host.sleep(time).await.is_ok() };
        unless(cancelled.fired(), slept).await
    }
}

/// What `work` says, or `false` as soon as `end` is there.
async fn unless(end: impl Future<Output = ()>, work: impl Future<Output = bool>) -> bool {
    let (mut end, mut work) = (pin!(end), pin!(work));
    poll_fn(|cx| match end.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(false),
        Poll::Pending => work.as_mut().poll(cx),
    })
    .await
}

export_plugin!(Retry {
    description: "Runs a tool again when it failed in a way that may pass",
    config_schema: include_str!("config_schema.json"),
    // Outside of `call-timeout`: every attempt has the tool's whole budget.
    execute: async again @ 200,
});

#[cfg(test)]
mod tests {
    use std::future::{Future, pending, ready};
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::unless;

    #[test]
    fn a_pause_ends_with_its_time_or_with_the_call() {
        check(pending(), ready(true), Poll::Ready(true));
        check(pending(), ready(false), Poll::Ready(false));
        check(ready(()), pending(), Poll::Ready(false));
        check(ready(()), ready(true), Poll::Ready(false));
        check(pending(), pending(), Poll::Pending);
    }

    #[track_caller]
    fn check(
        end: impl Future<Output = ()>,
        work: impl Future<Output = bool>,
        expected: Poll<bool>,
    ) {
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(pin!(unless(end, work)).poll(&mut context), expected);
    }
}
