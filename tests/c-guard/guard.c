/*
 * A plugin in C: denies one tool, counts what came of every call, and offers a tool.
 *
 * It also leaves something out of a table, where `-D` says so at compile time: each `#if` below is
 * one such case. Rules about answers are broken by its neighbour, c-seams.
 */
#include "lockgate.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* What one instance knows. */
typedef struct guard {
    const lockgate_host_table *host;
    uint64_t number;
    _Atomic uint32_t seen;
    lockgate_tool_entry tools[2]; /* their state is the instance */
} guard;

static guard *own(const lockgate_instance *instance) { return (guard *)instance; }

static int is(lockgate_str text, const char *other) {
    return text.len == strlen(other) && memcmp(text.ptr, other, text.len) == 0;
}

static lockgate_buf literal(const char *text) {
    return (lockgate_buf){text, strlen(text), NULL, NULL};
}

static lockgate_status fault_of(lockgate_buf *fault, const char *message) {
    *fault = literal(message);
    return LOCKGATE_FAULT;
}

static void give_back(const char *ptr, size_t len, void *owner) {
    (void)ptr, (void)len;
    free(owner);
}

/* A copy that may be kept. */
static lockgate_buf copy_of(lockgate_str text) {
    char *copy = malloc(text.len + 1);
    if (copy == NULL) abort();
    if (text.len > 0) memcpy(copy, text.ptr, text.len);
    return (lockgate_buf){copy, text.len, copy, give_back};
}

/* ---- Listeners ---- */

static lockgate_status gate(const lockgate_instance *instance,
                            const lockgate_pre_execute_args *args,
                            lockgate_pre_tool_decision *out,
                            lockgate_pre_tool_decision_future *future, lockgate_buf *fault) {
    (void)instance, (void)future, (void)fault;
    if (is(args->call->name, "faulty")) return fault_of(fault, "the gate is out of order");
    if (!is(args->call->name, "rm")) return LOCKGATE_NEXT;
    out->verdict = LOCKGATE_PRE_TOOL_DENY;
    out->text = literal("C plugins delete nothing");
    return LOCKGATE_READY;
}

/* Hands the future of the rest of the chain on as its own answer. */
static lockgate_status around(const lockgate_instance *instance, const lockgate_execute_args *args,
                              lockgate_tool_outcome *out, lockgate_tool_outcome_future *future,
                              lockgate_buf *fault) {
    (void)instance, (void)out;
    return args->next->run(args->next->state, future, fault);
}

static lockgate_status review(const lockgate_instance *instance,
                              const lockgate_post_execute_args *args,
                              lockgate_post_tool_decision *out,
                              lockgate_post_tool_decision_future *future, lockgate_buf *fault) {
    (void)instance, (void)future, (void)fault;
    if (!is(args->call->name, "echo")) return LOCKGATE_NEXT;
    out->verdict = LOCKGATE_POST_TOOL_ACCEPT;
    return LOCKGATE_READY;
}

static lockgate_status observe(const lockgate_instance *instance,
                               const lockgate_tool_result_args *args, lockgate_noted *out,
                               lockgate_noted_future *future, lockgate_buf *fault) {
    (void)future, (void)fault;
    guard *it = own(instance);
    atomic_fetch_add(&it->seen, 1);
    it->host->log(it->number, 4, (lockgate_str)LOCKGATE_STR("c_guard"), args->call->name);
    out->noted = 1;
    return LOCKGATE_READY;
}

#if defined(NULL_CALL)
#define GATE NULL
#else
#define GATE gate
#endif
#if defined(LISTENER_SHORT)
#define GATE_FIELDS (LOCKGATE_LISTENER_FIELDS - 1)
#else
#define GATE_FIELDS LOCKGATE_LISTENER_FIELDS
#endif

static const lockgate_pre_execute_listener GATE_LISTENER = {
    LOCKGATE_HEADER(GATE_FIELDS), LOCKGATE_STR("gate"), 10, LOCKGATE_REQUIRED, GATE};
static const lockgate_execute_listener AROUND_LISTENER = {
    LOCKGATE_HEADER(LOCKGATE_LISTENER_FIELDS), LOCKGATE_STR("around"), 0, 0, around};
static const lockgate_post_execute_listener REVIEW_LISTENER = {
    LOCKGATE_HEADER(LOCKGATE_LISTENER_FIELDS), LOCKGATE_STR("review"), 0, LOCKGATE_REQUIRED,
    review};
static const lockgate_tool_result_listener OBSERVE_LISTENER = {
    LOCKGATE_HEADER(LOCKGATE_LISTENER_FIELDS), LOCKGATE_STR("observe"), 0, 0, observe};

#if defined(NULL_LISTENER)
static const lockgate_pre_execute_listener *const GATES[] = {NULL};
#else
static const lockgate_pre_execute_listener *const GATES[] = {&GATE_LISTENER};
#endif
static const lockgate_execute_listener *const AROUNDS[] = {&AROUND_LISTENER};
static const lockgate_post_execute_listener *const REVIEWS[] = {&REVIEW_LISTENER};
static const lockgate_tool_result_listener *const OBSERVERS[] = {&OBSERVE_LISTENER};

/* ---- Tools ---- */

/* What comes once the host has slept: a future around another one. */
typedef struct later {
    lockgate_noted_future slept;
    lockgate_buf value;
} later;

static lockgate_status later_poll(void *state, const lockgate_task_waker *waker,
                                  lockgate_tool_outcome *out, lockgate_buf *fault) {
    later *it = state;
    lockgate_noted noted = {0};
    lockgate_status status = it->slept.poll(it->slept.state, waker, &noted, fault);
    if (status != LOCKGATE_READY) return status;
    out->verdict = LOCKGATE_TOOL_OUTCOME_SUCCESS;
    out->value = it->value;
    it->value = (lockgate_buf){0};
    return LOCKGATE_READY;
}

static void later_drop(void *state) {
    later *it = state;
    it->slept.drop(it->slept.state);
    if (it->value.free != NULL) it->value.free(it->value.ptr, it->value.len, it->value.owner);
    free(it);
}

static lockgate_status echo(const void *state, const lockgate_run_table *run,
                            lockgate_tool_outcome *out, lockgate_tool_outcome_future *future,
                            lockgate_buf *fault) {
    if (is(run->call->arguments, "\"fault\"")) return fault_of(fault, "the echo is out of order");
    if (is(run->call->arguments, "\"later\"")) {
        const guard *it = state;
        later *made = calloc(1, sizeof *made);
        if (made == NULL) return fault_of(fault, "out of memory");
        lockgate_status status = it->host->sleep(it->number, 1, &made->slept, fault);
        if (status != LOCKGATE_PENDING) {
            free(made);
            return status;
        }
        made->value = copy_of(run->call->arguments);
        *future = (lockgate_tool_outcome_future){made, later_poll, later_drop};
        return LOCKGATE_PENDING;
    }
    out->verdict = LOCKGATE_TOOL_OUTCOME_SUCCESS;
    out->value = copy_of(run->call->arguments);
    return LOCKGATE_READY;
}

/* Answers with how many outcomes the instance has seen. */
static lockgate_status count(const void *state, const lockgate_run_table *run,
                             lockgate_tool_outcome *out, lockgate_tool_outcome_future *future,
                             lockgate_buf *fault) {
    (void)run, (void)future, (void)fault;
    static const char DIGITS[] = "0123456789";
    uint32_t seen = atomic_load(&own(state)->seen);
    out->verdict = LOCKGATE_TOOL_OUTCOME_SUCCESS;
    out->value = copy_of((lockgate_str){&DIGITS[seen % 10], 1});
    return LOCKGATE_READY;
}

static lockgate_status no_text(const void *state, const lockgate_call_table *call,
                               lockgate_str value, lockgate_json *out, lockgate_buf *fault) {
    (void)state, (void)call, (void)value, (void)out, (void)fault;
    return LOCKGATE_NEXT;
}

static lockgate_status no_last_word(const void *state, const lockgate_call_table *call,
                                    const lockgate_tool_outcome *outcome, lockgate_json *out,
                                    lockgate_buf *fault) {
    (void)state, (void)call, (void)outcome, (void)out, (void)fault;
    return LOCKGATE_NEXT;
}

static uint32_t is_parallel_safe(const void *state, lockgate_str arguments) {
    (void)state, (void)arguments;
    return 1;
}

static void release(const void *tool) { (void)tool; }

#if defined(TOOL_SHORT)
#define TOOL_FIELDS (LOCKGATE_TOOL_ENTRY_FIELDS - 1)
#else
#define TOOL_FIELDS LOCKGATE_TOOL_ENTRY_FIELDS
#endif
#if defined(NULL_RENDER)
#define RENDER NULL
#else
#define RENDER no_text
#endif

static const lockgate_tool_entry ECHO = {
    .header = LOCKGATE_HEADER(TOOL_FIELDS),
    .name = LOCKGATE_STR("echo"),
    .description = LOCKGATE_STR("Answers with its arguments"),
    .parameters = LOCKGATE_STR("{}"),
    .output = LOCKGATE_STR("{}"),
    .execute = echo,
    .render = RENDER,
    .present = no_text,
    .finalize = no_last_word,
    .is_parallel_safe = is_parallel_safe,
    .release = release,
};

/* ---- The life of an instance ---- */

static lockgate_status create(const lockgate_create_args *args, const lockgate_instance **instance,
                              lockgate_buf *fault) {
    if (is(args->config, "{\"broken\":true}")) return fault_of(fault, "the guard is broken");
    guard *made = calloc(1, sizeof *made);
    if (made == NULL) return fault_of(fault, "out of memory");
    made->host = args->host;
    made->number = args->instance;
    *instance = (const lockgate_instance *)made;
    return LOCKGATE_READY;
}

static lockgate_status nothing(const lockgate_instance *instance, lockgate_buf *fault) {
    (void)instance, (void)fault;
    return LOCKGATE_READY;
}

static lockgate_status tools(const lockgate_instance *instance, const lockgate_tool_sink *sink,
                             lockgate_buf *fault) {
    (void)fault;
    guard *it = own(instance);
    for (int at = 0; at < 2; at++) {
        it->tools[at] = ECHO;
        it->tools[at].state = it;
    }
    it->tools[1].name = (lockgate_str)LOCKGATE_STR("count");
    it->tools[1].execute = count;
    sink->add(sink->state, &it->tools[0]);
    sink->add(sink->state, &it->tools[1]);
#if defined(NULL_TOOL)
    sink->add(sink->state, NULL);
#endif
    return LOCKGATE_READY;
}

static void destroy(const lockgate_instance *instance) { free(own(instance)); }

static lockgate_status no_state(const lockgate_instance *instance, lockgate_saved_state *out,
                                lockgate_buf *fault) {
    (void)instance, (void)out, (void)fault;
    return LOCKGATE_NEXT;
}

static const void *no_extension(lockgate_str id) {
    (void)id;
    return NULL;
}

/* ---- What the host finds ---- */

#if defined(ROOT_SHORT)
#define ROOT_FIELDS (LOCKGATE_PLUGIN_ROOT_FIELDS - 1)
#else
#define ROOT_FIELDS LOCKGATE_PLUGIN_ROOT_FIELDS
#endif
#if defined(NULL_CREATE)
#define CREATE NULL
#else
#define CREATE create
#endif

static const lockgate_plugin_root ROOT = {
    .header = LOCKGATE_HEADER(ROOT_FIELDS),
    .name = LOCKGATE_STR("c-guard"),
    .version = LOCKGATE_STR("0.3.0"),
    .create = CREATE,
    .start = nothing,
    .tools = tools,
    .quiesce = nothing,
    .destroy = destroy,
    .save_state = no_state,
    .extension = no_extension,
    .pre_execute = {GATES, 1},
    .execute = {AROUNDS, 1},
    .post_execute = {REVIEWS, 1},
    .tool_result = {OBSERVERS, 1},
};

#if defined(NULL_ROOT)
#define ROOT_AT NULL
#else
#define ROOT_AT &ROOT
#endif

LOCKGATE_PLUGIN(
    c_guard,
    "{\"name\":\"c-guard\",\"version\":\"0.3.0\"," LOCKGATE_MANIFEST_KEYS
    ",\"symbol\":\"LOCKGATE_PLUGIN_V1__c_guard\",\"tools\":true"
    ",\"description\":\"Denies, counts and echoes, in C\""
    ",\"listeners\":["
    "{\"seam\":\"pre-execute\",\"name\":\"gate\",\"priority\":10,\"required\":true},"
    "{\"seam\":\"execute\",\"name\":\"around\",\"priority\":0,\"required\":false},"
    "{\"seam\":\"post-execute\",\"name\":\"review\",\"priority\":0,\"required\":true},"
    "{\"seam\":\"tool-result\",\"name\":\"observe\",\"priority\":0,\"required\":false}]}",
    ROOT_AT);
