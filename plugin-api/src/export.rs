//! `export_plugin!`, and what it is made of.
#![expect(unsafe_code, reason = "entries turn what the host lends into what methods borrow")]

pub mod entry;
pub mod linked;

/// Exports a plugin: its type, and which of its methods listen where.
///
/// ```
/// # use lockgate_plugin_api::*;
/// # struct Policy;
/// # impl Plugin for Policy {
/// #     fn create(_: &Create) -> Result<Self, PluginError> { Ok(Self) }
/// # }
/// # impl Policy {
/// #     fn gate(&self, _: &ToolCall) -> Option<PreToolDecision> { None }
/// #     async fn timed(&self, _: &ToolCall, next: &mut Next) -> ToolOutcome { next.run().await }
/// #     fn seen(&self, _: &ToolCall, _: &ToolOutcome) {}
/// # }
/// export_plugin!(Policy {
///     description: "Denies what the policy denies",
///     pre_execute: gate @ 10,
///     required execute: async timed,
///     tool_result: seen,
/// });
/// ```
///
/// An entry is `seam: method`, with `async` before the method where it is one, and a priority
/// after `@` (0 without; higher stands further out). `required` before the seam keeps the
/// listener's place while the plugin is not there: a call that comes to it then fails.
/// `optional` gives it up. Without either, *prompt-submit*, *pre-step*, *pre-execute*, *guard* and *post-execute*
/// are required. `tools` says that [`Plugin::tools`](crate::Plugin::tools) lists some, `state` that what
/// [`Plugin::save_state`](crate::Plugin::save_state) leaves matters (a new build that cannot have it does not take over),
/// and `exclusive` that an instance must be quiesced before the next one starts. `description`, `vendor`,
/// `license` and `config_schema` (a JSON text) go into the manifest, and so do
///
/// - `needs: ["…"]`, the extensions that the host must have,
/// - `events: ["kind/of-event"]`, the types of event that the plugin may
///   [append](crate::Agent::append) to a session's log,
/// - `entry_deadline_ms` and `answer_deadline_ms`, for a plugin whose listeners need more time than
///   the host gives by itself. The configuration has the last word.
///
/// | seam | arguments | answers |
/// |---|---|---|
/// | `session_start` | `&SessionStart` | nothing |
/// | `prompt_submit` | `&SubmittedPrompt` | `PromptDecision` |
/// | `pre_step` | `&ProposedStep` | `PreStepDecision` |
/// | `turn_stopping` | `&StoppingTurn` | nothing |
/// | `pre_execute` | `&ToolCall` | `PreToolDecision` |
/// | `guard` (never `async`) | `&ToolCall` | `GuardDecision` |
/// | `execute` | `&ToolCall` | `ToolOutcome` |
/// | `post_execute` | `&ToolCall, &ToolOutcome` | `PostToolDecision` |
/// | `tool_result` (never `async`) | `&ToolCall, &ToolOutcome` | nothing |
///
/// A listener may also answer with `Option`, where `None` is no opinion, and with `Result`, where
/// an error fails what it was asked about. On the seams that answer, an `async` listener takes a
/// `&mut Next` as its last argument.
#[macro_export]
macro_rules! export_plugin {
    ($plugin:ty { $($entries:tt)* }) => {
        $crate::__export!(@read $plugin, [] [] [false]; $($entries)*);
    };
}

/// The steps of [`export_plugin!`]: read the entries, then write the statics.
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    // @read: one entry after the other into words for the manifest, listeners, and `tools`.
    (@read $p:ty, [$($w:tt)*] [$($l:tt)*] [$t:tt];) => {
        $crate::__export!(@write $p, [$($w)*] [$($l)*] $t);
    };
    (@read $p:ty, [$($w:tt)*] $l:tt $t:tt; description: $v:expr $(, $($rest:tt)*)?) => {
        $crate::__export!(@read $p, [$($w)* (",\"description\":", Text, $v)] $l $t; $($($rest)*)?);
    };
    (@read $p:ty, [$($w:tt)*] $l:tt $t:tt; vendor: $v:expr $(, $($rest:tt)*)?) => {
        $crate::__export!(@read $p, [$($w)* (",\"vendor\":", Text, $v)] $l $t; $($($rest)*)?);
    };
    (@read $p:ty, [$($w:tt)*] $l:tt $t:tt; license: $v:expr $(, $($rest:tt)*)?) => {
        $crate::__export!(@read $p, [$($w)* (",\"license\":", Text, $v)] $l $t; $($($rest)*)?);
    };
    (@read $p:ty, [$($w:tt)*] $l:tt $t:tt; config_schema: $v:expr $(, $($rest:tt)*)?) => {
        $crate::__export!(
            @read $p, [$($w)* (",\"config_schema\":", Raw, $v)] $l $t; $($($rest)*)?
        );
    };
    (@read $p:ty, [$($w:tt)*] $l:tt $t:tt; needs: [$($v:expr),* $(,)?] $(, $($rest:tt)*)?) => {
        $crate::__export!(
            @read $p, [$($w)* (",\"needs\":", List, &[$(&[Part::Text($v)]),*])] $l $t; $($($rest)*)?
        );
    };
    (@read $p:ty, [$($w:tt)*] $l:tt $t:tt; events: [$($v:expr),* $(,)?] $(, $($rest:tt)*)?) => {
        $crate::__export!(
            @read $p, [$($w)* (",\"events\":", List, &[$(&[Part::Text($v)]),*])] $l $t; $($($rest)*)?
        );
    };
    (@read $p:ty, [$($w:tt)*] $l:tt $t:tt; entry_deadline_ms: $v:expr $(, $($rest:tt)*)?) => {
        $crate::__export!(
            @read $p, [$($w)* (",\"entry_deadline_ms\":", Number, $v)] $l $t; $($($rest)*)?
        );
    };
    (@read $p:ty, [$($w:tt)*] $l:tt $t:tt; answer_deadline_ms: $v:expr $(, $($rest:tt)*)?) => {
        $crate::__export!(
            @read $p, [$($w)* (",\"answer_deadline_ms\":", Number, $v)] $l $t; $($($rest)*)?
        );
    };
    (@read $p:ty, [$($w:tt)*] $l:tt $t:tt; state $(, $($rest:tt)*)?) => {
        $crate::__export!(@read $p, [$($w)* (",\"state\":", Raw, "true")] $l $t; $($($rest)*)?);
    };
    (@read $p:ty, [$($w:tt)*] $l:tt $t:tt; exclusive $(, $($rest:tt)*)?) => {
        $crate::__export!(@read $p, [$($w)* (",\"exclusive\":", Raw, "true")] $l $t; $($($rest)*)?);
    };
    (@read $p:ty, $w:tt $l:tt $t:tt; tools $(, $($rest:tt)*)?) => {
        $crate::__export!(@read $p, $w $l [true]; $($($rest)*)?);
    };
    (@read $p:ty, $w:tt $l:tt $t:tt; required $seam:tt: $($rest:tt)*) => {
        $crate::__export!(@kind $p, $w $l $t; required $seam $($rest)*);
    };
    (@read $p:ty, $w:tt $l:tt $t:tt; optional $seam:tt: $($rest:tt)*) => {
        $crate::__export!(@kind $p, $w $l $t; optional $seam $($rest)*);
    };
    (@read $p:ty, $w:tt $l:tt $t:tt; $seam:tt: $($rest:tt)*) => {
        $crate::__export!(@kind $p, $w $l $t; default $seam $($rest)*);
    };
    (@kind $p:ty, $w:tt $l:tt $t:tt; $place:ident $seam:tt async $($rest:tt)*) => {
        $crate::__export!(@rank $p, $w $l $t; $place $seam asynchronous $($rest)*);
    };
    (@kind $p:ty, $w:tt $l:tt $t:tt; $place:ident $seam:tt $($rest:tt)*) => {
        $crate::__export!(@rank $p, $w $l $t; $place $seam synchronous $($rest)*);
    };
    (@rank $p:ty, $w:tt [$($l:tt)*] $t:tt;
        $place:ident $seam:tt $kind:ident $method:tt @ $priority:literal $(, $($rest:tt)*)?
    ) => {
        $crate::__export!(
            @read $p, $w [$($l)* ($seam $seam $kind $method $priority $place)] $t; $($($rest)*)?
        );
    };
    (@rank $p:ty, $w:tt [$($l:tt)*] $t:tt;
        $place:ident $seam:tt $kind:ident $method:tt $(, $($rest:tt)*)?
    ) => {
        $crate::__export!(@read $p, $w [$($l)* ($seam $seam $kind $method 0 $place)] $t; $($($rest)*)?);
    };

    // @write: the root table, the note, and the symbol.
    (@write $p:ty,
        [$(($key:literal, $part:ident, $word:expr))*]
        [$(($seam:tt $spot:tt $kind:ident $method:tt $priority:literal $place:ident))*]
        $tools:literal
    ) => {
        const _: () = {
            use $crate::export::__::*;

            const SYMBOL: &str = concat!("LOCKGATE_PLUGIN_V1__", env!("CARGO_CRATE_NAME"));
            const MANIFEST: &[Part] = &[
                Part::Raw("{\"name\":"),
                Part::Text(env!("CARGO_PKG_NAME")),
                Part::Raw(",\"version\":"),
                Part::Text(env!("CARGO_PKG_VERSION")),
                Part::Raw(",\"api\":"),
                Part::Text(API_VERSION),
                Part::Raw(",\"min_host\":"),
                Part::Text(MIN_HOST),
                Part::Raw(",\"symbol\":"),
                Part::Text(SYMBOL),
                Part::Raw(",\"listeners\":"),
                Part::List(&[$(&[
                    Part::Raw("{\"seam\":"),
                    Part::Text(<seam::$seam as Seam>::NAME.as_str()),
                    Part::Raw(",\"name\":"),
                    Part::Text(stringify!($method)),
                    Part::Raw(",\"priority\":"),
                    Part::Number($priority),
                    Part::Raw(",\"required\":"),
                    Part::Raw(if $crate::__export!(@required $seam $place) { "true" } else { "false" }),
                    Part::Raw("}"),
                ]),*]),
                Part::Raw(if $tools { ",\"tools\":true" } else { "" }),
                $(Part::Raw($key), Part::$part($word),)*
                Part::Raw(",\"panic\":"),
                // Expanded in the author's crate, so it is the author's strategy.
                Part::Text(if cfg!(panic = "unwind") { "unwind" } else { "abort" }),
                Part::Raw(",\"rustc\":"),
                Part::Text(RUSTC),
                Part::Raw(",\"target\":"),
                Part::Text(TARGET),
                Part::Raw("}"),
            ];

            const ROOT: &WithMetadata<PluginRoot> = &WithMetadata::new(PluginRoot {
                name: Str::lend(env!("CARGO_PKG_NAME")),
                version: Str::lend(env!("CARGO_PKG_VERSION")),
                create: create::<$p>,
                start: start::<$p>,
                tools: tools::<$p>,
                quiesce: quiesce::<$p>,
                destroy: destroy::<$p>,
                save_state: save_state::<$p>,
                extension,
                session_start: $crate::__export!(@pick session_start $p, [] $(($seam $spot $kind $method $priority $place))*),
                prompt_submit: $crate::__export!(@pick prompt_submit $p, [] $(($seam $spot $kind $method $priority $place))*),
                pre_step: $crate::__export!(@pick pre_step $p, [] $(($seam $spot $kind $method $priority $place))*),
                turn_stopping: $crate::__export!(@pick turn_stopping $p, [] $(($seam $spot $kind $method $priority $place))*),
                pre_execute: $crate::__export!(@pick pre_execute $p, [] $(($seam $spot $kind $method $priority $place))*),
                guard: $crate::__export!(@pick guard $p, [] $(($seam $spot $kind $method $priority $place))*),
                execute: $crate::__export!(@pick execute $p, [] $(($seam $spot $kind $method $priority $place))*),
                post_execute: $crate::__export!(@pick post_execute $p, [] $(($seam $spot $kind $method $priority $place))*),
                tool_result: $crate::__export!(@pick tool_result $p, [] $(($seam $spot $kind $method $priority $place))*),
            });

            extern "C" fn root() -> RootModuleResult {
                erased(PluginRootRef(ROOT.static_as_prefix()))
            }
            static LAYOUT: LibHeader = layout(root);

            #[used]
            #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".note.lockgate"))]
            #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__TEXT,__lockgate"))]
            static NOTE: Note<{ json_len(MANIFEST) }> = Note::new(json(MANIFEST));

            #[unsafe(export_name = concat!("LOCKGATE_PLUGIN_V1__", env!("CARGO_CRATE_NAME")))]
            static ENTRY: Entry = Entry {
                magic: Entry::MAGIC,
                size: ::core::mem::size_of::<Entry>() as u32,
                epoch: Entry::EPOCH,
                root: ::core::ptr::from_ref(ROOT).cast(),
                layout: &LAYOUT,
                note: ::core::ptr::from_ref(&NOTE).cast(),
            };

            impl Linked for $p {
                fn root() -> PluginRootRef {
                    PluginRootRef(ROOT.static_as_prefix())
                }
                fn manifest() -> &'static [u8] {
                    NOTE.manifest()
                }
            }
        };
    };

    (@required $seam:ident required) => { true };
    (@required $seam:ident optional) => { false };
    (@required $seam:ident default) => { <seam::$seam as Seam>::NAME.is_required() };

    // @pick: the tables of one seam's listeners, in the order of export.
    (@pick session_start $p:ty, [$($o:tt)*] (session_start $($it:tt)*) $($rest:tt)*) => {
        $crate::__export!(@pick session_start $p, [$($o)* (session_start $($it)*)] $($rest)*)
    };
    (@pick prompt_submit $p:ty, [$($o:tt)*] (prompt_submit $($it:tt)*) $($rest:tt)*) => {
        $crate::__export!(@pick prompt_submit $p, [$($o)* (prompt_submit $($it)*)] $($rest)*)
    };
    (@pick pre_step $p:ty, [$($o:tt)*] (pre_step $($it:tt)*) $($rest:tt)*) => {
        $crate::__export!(@pick pre_step $p, [$($o)* (pre_step $($it)*)] $($rest)*)
    };
    (@pick turn_stopping $p:ty, [$($o:tt)*] (turn_stopping $($it:tt)*) $($rest:tt)*) => {
        $crate::__export!(@pick turn_stopping $p, [$($o)* (turn_stopping $($it)*)] $($rest)*)
    };
    (@pick pre_execute $p:ty, [$($o:tt)*] (pre_execute $($it:tt)*) $($rest:tt)*) => {
        $crate::__export!(@pick pre_execute $p, [$($o)* (pre_execute $($it)*)] $($rest)*)
    };
    (@pick guard $p:ty, [$($o:tt)*] (guard $($it:tt)*) $($rest:tt)*) => {
        $crate::__export!(@pick guard $p, [$($o)* (guard $($it)*)] $($rest)*)
    };
    (@pick execute $p:ty, [$($o:tt)*] (execute $($it:tt)*) $($rest:tt)*) => {
        $crate::__export!(@pick execute $p, [$($o)* (execute $($it)*)] $($rest)*)
    };
    (@pick post_execute $p:ty, [$($o:tt)*] (post_execute $($it:tt)*) $($rest:tt)*) => {
        $crate::__export!(@pick post_execute $p, [$($o)* (post_execute $($it)*)] $($rest)*)
    };
    (@pick tool_result $p:ty, [$($o:tt)*] (tool_result $($it:tt)*) $($rest:tt)*) => {
        $crate::__export!(@pick tool_result $p, [$($o)* (tool_result $($it)*)] $($rest)*)
    };
    (@pick $seam:ident $p:ty, $o:tt $other:tt $($rest:tt)*) => {
        $crate::__export!(@pick $seam $p, $o $($rest)*)
    };
    (@pick $seam:ident $p:ty, [$(($name:ident $spot:tt $kind:ident $method:tt $priority:literal $place:ident))*]) => {{
        const LISTENERS: &[Exported<seam::$seam>] = &[$({
            enum It {}
            $crate::__export!(@ask $kind $seam $spot $p, $method);
            const TABLE: &WithMetadata<Listener<
                <seam::$seam as Seam>::Args,
                <seam::$seam as Seam>::Answer,
            >> = &WithMetadata::new(Listener {
                name: Str::lend(stringify!($method)),
                priority: $priority,
                flags: if $crate::__export!(@required $seam $place) { REQUIRED } else { 0 },
                call: $kind::<$p, seam::$seam, It>,
            });
            ListenerRef(TABLE.static_as_prefix())
        }),*];
        Slice::lend(LISTENERS)
    }};

    // @ask: how the entry calls the method. Errors point at what the author wrote if that is one
    // token captured as `tt`: so arguments go by the name of the seam as it was written there,
    // `$spot`, and answers by that of the method.
    (@ask asynchronous guard $spot:tt $p:ty, $method:tt) => {
        $crate::__export!(@never guard $p, "a guard answers at once: `", $method);
    };
    (@ask asynchronous tool_result $spot:tt $p:ty, $method:tt) => {
        $crate::__export!(@never tool_result $p, "a tool_result listener is told at once: `", $method);
    };
    (@ask synchronous post_execute $spot:tt $p:ty, $method:tt) => {
        $crate::__export!(@now post_execute $spot $p, $method, |view| [view.call(), view.outcome()]);
    };
    (@ask synchronous tool_result $spot:tt $p:ty, $method:tt) => {
        $crate::__export!(@now tool_result $spot $p, $method, |view| [view.call(), view.outcome()]);
    };
    (@ask synchronous $seam:ident $spot:tt $p:ty, $method:tt) => {
        $crate::__export!(@now $seam $spot $p, $method, |view| [view]);
    };
    (@ask asynchronous post_execute $spot:tt $p:ty, $method:tt) => {
        $crate::__export!(@later post_execute $spot $p, $method, |view, next| [view.call(), view.outcome(), next]);
    };
    (@ask asynchronous session_start $spot:tt $p:ty, $method:tt) => {
        $crate::__export!(@later session_start $spot $p, $method, |view, next| [view]);
    };
    (@ask asynchronous turn_stopping $spot:tt $p:ty, $method:tt) => {
        $crate::__export!(@later turn_stopping $spot $p, $method, |view, next| [view]);
    };
    (@ask asynchronous $seam:ident $spot:tt $p:ty, $method:tt) => {
        $crate::__export!(@later $seam $spot $p, $method, |view, next| [view, next]);
    };
    (@now $seam:ident $spot:tt $p:ty, $method:tt, |$view:ident| [$($arg:expr),*]) => {
        impl Listens<$p, seam::$seam> for It {
            fn ask(plugin: &$p, $view: &<seam::$seam as Seam>::View) -> Reply<<seam::$seam as Seam>::Answer> {
                let $method = <$p>::$method;
                let $method = $method(plugin, $($crate::__export!(@at $spot $arg)),*);
                reply(PhantomData::<seam::$seam>, $method)
            }
        }
    };
    (@later $seam:ident $spot:tt $p:ty, $method:tt, |$view:ident, $next:ident| [$($arg:expr),*]) => {
        impl ListensLater<$p, seam::$seam> for It {
            async fn ask(
                plugin: &$p,
                $view: &<seam::$seam as Seam>::View,
                $next: &mut <seam::$seam as Seam>::Next,
            ) -> Reply<<seam::$seam as Seam>::Answer> {
                let _ = &$next;
                let $method = <$p>::$method;
                let $method = $method(plugin, $($crate::__export!(@at $spot $arg)),*);
                let $method = later($method).await;
                reply(PhantomData::<seam::$seam>, $method)
            }
        }
    };
    (@at $spot:tt $value:expr) => {{
        let $spot = $value;
        $spot
    }};
    (@never $seam:ident $p:ty, $why:literal, $method:tt) => {
        ::core::compile_error!(concat!($why, stringify!($method), "` cannot be `async`"));
        // So that this is the only error.
        impl ListensLater<$p, seam::$seam> for It {
            async fn ask(
                _: &$p,
                _: &<seam::$seam as Seam>::View,
                _: &mut <seam::$seam as Seam>::Next,
            ) -> Reply<<seam::$seam as Seam>::Answer> {
                Reply::Next
            }
        }
    };
}

/// What [`export_plugin!`] writes names of.
#[doc(hidden)]
pub mod __ {
    pub use core::marker::PhantomData;

    pub use abi_stable::library::{LibHeader, RootModuleResult};
    pub use abi_stable::prefix_type::WithMetadata;

    pub use super::entry::{
        Exported, Listens, ListensLater, asynchronous, create, destroy, extension, later, quiesce,
        reply, save_state, start, synchronous, tools,
    };
    pub use super::linked::Linked;
    pub use crate::abi::entry::{
        API_VERSION, Entry, MIN_HOST, Note, RUSTC, TARGET, erased, layout,
    };
    pub use crate::abi::future::Reply;
    pub use crate::abi::listener::{Listener, ListenerRef, REQUIRED};
    pub use crate::abi::root::{PluginRoot, PluginRootRef};
    pub use crate::abi::seam::{self, Seam};
    pub use crate::abi::value::{Slice, Str};
    pub use crate::manifest::{Part, json, json_len};
}
