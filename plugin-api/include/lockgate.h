/*
 * lockgate.h: the boundary between Lockgate and its plugins, for plugins in C.
 *
 * A plugin is a shared library with one exported symbol and one ELF note. LOCKGATE_PLUGIN, at the
 * end of this file, writes both. The symbol leads to the root table, and from there the host finds
 * everything else. docs/abi.md tells the same as a story, with a plugin to start from.
 *
 * Reading order: values, tables, futures, decisions, calls, what each seam is asked, listeners,
 * the host's functions, tools, the root, the entry.
 *
 * Each function ends with how it may be called, in brackets:
 *   any thread       it is not bound to one
 *   concurrent       by several threads at once
 *   must not block   it answers at once, or through a future
 *
 * What is lent is valid until the answer to the call that it came with; where that answer is a
 * future, until the future was dropped. Nothing that is lent may be freed or kept.
 *
 * C11, 64-bit ELF targets. Written by hand; a test of the plugin API compares every size, offset,
 * type and constant here with what the host was compiled from.
 */
#ifndef LOCKGATE_H
#define LOCKGATE_H

#include <stddef.h>
#include <stdint.h>

_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8, "Lockgate runs on 64-bit targets");

/* The version of the plugin API that this file describes. */
#define LOCKGATE_API_VERSION "0.1.0"
/* The oldest host that a plugin written against this file works with. */
#define LOCKGATE_MIN_HOST "0.1.0"


/* ---- Values -------------------------------------------------------------------------------- */

/*
 * How an entry answered. Zero is none of them, so that a forgotten return is not a yes; any other
 * number is a breach of the protocol, and the call that it was about fails.
 */
typedef uint32_t lockgate_status;
enum {
    LOCKGATE_READY = 1,   /* `out` was written, where the function has one */
    LOCKGATE_NEXT = 2,    /* no opinion: as if the listener were not there */
    LOCKGATE_PENDING = 3, /* `future` was written and will answer */
    LOCKGATE_FAULT = 4    /* `fault` was written: what went wrong, for the operator */
};

/* Borrowed text, UTF-8, not ended by a zero. Null with zero is the empty text. */
typedef struct lockgate_str {
    const char *ptr;
    size_t len; /* in bytes */
} lockgate_str;

/* The initialiser of a lockgate_str for a string literal. */
#define LOCKGATE_STR(literal) { "" literal, sizeof(literal) - 1 }

/* A borrowed list of texts. Null with zero is the empty list. */
typedef struct lockgate_strs {
    const lockgate_str *ptr;
    size_t len;
} lockgate_strs;

/* Borrowed bytes. Null with zero is none. */
typedef struct lockgate_bytes {
    const char *ptr;
    size_t len;
} lockgate_bytes;

/*
 * Owned bytes. Whoever has them calls `free` once, with the three values that came with it, or
 * passes them on; this may be on any thread and after the instance that made them was destroyed.
 * A null `free` means that there is nothing to free, as with a string literal. All zero is empty.
 */
typedef struct lockgate_buf {
    const char *ptr;
    size_t len;
    void *owner; /* for `free` alone */
    void (*free)(const char *ptr, size_t len, void *owner);
} lockgate_buf;

/* The initialiser of a lockgate_buf for a string literal. */
#define LOCKGATE_LITERAL(literal) { "" literal, sizeof(literal) - 1, NULL, NULL }

/* A plugin's own state. Only the plugin knows what is behind the pointer; null is allowed. */
typedef struct lockgate_instance lockgate_instance;


/* ---- Tables -------------------------------------------------------------------------------- */

/*
 * What may grow stands in a table, reached by pointer. A table begins with these two words; its
 * fields follow. Newer tables have more fields at the end and never other ones in between.
 */
typedef struct lockgate_header {
    /* One bit a field that is there, the lowest for the first one. */
    uint64_t present;
    /* What Rust's layout checker reads. Null in tables made in C; of no use in others. */
    const void *layout;
} lockgate_header;

/* The `present` of a table with its first `count` fields, of which there are fewer than 64. */
#define LOCKGATE_FIRST(count) ((UINT64_C(1) << (count)) - 1)
/* The initialiser of a header for a table with its first `count` fields. */
#define LOCKGATE_HEADER(count) { LOCKGATE_FIRST(count), NULL }
/* Whether a table that the other side made has the field number `index`, from 0. */
#define LOCKGATE_HAS(table, index) (((table)->header.present >> (index) & 1) != 0)

/* The fields of the tables that plugins make. All of them must be there. */
#define LOCKGATE_LISTENER_FIELDS 4
#define LOCKGATE_PROCESS_SPEC_FIELDS 9
#define LOCKGATE_NESTED_CALL_FIELDS 2
#define LOCKGATE_TOOL_ENTRY_FIELDS 13
#define LOCKGATE_PLUGIN_ROOT_FIELDS 18


/* ---- Futures ------------------------------------------------------------------------------- */

typedef struct lockgate_waker_table lockgate_waker_table;

/* Tells the host that a future is worth polling again. Lent for one `poll`; `clone` makes one that
 * may be kept. */
typedef struct lockgate_task_waker {
    const void *data;
    const lockgate_waker_table *table;
} lockgate_task_waker;

/* What a waker can do. It does not grow, so it has no header. */
struct lockgate_waker_table {
    /* Makes a waker of its own, to be given to `wake` or `drop`, once.
     * [any thread, concurrent, must not block] */
    lockgate_task_waker (*clone)(const void *data);
    /* Wakes the task and uses the waker up. Not for a lent one.
     * [any thread, concurrent, must not block] */
    void (*wake)(const void *data);
    /* Wakes the task. [any thread, concurrent, must not block] */
    void (*wake_by_ref)(const void *data);
    /* Uses the waker up. Not for a lent one. [any thread, concurrent, must not block] */
    void (*drop)(const void *data);
};

/*
 * An answer that comes later. All zero is no future.
 *
 * poll: answers as an entry does, with LOCKGATE_PENDING while there is no answer; then the waker,
 *     or a clone of it, must be woken once there may be one. Never called after another answer.
 *     `out` and `fault` are empty. [any thread, one at a time, must not block]
 * drop: frees the future, with an answer or without. Called exactly once.
 *     [any thread, one at a time, must not block]
 */
#define LOCKGATE_FUTURE_OF(answer)                                                             \
    typedef struct answer##_future {                                                           \
        void *state;                                                                           \
        lockgate_status (*poll)(void *state, const lockgate_task_waker *waker, answer *out,    \
                                lockgate_buf *fault);                                          \
        void (*drop)(void *state);                                                             \
    } answer##_future

/* Stands for a decision where there is nothing to decide. */
typedef struct lockgate_noted {
    uint32_t noted; /* 1 */
} lockgate_noted;
LOCKGATE_FUTURE_OF(lockgate_noted);


/* ---- Decisions ----------------------------------------------------------------------------- */

/*
 * The shape of every decision. Zeroed by the host before it asks; a verdict that stays zero is a
 * breach of the protocol.
 */
typedef struct lockgate_answer {
    /* One of the numbers below, by the seam. */
    uint32_t verdict;
    /* LOCKGATE_REPLACES_CONTEXTS. Those in LOCKGATE_CRITICAL_FLAGS must be known to the host, or the decision cannot
     * be read and the call fails; the others may be passed over. */
    uint32_t flags;
    /* Why, in UTF-8, for the model. */
    lockgate_buf text;
    /* A JSON object, or empty: `messages`, `content`, `value`, `contexts`. Each decision has its
     * own keys, named with its verdicts. A message is `{"id": "", "role": "user", "content":
     * [block, ...], "source": {"kind": "plugin", "plugin": NAME}}`, to which the host gives an id;
     * a block is `{"type": "text", "text": ...}`. */
    lockgate_buf data;
} lockgate_answer;
#define LOCKGATE_CRITICAL_FLAGS UINT32_C(0xFFFF0000)
/* Of a post-execute decision: its `contexts` are all that is left, the outcome's own are dropped. */
#define LOCKGATE_REPLACES_CONTEXTS UINT32_C(0x10000)

/* May this prompt be submitted? Answers prompt-submit. */
typedef lockgate_answer lockgate_prompt_decision;
enum {
    LOCKGATE_PROMPT_ALLOW = 1, /* data: `content` to put in its place, `contexts` */
    LOCKGATE_PROMPT_BLOCK = 2  /* text: why */
};
LOCKGATE_FUTURE_OF(lockgate_prompt_decision);

/* Which messages enter this step? Answers pre-step. */
typedef lockgate_answer lockgate_pre_step_decision;
enum {
    LOCKGATE_PRE_STEP_ENTER = 1, /* data: `messages`, all that enter */
    LOCKGATE_PRE_STEP_REJECT = 2 /* text: why */
};
LOCKGATE_FUTURE_OF(lockgate_pre_step_decision);

/* May this tool call run? Answers pre-execute. */
typedef lockgate_answer lockgate_pre_tool_decision;
enum {
    LOCKGATE_PRE_TOOL_ALLOW = 1,
    LOCKGATE_PRE_TOOL_DENY = 2, /* text: why */
    LOCKGATE_PRE_TOOL_ASK = 3   /* text: what a person is asked */
};
LOCKGATE_FUTURE_OF(lockgate_pre_tool_decision);

/* Must this tool call not run? Answers a guard, which cannot allow: it denies, or says
 * LOCKGATE_NEXT. */
typedef lockgate_answer lockgate_guard_decision;
enum {
    LOCKGATE_GUARD_DENY = 1 /* text: why */
};
LOCKGATE_FUTURE_OF(lockgate_guard_decision);

/* What becomes of this outcome? Answers post-execute. `contexts` goes with each verdict. */
typedef lockgate_answer lockgate_post_tool_decision;
enum {
    LOCKGATE_POST_TOOL_ACCEPT = 1,
    LOCKGATE_POST_TOOL_REPLACE_CONTENT = 2, /* data: `content` */
    LOCKGATE_POST_TOOL_REPLACE_VALUE = 3,   /* data: `value` */
    LOCKGATE_POST_TOOL_BLOCK = 4            /* data: `content`, the feedback */
};
LOCKGATE_FUTURE_OF(lockgate_post_tool_decision);

/*
 * What a tool call came to. One that came from the host and goes back as it is costs nothing,
 * whatever its size; whoever changes anything in it sets `token` to zero.
 */
typedef struct lockgate_tool_outcome {
    /* The host's mark of an outcome that it made; zero in a new one. */
    uint64_t token;
    /* LOCKGATE_TOOL_OUTCOME_SUCCESS or LOCKGATE_TOOL_OUTCOME_FAILURE. */
    uint32_t verdict;
    /* LOCKGATE_TOOL_OUTCOME_CONCLUDES_TURN, which only the host sets. */
    uint32_t flags;
    /* A failure's message, UTF-8. */
    lockgate_buf text;
    /* A success's value: any JSON. */
    lockgate_buf value;
    /* What the model is shown: a JSON list of blocks. On a new success the host makes it, and on a
     * failure without any. */
    lockgate_buf content;
    /* A JSON object, or empty: `error` with `name` and `code`, `meta`, `contexts`. */
    lockgate_buf data;
} lockgate_tool_outcome;
enum {
    LOCKGATE_TOOL_OUTCOME_SUCCESS = 1,
    LOCKGATE_TOOL_OUTCOME_FAILURE = 2,
    LOCKGATE_TOOL_OUTCOME_CONCLUDES_TURN = 1
};
LOCKGATE_FUTURE_OF(lockgate_tool_outcome);


/* ---- Calls --------------------------------------------------------------------------------- */

/* One tool call, sealed: the same from the first seam to the last, and read-only. */
typedef struct lockgate_call_table {
    lockgate_header header;
    /* The host's, for `signal`. */
    const void *state;
    /* Unique among the calls of the process, which `call_id` is not. */
    uint64_t id;
    /* The `id` of the call that makes this one from inside its body; 0 for none. */
    uint64_t parent;
    /* The agent it runs for; 0 for none. */
    uint64_t agent;
    /* The time the tool gives itself, in milliseconds; 0 for no limit. */
    uint64_t budget_ms;
    /* The model's id for the call. */
    lockgate_str call_id;
    /* The `call_id` of the outermost call. */
    lockgate_str root_call_id;
    /* The tool's name. The tool may not exist. */
    lockgate_str name;
    /* The arguments: one JSON text. */
    lockgate_str arguments;
    /* The directory the session works in; empty for none. */
    lockgate_str cwd;
    /* The signal that fires when the call is cancelled, for the host's functions that take one.
     * [any thread, concurrent, must not block] */
    uint64_t (*signal)(const void *state);
} lockgate_call_table;

/*
 * The way to the listeners further in, and to what stands behind the last of them. For use inside
 * the listener's entry and the polls of its future, and nowhere else.
 *
 * state: the host's.
 * run: makes a future that asks the whole remaining chain once it is polled; LOCKGATE_PENDING, or
 *     LOCKGATE_FAULT where the last such future was not dropped yet. After that, the chain is asked
 *     anew. The future may be polled by the listener's own or handed on as its answer. Dropping it
 *     early cancels what runs, and the host waits for that to end.
 *     [listener's thread, must not block]
 * deadline: what `run` starts from now on is cancelled in `timeout_ms` milliseconds, besides
 *     whenever the call is. The last deadline counts, and goes with the listener's answer. Returns
 *     the signal that tells whether this deadline was the cause; 0 where the chain has no body to
 *     cancel. [listener's thread, must not block]
 */
#define LOCKGATE_NEXT_OF(answer)                                                               \
    typedef struct answer##_next {                                                             \
        lockgate_header header;                                                                \
        const void *state;                                                                     \
        lockgate_status (*run)(const void *state, answer##_future *future,                     \
                               lockgate_buf *fault);                                           \
        uint64_t (*deadline)(const void *state, uint64_t timeout_ms);                          \
    } answer##_next

LOCKGATE_NEXT_OF(lockgate_prompt_decision);    /* behind the last listener: allow */
LOCKGATE_NEXT_OF(lockgate_pre_step_decision);  /* enter with these messages */
LOCKGATE_NEXT_OF(lockgate_pre_tool_decision);  /* allow */
LOCKGATE_NEXT_OF(lockgate_tool_outcome);       /* the tool's body */
LOCKGATE_NEXT_OF(lockgate_post_tool_decision); /* accept */


/* ---- What each seam is asked --------------------------------------------------------------- */

/* session-start: a session starts. Told, not asked. */
typedef struct lockgate_session_start_args {
    lockgate_header header;
    uint64_t agent;
    uint32_t source; /* LOCKGATE_SESSION_..., or a number of a newer host */
} lockgate_session_start_args;
enum {
    LOCKGATE_SESSION_STARTUP = 1, /* it is new, or a fork of another */
    LOCKGATE_SESSION_RESUME = 2,  /* it was read back from its log */
    LOCKGATE_SESSION_CLEAR = 3,   /* reserved: its history was cleared */
    LOCKGATE_SESSION_COMPACT = 4  /* reserved: its history was compacted */
};

/* prompt-submit: a prompt is about to be submitted. */
typedef struct lockgate_prompt_submit_args {
    lockgate_header header;
    uint64_t agent;
    /* Counted from 1 over the whole session; 0 where the prompt opens a turn only if admitted. */
    uint64_t turn;
    /* Fires when the turn is cancelled. */
    uint64_t signal;
    /* One JSON message. */
    lockgate_str prompt;
    const lockgate_prompt_decision_next *next;
} lockgate_prompt_submit_args;

/* pre-step: a step is proposed. */
typedef struct lockgate_pre_step_args {
    lockgate_header header;
    uint64_t agent;
    /* Counted from 1 over the whole session. */
    uint64_t turn;
    /* Counted from 1 in its turn. */
    uint64_t step;
    /* Fires when the turn is cancelled. */
    uint64_t signal;
    /* The messages that would enter: a JSON list, empty where the step only continues. */
    lockgate_str messages;
    const lockgate_pre_step_decision_next *next;
} lockgate_pre_step_args;

/* turn-stopping: a turn is about to end. Told, and waited for. */
typedef struct lockgate_turn_stopping_args {
    lockgate_header header;
    uint64_t agent;
    uint64_t turn;
    /* Fires when the turn is cancelled. */
    uint64_t signal;
} lockgate_turn_stopping_args;

/* pre-execute: a tool call is about to run. */
typedef struct lockgate_pre_execute_args {
    lockgate_header header;
    const lockgate_call_table *call;
    const lockgate_pre_tool_decision_next *next;
} lockgate_pre_execute_args;

/* guard: a tool call was allowed. Answered at once. */
typedef struct lockgate_guard_args {
    lockgate_header header;
    const lockgate_call_table *call;
} lockgate_guard_args;

/* execute: around the tool's body. */
typedef struct lockgate_execute_args {
    lockgate_header header;
    const lockgate_call_table *call;
    const lockgate_tool_outcome_next *next;
} lockgate_execute_args;

/* post-execute: a tool call came to an outcome. */
typedef struct lockgate_post_execute_args {
    lockgate_header header;
    const lockgate_call_table *call;
    /* What it came to so far. */
    const lockgate_tool_outcome *outcome;
    const lockgate_post_tool_decision_next *next;
} lockgate_post_execute_args;

/* tool-result: a tool call's outcome is final. Told at once. */
typedef struct lockgate_tool_result_args {
    lockgate_header header;
    const lockgate_call_table *call;
    const lockgate_tool_outcome *outcome;
} lockgate_tool_result_args;


/* ---- Listeners ----------------------------------------------------------------------------- */

/*
 * A listener that a plugin exports, and a list of pointers to them. Name, priority and
 * LOCKGATE_REQUIRED stand in the manifest too, and must be the same there.
 *
 * name: unique among the plugin's listeners of the seam.
 * priority: higher stands further out, asked first and answering last.
 * flags: LOCKGATE_REQUIRED.
 * call: the entry. The host zeroes `out`, `future` and `fault` first, and the entry writes the one
 *     that its status names. [any thread, concurrent, must not block]
 */
#define LOCKGATE_LISTENER_OF(seam, answer)                                                     \
    typedef struct seam##_listener {                                                           \
        lockgate_header header;                                                                \
        lockgate_str name;                                                                     \
        int32_t priority;                                                                      \
        uint32_t flags;                                                                        \
        lockgate_status (*call)(const lockgate_instance *instance, const seam##_args *args,    \
                                answer *out, answer##_future *future, lockgate_buf *fault);    \
    } seam##_listener;                                                                         \
    typedef struct seam##_listeners {                                                          \
        const seam##_listener *const *ptr;                                                     \
        size_t len;                                                                            \
    } seam##_listeners

/* A flag of a listener: while its plugin is not there, its place fails every call that comes to
 * it. */
#define LOCKGATE_REQUIRED 1

LOCKGATE_LISTENER_OF(lockgate_session_start, lockgate_noted);
LOCKGATE_LISTENER_OF(lockgate_prompt_submit, lockgate_prompt_decision);
LOCKGATE_LISTENER_OF(lockgate_pre_step, lockgate_pre_step_decision);
LOCKGATE_LISTENER_OF(lockgate_turn_stopping, lockgate_noted);
LOCKGATE_LISTENER_OF(lockgate_pre_execute, lockgate_pre_tool_decision);
LOCKGATE_LISTENER_OF(lockgate_guard, lockgate_guard_decision);
LOCKGATE_LISTENER_OF(lockgate_execute, lockgate_tool_outcome);
LOCKGATE_LISTENER_OF(lockgate_post_execute, lockgate_post_tool_decision);
LOCKGATE_LISTENER_OF(lockgate_tool_result, lockgate_noted);


/* ---- The host's functions ------------------------------------------------------------------ */

/* A process to run. Lent for the call that takes it. */
typedef struct lockgate_process_spec {
    lockgate_header header;
    /* A path, or a name to look for on PATH. */
    lockgate_str program;
    lockgate_strs arguments;
    /* The directory it runs in; empty for the host's. */
    lockgate_str cwd;
    /* Names and values in turn, set on top of the host's environment. */
    lockgate_strs environment;
    /* What it reads from its standard input. */
    lockgate_str stdin_text;
    /* The signal that kills it; 0 for none. */
    uint64_t signal;
    /* Kills it after this time; 0 for no limit. */
    uint64_t timeout_ms;
    /* The bytes kept of each stream, what follows being read and dropped; 0 for no bound. */
    uint64_t keep;
    /* LOCKGATE_MERGED. */
    uint32_t flags;
} lockgate_process_spec;
/* Standard error goes where standard output goes, in the order in which the process wrote. */
#define LOCKGATE_MERGED 1

/* How a process ended. */
typedef struct lockgate_process_exit {
    uint32_t how;   /* 1: it exited with `code`; 2: the signal `code` ended it */
    int32_t code;
    uint32_t flags; /* LOCKGATE_CUT, LOCKGATE_TIMED_OUT */
    lockgate_buf stdout_bytes;
    lockgate_buf stderr_bytes; /* empty where merged */
} lockgate_process_exit;
/* It wrote more than was kept. */
#define LOCKGATE_CUT 1
/* It was killed because its time was over. */
#define LOCKGATE_TIMED_OUT 2
LOCKGATE_FUTURE_OF(lockgate_process_exit);

/* One JSON text, answered. */
typedef struct lockgate_json {
    uint32_t given; /* 1 */
    uint32_t flags; /* none yet */
    lockgate_buf text;
} lockgate_json;
LOCKGATE_FUTURE_OF(lockgate_json);

/* Something for the host to call, on any thread, once. */
typedef struct lockgate_closure {
    void (*run)(void *state);
    void *state;
} lockgate_closure;

/*
 * The host's functions. They live as long as the process. `instance` is the number in
 * lockgate_create_args; once that instance is destroyed, it is answered no more.
 *
 * A function with a `future` answers LOCKGATE_PENDING or LOCKGATE_FAULT. `future` and `fault` are
 * zeroed by the caller, who owns what is written there.
 */
typedef struct lockgate_host_table {
    lockgate_header header;
    /* Writes a line to the host's log; `level` is 1 for errors to 5 for traces.
     * [any thread, concurrent, must not block] */
    void (*log)(uint64_t instance, uint32_t level, lockgate_str target, lockgate_str message);
    /* The highest level that anybody reads; 0 for none. [any thread, concurrent, must not block] */
    uint32_t (*max_level)(void);
    /* A table of the host's that is not in this one, by its id; null where it has none.
     * [any thread, concurrent, must not block] */
    const void *(*extension)(lockgate_str id);
    /* 1 when the signal has fired. A signal that is gone counts as fired.
     * [any thread, concurrent, must not block] */
    uint32_t (*has_fired)(uint64_t signal);
    /* A future that is ready when the signal has fired. [any thread, concurrent, must not block] */
    lockgate_status (*fired)(uint64_t instance, uint64_t signal, lockgate_noted_future *future,
                             lockgate_buf *fault);
    /* A future that is ready after `millis` milliseconds.
     * [any thread, concurrent, must not block] */
    lockgate_status (*sleep)(uint64_t instance, uint64_t millis, lockgate_noted_future *future,
                             lockgate_buf *fault);
    /* Puts a message (JSON) into an agent's inbox: `target` is LOCKGATE_NEXT_TURN or
     * LOCKGATE_NEXT_STEP, `wake` 1 to wake the agent. [any thread, concurrent, must not block] */
    lockgate_status (*send)(uint64_t instance, uint64_t agent, uint32_t target, uint32_t wake,
                            lockgate_str message, lockgate_noted_future *future,
                            lockgate_buf *fault);
    /* Takes `future` over, leaving none there, and polls it to its end or the instance's.
     * [any thread, concurrent, must not block] */
    lockgate_status (*spawn)(uint64_t instance, lockgate_noted_future *future,
                             lockgate_buf *fault);
    /* Calls the closure, once, on a thread that may block. On a fault it is not called. The
     * instance is not destroyed before it has returned. [any thread, concurrent, must not block] */
    lockgate_status (*spawn_blocking)(uint64_t instance, lockgate_closure closure,
                                      lockgate_buf *fault);
    /* Runs a process in a process group of its own. Dropping the future, and the signal in
     * `spec`, kill the group. [any thread, concurrent, must not block] */
    lockgate_status (*process)(uint64_t instance, const lockgate_process_spec *spec,
                               lockgate_process_exit_future *future, lockgate_buf *fault);
    /* Cancels an agent's turn, if one runs, because of `reason`, and withdraws what waits for the
     * agent unless LOCKGATE_KEEP_INBOX is set. [any thread, concurrent, must not block] */
    lockgate_status (*cancel)(uint64_t instance, uint64_t agent, uint32_t flags,
                              lockgate_str reason, lockgate_noted_future *future,
                              lockgate_buf *fault);
    /* What waits for an agent: an object of two lists of messages, `nextTurn` and `nextStep`.
     * [any thread, concurrent, must not block] */
    lockgate_status (*inbox)(uint64_t instance, uint64_t agent, lockgate_json_future *future,
                             lockgate_buf *fault);
    /* The events of an agent's session from the number `from` on, at most `most`: a list of
     * objects as the log has them. [any thread, concurrent, must not block] */
    lockgate_status (*events)(uint64_t instance, uint64_t agent, uint64_t from, uint64_t most,
                              lockgate_json_future *future, lockgate_buf *fault);
    /* Appends an event of the type `kind`, which the manifest declares under `events`, with `data`
     * (JSON) to the log of an agent's session. [any thread, concurrent, must not block] */
    lockgate_status (*append)(uint64_t instance, uint64_t agent, lockgate_str kind,
                              lockgate_str data, lockgate_noted_future *future,
                              lockgate_buf *fault);
    /* The instance has other tools now: it is asked to list them again, on another thread, and
     * calls that begin after that find those. [any thread, concurrent, must not block] */
    lockgate_status (*tools_changed)(uint64_t instance, lockgate_buf *fault);
} lockgate_host_table;

/* Targets of `send`: a prompt, in a turn of its own; or entering at the next step. */
#define LOCKGATE_NEXT_TURN 1
#define LOCKGATE_NEXT_STEP 2

/* A flag of `cancel`: what waits for the agent goes on waiting. */
#define LOCKGATE_KEEP_INBOX 1


/* ---- Tools --------------------------------------------------------------------------------- */

/* A call that a tool's body makes. Lent by the plugin for the call of the function. */
typedef struct lockgate_nested_call {
    lockgate_header header;
    /* The tool's name. */
    lockgate_str name;
    /* Its arguments: one JSON text. */
    lockgate_str arguments;
} lockgate_nested_call;

/* What a tool's body runs in. Lent for one run of the body. */
typedef struct lockgate_run_table {
    lockgate_header header;
    const lockgate_call_table *call;
    /* The host's, for the functions below. */
    const void *state;
    /* The signal that tells the body to end: the caller's, or a deadline set around it. The host
     * waits for the body all the same. [any thread, concurrent, must not block] */
    uint64_t (*signal)(const void *state);
    /* Adds a message (JSON) for the model, entering at the next step; kept even if the body fails.
     * [any thread, concurrent, must not block] */
    lockgate_status (*defer_context)(const void *state, lockgate_str message,
                                     lockgate_buf *fault);
    /* Makes another call through every phase: for the same agent, cancelled with this run. What its
     * listeners have to say to the model is added to what this call does.
     * [any thread, concurrent, must not block] */
    lockgate_status (*call_tool)(const void *state, const lockgate_nested_call *request,
                                 lockgate_tool_outcome_future *future, lockgate_buf *fault);
    /* The turn is over if this call succeeds. [any thread, concurrent, must not block] */
    void (*conclude_turn)(const void *state);
    /* Tells whoever watches the call how far the body is: `done` of `total`, 0 and 0 where that
     * cannot be counted, and a line for a person. [any thread, concurrent, must not block] */
    void (*progress)(const void *state, uint64_t done, uint64_t total, lockgate_str text);
} lockgate_run_table;

/* A tool of a plugin. Everything in it is valid until `release`. */
typedef struct lockgate_tool_entry {
    lockgate_header header;
    /* The plugin's, for the functions below. */
    const void *state;
    /* The name models call it by. */
    lockgate_str name;
    /* What models are told of it. */
    lockgate_str description;
    /* The JSON Schema of its arguments. */
    lockgate_str parameters;
    /* The JSON Schema of its value. */
    lockgate_str output;
    /* The time it gives itself, in milliseconds; 0 for no limit. */
    uint64_t budget_ms;
    /* LOCKGATE_HAS_LAST_WORD. */
    uint32_t flags;
    /* Runs the body: a success with a value, or a failure. [any thread, concurrent, must not
     * block] */
    lockgate_status (*execute)(const void *state, const lockgate_run_table *run,
                               lockgate_tool_outcome *out, lockgate_tool_outcome_future *future,
                               lockgate_buf *fault);
    /* What the model is shown of a value: a JSON list of blocks, or LOCKGATE_NEXT for the host's
     * own way. [any thread, concurrent, must not block] */
    lockgate_status (*render)(const void *state, const lockgate_call_table *call,
                              lockgate_str value, lockgate_json *out, lockgate_buf *fault);
    /* What whoever presents the outcome gets of a value: any JSON, or LOCKGATE_NEXT for nothing.
     * Not asked for calls from inside another call. [any thread, concurrent, must not block] */
    lockgate_status (*present)(const void *state, const lockgate_call_table *call,
                               lockgate_str value, lockgate_json *out, lockgate_buf *fault);
    /* The last word on what the model is shown, whatever became of the call: a JSON list of
     * blocks, or LOCKGATE_NEXT to leave it. Called once a call, where LOCKGATE_HAS_LAST_WORD is
     * set. [any thread, concurrent, must not block] */
    lockgate_status (*finalize)(const void *state, const lockgate_call_table *call,
                                const lockgate_tool_outcome *outcome, lockgate_json *out,
                                lockgate_buf *fault);
    /* 1 when a call with these arguments may run beside others of its step.
     * [any thread, concurrent, must not block] */
    uint32_t (*is_parallel_safe)(const void *state, lockgate_str arguments);
    /* The host will not use the tool again. Called once. [any thread] */
    void (*release)(const void *state);
} lockgate_tool_entry;
/* The tool's `finalize` is to be asked. */
#define LOCKGATE_HAS_LAST_WORD 1

/* Where a plugin puts its tools. Lent for the call that lists them. */
typedef struct lockgate_tool_sink {
    lockgate_header header;
    /* The host's. */
    const void *state;
    /* Takes a tool over. [during the call that lists tools] */
    void (*add)(const void *state, const lockgate_tool_entry *tool);
} lockgate_tool_sink;


/* ---- The root ------------------------------------------------------------------------------ */

/* What an instance is created from. Lent for the call; `host` may be kept. */
typedef struct lockgate_create_args {
    lockgate_header header;
    const lockgate_host_table *host;
    /* The number of this instance, for the host's functions; never used twice. */
    uint64_t instance;
    /* LOCKGATE_PURPOSE_..., or a number of a newer host. */
    uint32_t purpose;
    /* The version of `state`; 0 where there is none. */
    uint32_t state_version;
    /* What an earlier instance saved. */
    lockgate_bytes state;
    /* The plugin's configuration: one JSON text. */
    lockgate_str config;
} lockgate_create_args;
enum {
    LOCKGATE_PURPOSE_LIVE = 1,     /* to decide */
    LOCKGATE_PURPOSE_PROBE = 2,    /* to see whether it can be made: never started */
    LOCKGATE_PURPOSE_VALIDATE = 3, /* to be put through its vendor's tests */
    LOCKGATE_PURPOSE_SHADOW = 4,   /* to be asked without being heard */
    LOCKGATE_PURPOSE_WORKER = 5    /* to decide, in a process of its own */
};

/* What an instance saved, at most 16 MiB. */
typedef struct lockgate_saved_state {
    uint32_t version; /* of the bytes, from 1 */
    uint32_t flags;   /* none yet */
    lockgate_buf bytes;
} lockgate_saved_state;

/*
 * The root of a plugin's library, valid as long as the library is loaded, which is for ever.
 *
 * The life of an instance: create, start, tools, the listeners, quiesce, destroy. There may be
 * several instances at a time.
 */
typedef struct lockgate_plugin_root {
    lockgate_header header;
    /* As in the manifest. */
    lockgate_str name;
    /* As in the manifest. */
    lockgate_str version;
    /* Makes an instance without touching anything outside. [any thread] */
    lockgate_status (*create)(const lockgate_create_args *args,
                              const lockgate_instance **instance, lockgate_buf *fault);
    /* Acquires what the instance needs. [any thread, once] */
    lockgate_status (*start)(const lockgate_instance *instance, lockgate_buf *fault);
    /* Lists the instance's tools. [any thread] */
    lockgate_status (*tools)(const lockgate_instance *instance, const lockgate_tool_sink *sink,
                             lockgate_buf *fault);
    /* Gives back what `start` acquired; no listener is inside, and none will be asked.
     * [any thread, once] */
    lockgate_status (*quiesce)(const lockgate_instance *instance, lockgate_buf *fault);
    /* Frees the instance. [any thread, once] */
    void (*destroy)(const lockgate_instance *instance);
    /* What another instance may go on from, or LOCKGATE_NEXT where there is nothing. No listener
     * is inside. [any thread] */
    lockgate_status (*save_state)(const lockgate_instance *instance, lockgate_saved_state *out,
                                  lockgate_buf *fault);
    /* A table of the plugin's that is not in this one, by its id; null where it has none.
     * [any thread, concurrent, must not block] */
    const void *(*extension)(lockgate_str id);
    /* The listeners of each seam. */
    lockgate_session_start_listeners session_start;
    lockgate_prompt_submit_listeners prompt_submit;
    lockgate_pre_step_listeners pre_step;
    lockgate_turn_stopping_listeners turn_stopping;
    lockgate_pre_execute_listeners pre_execute;
    lockgate_guard_listeners guard;
    lockgate_execute_listeners execute;
    lockgate_post_execute_listeners post_execute;
    lockgate_tool_result_listeners tool_result;
} lockgate_plugin_root;


/* ---- The entry ----------------------------------------------------------------------------- */

#define LOCKGATE_MAGIC "LOCKGATE"
#define LOCKGATE_EPOCH 1
#define LOCKGATE_SYMBOL_PREFIX "LOCKGATE_PLUGIN_V1__"
#define LOCKGATE_NOTE_NAME "LOCKGATE"
#define LOCKGATE_NOTE_SECTION ".note.lockgate"
#define LOCKGATE_NOTE_TYPE 1

/* What the exported symbol is. Read before anything else, so it never changes. */
typedef struct lockgate_entry {
    char magic[8];     /* LOCKGATE_MAGIC, without a zero behind it */
    uint32_t size;     /* of this struct */
    uint32_t epoch;    /* LOCKGATE_EPOCH */
    const void *root;  /* the lockgate_plugin_root */
    const void *layout; /* null in C */
    const void *note;  /* the note, so that the linker keeps it */
} lockgate_entry;

/* The target, as manifests name it; to be defined by whoever builds for another. */
#if !defined(LOCKGATE_TARGET) && defined(__linux__) && defined(__GLIBC__)
#if defined(__x86_64__)
#define LOCKGATE_TARGET "x86_64-unknown-linux-gnu"
#elif defined(__aarch64__)
#define LOCKGATE_TARGET "aarch64-unknown-linux-gnu"
#endif
#endif

/* The keys of a manifest that are the same in every plugin built against this file. */
#define LOCKGATE_MANIFEST_KEYS                                                                 \
    "\"api\":\"" LOCKGATE_API_VERSION "\",\"min_host\":\"" LOCKGATE_MIN_HOST                   \
    "\",\"target\":\"" LOCKGATE_TARGET "\",\"panic\":\"none\""

/* Compilers from GCC 15 on want to know of an array of characters that is not ended by a zero. */
#if defined(__GNUC__) && !defined(__clang__)
#define LOCKGATE_NOT_ENDED __attribute__((nonstring))
#else
#define LOCKGATE_NOT_ENDED
#endif

/*
 * Exports the plugin, at the top level of one source file:
 *
 *     LOCKGATE_PLUGIN(my_guard, "{...}", &root);
 *
 * `symbol_name` is a C name, unique to the plugin; `manifest` a string literal, JSON in UTF-8:
 *     "name", "version"    as in the root table, the version by semver
 *     "symbol"             LOCKGATE_SYMBOL_PREFIX and `symbol_name`
 *     LOCKGATE_MANIFEST_KEYS
 *     "listeners"          [{"seam", "name", "priority", "required"}, ...], by seam in the order of
 *                          the root table
 *     "tools"              true where it lists some
 *     "state"              true where what `save_state` leaves matters: the next build takes over
 *                          with that, or not at all
 *     "exclusive"          true where an instance must be quiesced before the next one starts
 *     "description", "vendor", "license", "config_schema", "needs"    where it likes
 * `root_table` points to the lockgate_plugin_root.
 */
#define LOCKGATE_PLUGIN(symbol_name, manifest_json, root_table)                                \
    __attribute__((used, section(LOCKGATE_NOTE_SECTION), aligned(4))) static const struct {    \
        uint32_t name_len, manifest_len, kind;                                                 \
        char name[12];                                                                         \
        char manifest[sizeof(manifest_json) - 1] LOCKGATE_NOT_ENDED;                           \
    } lockgate_note_of_##symbol_name = {sizeof(LOCKGATE_NOTE_NAME), sizeof(manifest_json) - 1, \
                                        LOCKGATE_NOTE_TYPE, LOCKGATE_NOTE_NAME,                \
                                        manifest_json};                                        \
    __attribute__((visibility("default")))                                                     \
    const lockgate_entry LOCKGATE_PLUGIN_V1__##symbol_name = {                                 \
        {'L', 'O', 'C', 'K', 'G', 'A', 'T', 'E'}, sizeof(lockgate_entry), LOCKGATE_EPOCH,      \
        (root_table), NULL, &lockgate_note_of_##symbol_name}

#endif
