/*
 * A plugin in C that stands at every seam and offers two tools.
 *
 * Its configuration says `{"at": PLACE, "breach": RULE}`: there it breaks that rule of the
 * boundary, and everywhere else it answers as it should. A rule that begins with `late-` is broken
 * by a future. At `retired` the rule is the path of a file: see `linger`.
 */
#define _POSIX_C_SOURCE 200809L
#include "lockgate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What one instance knows. */
typedef struct seams {
    const lockgate_host_table *host;
    uint64_t number;
    char at[32];
    char breach[256];
    int is_late;
    _Atomic uint32_t inside; /* of `meet` */
    lockgate_tool_entry tools[2]; /* their state is the instance */
} seams;

static const seams *own(const lockgate_instance *instance) { return (const seams *)instance; }

static lockgate_str text_of(const char *text) { return (lockgate_str){text, strlen(text)}; }

static int is(lockgate_str text, const char *other) {
    return text.len == strlen(other) && memcmp(text.ptr, other, text.len) == 0;
}

static lockgate_status fault_of(lockgate_buf *fault, const char *message) {
    *fault = (lockgate_buf){message, strlen(message), NULL, NULL};
    return LOCKGATE_FAULT;
}

static void give_back(const char *ptr, size_t len, void *owner) {
    (void)ptr, (void)len;
    free(owner);
}

/* Puts these texts, one behind the other, where there may be others. */
static void put(lockgate_buf *place, lockgate_str a, lockgate_str b, lockgate_str c) {
    size_t len = a.len + b.len + c.len;
    char *copy = malloc(len + 1);
    if (copy == NULL) abort();
    if (a.len > 0) memcpy(copy, a.ptr, a.len);
    if (b.len > 0) memcpy(copy + a.len, b.ptr, b.len);
    if (c.len > 0) memcpy(copy + a.len + b.len, c.ptr, c.len);
    if (place->free != NULL) place->free(place->ptr, place->len, place->owner);
    *place = (lockgate_buf){copy, len, copy, give_back};
}

static void put_text(lockgate_buf *place, const char *text) {
    put(place, text_of(text), (lockgate_str){0}, (lockgate_str){0});
}

/* ---- Rules, broken ---- */

/* The parts of an answer; null where it has no such part. */
typedef struct parts {
    uint32_t *number, *flags;
    lockgate_buf *text, *data;
} parts;

static parts of_answer(lockgate_answer *it) {
    return (parts){&it->verdict, &it->flags, &it->text, &it->data};
}
static parts of_outcome(lockgate_tool_outcome *it) {
    return (parts){&it->verdict, &it->flags, &it->text, &it->data};
}
static parts of_noted(lockgate_noted *it) { return (parts){&it->noted, NULL, NULL, NULL}; }
static parts of_json(lockgate_json *it) { return (parts){&it->given, &it->flags, &it->text, NULL}; }

static int is_told(const seams *it, const char *breach) { return strcmp(it->breach, breach) == 0; }

static int breaks_at(const seams *it, const char *at) { return strcmp(it->at, at) == 0; }

/* Breaks the rule in an answer that keeps all of them. */
static lockgate_status broken(const seams *it, parts out) {
    if (is_told(it, "number-unknown")) *out.number = 77;
    if (is_told(it, "number-zero")) *out.number = 0;
    if (is_told(it, "flag-critical")) *out.flags |= UINT32_C(1) << 31;
    if (is_told(it, "flag-harmless")) *out.flags |= UINT32_C(1) << 15;
    if (is_told(it, "text-not-utf8")) put_text(out.text, "\xff\xfe");
    if (is_told(it, "text-not-json")) put_text(out.text, "[{");
    if (is_told(it, "data-not-utf8")) put_text(out.data, "{\"\xff\":1}");
    if (is_told(it, "data-not-json")) put_text(out.data, "{\"contexts\":");
    if (is_told(it, "data-a-list")) put_text(out.data, "[]");
    if (is_told(it, "data-not-messages")) put_text(out.data, "{\"contexts\":[1]}");
    if (is_told(it, "status-unknown")) return 9;
    if (is_told(it, "status-zero")) return 0;
    if (is_told(it, "status-next")) return LOCKGATE_NEXT;
    if (is_told(it, "pending-nothing")) return LOCKGATE_PENDING;
    return LOCKGATE_READY;
}

/* How an entry at the place `at` answers with what it has put into `out`. */
#define ANSWERS_WITH(answer, parts_of)                                                             \
    typedef struct answer##_later {                                                                \
        answer out;                                                                                \
        lockgate_status status;                                                                    \
    } answer##_later;                                                                              \
    static lockgate_status answer##_poll(void *state, const lockgate_task_waker *waker,            \
                                         answer *out, lockgate_buf *fault) {                       \
        (void)waker, (void)fault;                                                                  \
        answer##_later *it = state;                                                                \
        *out = it->out;                                                                            \
        it->out = (answer){0};                                                                     \
        return it->status;                                                                         \
    }                                                                                              \
    static lockgate_status answer##_at(const seams *it, const char *at, answer *out,               \
                                       answer##_future *future) {                                  \
        if (!breaks_at(it, at)) return LOCKGATE_READY;                                             \
        lockgate_status status = broken(it, parts_of(out));                                        \
        if (!it->is_late) return status;                                                           \
        answer##_later *later = malloc(sizeof *later);                                             \
        if (later == NULL) abort();                                                                \
        *later = (answer##_later){*out, status};                                                   \
        *out = (answer){0};                                                                        \
        *future = (answer##_future){later, answer##_poll, free};                                   \
        return LOCKGATE_PENDING;                                                                   \
    }

ANSWERS_WITH(lockgate_noted, of_noted)
ANSWERS_WITH(lockgate_prompt_decision, of_answer)
ANSWERS_WITH(lockgate_pre_step_decision, of_answer)
ANSWERS_WITH(lockgate_pre_tool_decision, of_answer)
ANSWERS_WITH(lockgate_guard_decision, of_answer)
ANSWERS_WITH(lockgate_post_tool_decision, of_answer)
ANSWERS_WITH(lockgate_tool_outcome, of_outcome)

/* Asks for the rest of the chain while it has asked for it already. */
#define ASKS_TWICE(answer)                                                                         \
    static lockgate_status answer##_twice(const answer##_next *next, lockgate_buf *fault) {        \
        answer##_future first = {0}, second = {0};                                                 \
        if (next->run(next->state, &first, fault) != LOCKGATE_PENDING) return LOCKGATE_FAULT;      \
        lockgate_status status = next->run(next->state, &second, fault);                           \
        first.drop(first.state);                                                                   \
        if (status == LOCKGATE_FAULT) return LOCKGATE_FAULT;                                       \
        second.drop(second.state);                                                                 \
        return LOCKGATE_NEXT;                                                                      \
    }

ASKS_TWICE(lockgate_prompt_decision)
ASKS_TWICE(lockgate_pre_step_decision)
ASKS_TWICE(lockgate_pre_tool_decision)
ASKS_TWICE(lockgate_tool_outcome)
ASKS_TWICE(lockgate_post_tool_decision)

static int asks_twice(const seams *it, const char *at) {
    return breaks_at(it, at) && is_told(it, "next-twice");
}

/* ---- Listeners ---- */

#define SAYS(text)                                                                                 \
    "{\"id\":\"\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"" text              \
    "\"}],\"source\":{\"kind\":\"plugin\",\"plugin\":\"c-seams\"}}"

/* Has the host tell the agent, and waits for that. */
static lockgate_status greet(const lockgate_instance *instance,
                             const lockgate_session_start_args *args, lockgate_noted *out,
                             lockgate_noted_future *future, lockgate_buf *fault) {
    const seams *it = own(instance);
    out->noted = 1;
    if (breaks_at(it, "session-start")) return lockgate_noted_at(it, "session-start", out, future);
    *out = (lockgate_noted){0};
    return it->host->send(it->number, args->agent, LOCKGATE_NEXT_STEP, 0,
                          (lockgate_str)LOCKGATE_STR(SAYS("session-start")), future, fault);
}

static lockgate_status admit(const lockgate_instance *instance,
                             const lockgate_prompt_submit_args *args,
                             lockgate_prompt_decision *out,
                             lockgate_prompt_decision_future *future, lockgate_buf *fault) {
    const seams *it = own(instance);
    if (asks_twice(it, "prompt-submit")) return lockgate_prompt_decision_twice(args->next, fault);
    out->verdict = LOCKGATE_PROMPT_ALLOW;
    put_text(&out->data, "{\"contexts\":[" SAYS("prompt-submit") "]}");
    return lockgate_prompt_decision_at(it, "prompt-submit", out, future);
}

static lockgate_status propose(const lockgate_instance *instance,
                               const lockgate_pre_step_args *args, lockgate_pre_step_decision *out,
                               lockgate_pre_step_decision_future *future, lockgate_buf *fault) {
    const seams *it = own(instance);
    if (asks_twice(it, "pre-step")) return lockgate_pre_step_decision_twice(args->next, fault);
    /* A later step has nothing to add to. */
    if (args->step > 1) return args->next->run(args->next->state, future, fault);
    out->verdict = LOCKGATE_PRE_STEP_ENTER;
    /* All that would enter, and one more. */
    lockgate_str most = {args->messages.ptr, args->messages.len - 1};
    put(&out->data, text_of("{\"messages\":"), most, text_of("," SAYS("pre-step") "]}"));
    return lockgate_pre_step_decision_at(it, "pre-step", out, future);
}

static lockgate_status stop(const lockgate_instance *instance,
                            const lockgate_turn_stopping_args *args, lockgate_noted *out,
                            lockgate_noted_future *future, lockgate_buf *fault) {
    (void)args, (void)fault;
    out->noted = 1;
    return lockgate_noted_at(own(instance), "turn-stopping", out, future);
}

static lockgate_status gate(const lockgate_instance *instance,
                            const lockgate_pre_execute_args *args, lockgate_pre_tool_decision *out,
                            lockgate_pre_tool_decision_future *future, lockgate_buf *fault) {
    const seams *it = own(instance);
    if (asks_twice(it, "pre-execute")) return lockgate_pre_tool_decision_twice(args->next, fault);
    out->verdict = LOCKGATE_PRE_TOOL_ALLOW;
    return lockgate_pre_tool_decision_at(it, "pre-execute", out, future);
}

static lockgate_status guard(const lockgate_instance *instance, const lockgate_guard_args *args,
                             lockgate_guard_decision *out, lockgate_guard_decision_future *future,
                             lockgate_buf *fault) {
    (void)fault;
    const seams *it = own(instance);
    if (!is(args->call->name, "rm") && !breaks_at(it, "guard")) return LOCKGATE_NEXT;
    out->verdict = LOCKGATE_GUARD_DENY;
    put_text(&out->text, "nothing is removed from C");
    return lockgate_guard_decision_at(it, "guard", out, future);
}

static lockgate_status around(const lockgate_instance *instance, const lockgate_execute_args *args,
                              lockgate_tool_outcome *out, lockgate_tool_outcome_future *future,
                              lockgate_buf *fault) {
    const seams *it = own(instance);
    if (asks_twice(it, "execute")) return lockgate_tool_outcome_twice(args->next, fault);
    if (!breaks_at(it, "execute")) return args->next->run(args->next->state, future, fault);
    out->verdict = LOCKGATE_TOOL_OUTCOME_SUCCESS;
    put_text(&out->value, "1");
    return lockgate_tool_outcome_at(it, "execute", out, future);
}

static lockgate_status review(const lockgate_instance *instance,
                              const lockgate_post_execute_args *args,
                              lockgate_post_tool_decision *out,
                              lockgate_post_tool_decision_future *future, lockgate_buf *fault) {
    const seams *it = own(instance);
    if (asks_twice(it, "post-execute")) return lockgate_post_tool_decision_twice(args->next, fault);
    out->verdict = LOCKGATE_POST_TOOL_ACCEPT;
    put_text(&out->data, "{\"contexts\":[" SAYS("post-execute") "]}");
    return lockgate_post_tool_decision_at(it, "post-execute", out, future);
}

static lockgate_status observe(const lockgate_instance *instance,
                               const lockgate_tool_result_args *args, lockgate_noted *out,
                               lockgate_noted_future *future, lockgate_buf *fault) {
    (void)args, (void)fault;
    out->noted = 1;
    return lockgate_noted_at(own(instance), "tool-result", out, future);
}

#define LISTENER(seam, name, flags, call)                                                          \
    static const lockgate_##seam##_listener seam##_listener = {                                    \
        LOCKGATE_HEADER(LOCKGATE_LISTENER_FIELDS), LOCKGATE_STR(name), 0, flags, call};            \
    static const lockgate_##seam##_listener *const seam##_list[] = {&seam##_listener}

LISTENER(session_start, "greet", 0, greet);
LISTENER(prompt_submit, "admit", LOCKGATE_REQUIRED, admit);
LISTENER(pre_step, "propose", LOCKGATE_REQUIRED, propose);
LISTENER(turn_stopping, "stop", 0, stop);
LISTENER(pre_execute, "gate", LOCKGATE_REQUIRED, gate);
LISTENER(guard, "guard", LOCKGATE_REQUIRED, guard);
LISTENER(execute, "around", 0, around);
LISTENER(post_execute, "review", LOCKGATE_REQUIRED, review);
LISTENER(tool_result, "observe", 0, observe);

/* ---- Tools ---- */

/* Answers with its arguments, and says something on the way. */
static lockgate_status echo(const void *state, const lockgate_run_table *run,
                            lockgate_tool_outcome *out, lockgate_tool_outcome_future *future,
                            lockgate_buf *fault) {
    lockgate_str said = LOCKGATE_STR(SAYS("body"));
    if (run->defer_context(run->state, said, fault) != LOCKGATE_READY) return LOCKGATE_FAULT;
    out->verdict = LOCKGATE_TOOL_OUTCOME_SUCCESS;
    put(&out->value, run->call->arguments, (lockgate_str){0}, (lockgate_str){0});
    return lockgate_tool_outcome_at(state, "body", out, future);
}

/* Waits until as many are inside as the arguments say: `{"most": ...}`, a digit. */
typedef struct meeting {
    seams *it;
    uint32_t most;
} meeting;

static lockgate_status meeting_poll(void *state, const lockgate_task_waker *waker,
                                    lockgate_tool_outcome *out, lockgate_buf *fault) {
    (void)fault;
    const meeting *met = state;
    if (atomic_load(&met->it->inside) < met->most) {
        waker->table->wake_by_ref(waker->data);
        return LOCKGATE_PENDING;
    }
    out->verdict = LOCKGATE_TOOL_OUTCOME_SUCCESS;
    put_text(&out->value, "\"met\"");
    return LOCKGATE_READY;
}

static lockgate_status meet(const void *state, const lockgate_run_table *run,
                            lockgate_tool_outcome *out, lockgate_tool_outcome_future *future,
                            lockgate_buf *fault) {
    (void)out;
    meeting *met = malloc(sizeof *met);
    if (met == NULL) return fault_of(fault, "out of memory");
    /* The last byte but one. */
    lockgate_str arguments = run->call->arguments;
    *met = (meeting){(seams *)state, (uint32_t)(arguments.ptr[arguments.len - 2] - '0')};
    atomic_fetch_add(&met->it->inside, 1);
    *future = (lockgate_tool_outcome_future){met, meeting_poll, free};
    return LOCKGATE_PENDING;
}

/* Answers with `text`, unless the rule is to be broken at the place `at`. */
static lockgate_status shown(const seams *it, const char *at, const char *text,
                             lockgate_json *out) {
    out->given = 1;
    put_text(&out->text, text);
    return breaks_at(it, at) ? broken(it, of_json(out)) : LOCKGATE_READY;
}

static lockgate_status render(const void *state, const lockgate_call_table *call,
                              lockgate_str value, lockgate_json *out, lockgate_buf *fault) {
    (void)call, (void)value, (void)fault;
    return shown(state, "render", "[{\"type\":\"text\",\"text\":\"rendered\"}]", out);
}

static lockgate_status present(const void *state, const lockgate_call_table *call,
                               lockgate_str value, lockgate_json *out, lockgate_buf *fault) {
    (void)call, (void)value, (void)fault;
    return shown(state, "present", "{\"by\":\"C\"}", out);
}

/* What is shown already, and one block more. */
static lockgate_status finalize(const void *state, const lockgate_call_table *call,
                                const lockgate_tool_outcome *outcome, lockgate_json *out,
                                lockgate_buf *fault) {
    (void)call, (void)fault;
    const seams *it = state;
    out->given = 1;
    lockgate_str most = {outcome->content.ptr, outcome->content.len - 1};
    put(&out->text, most, text_of(",{\"type\":\"text\",\"text\":\"finalized\"}]"),
        (lockgate_str){0});
    return breaks_at(it, "finalize") ? broken(it, of_json(out)) : LOCKGATE_READY;
}

static uint32_t is_parallel_safe(const void *state, lockgate_str arguments) {
    (void)arguments;
    uint32_t answer = 1;
    if (breaks_at(state, "parallel")) broken(state, (parts){&answer, NULL, NULL, NULL});
    return answer;
}

static void release(const void *tool) { (void)tool; }

static const lockgate_tool_entry ECHO = {
    .header = LOCKGATE_HEADER(LOCKGATE_TOOL_ENTRY_FIELDS),
    .name = LOCKGATE_STR("echo"),
    .description = LOCKGATE_STR("Answers with its arguments"),
    .parameters = LOCKGATE_STR("{}"),
    .output = LOCKGATE_STR("{}"),
    .flags = LOCKGATE_HAS_LAST_WORD,
    .execute = echo,
    .render = render,
    .present = present,
    .finalize = finalize,
    .is_parallel_safe = is_parallel_safe,
    .release = release,
};

/* ---- After the end ---- */

static void note(FILE *told, const char *what, lockgate_status status, const lockgate_buf *fault) {
    fprintf(told, "%s %u %.*s\n", what, status, (int)fault->len, fault->ptr);
    if (fault->free != NULL) fault->free(fault->ptr, fault->len, fault->owner);
}

static lockgate_status never(void *state, const lockgate_task_waker *waker, lockgate_noted *out,
                             lockgate_buf *fault) {
    (void)state, (void)waker, (void)out, (void)fault;
    return LOCKGATE_PENDING;
}

static void count(void *state) { ++*(int *)state; }

/* Calls every function of the host's that asks who is calling. */
static void call_all(const lockgate_host_table *host, uint64_t me, FILE *told) {
    lockgate_str text = LOCKGATE_STR("{}");
    int dropped = 0, called = 0;
    lockgate_noted_future own_future = {&dropped, never, count};
    lockgate_process_spec spec = {.header = LOCKGATE_HEADER(LOCKGATE_PROCESS_SPEC_FIELDS),
                                  .program = LOCKGATE_STR("true")};
#define NOTE(what, answer, arguments)                                                              \
    do {                                                                                           \
        answer future = {0};                                                                       \
        lockgate_buf fault = {0};                                                                  \
        lockgate_status status = host->what arguments;                                             \
        note(told, #what, status, &fault);                                                         \
        (void)future;                                                                              \
    } while (0)
    host->log(me, 1, text, text);
    NOTE(fired, lockgate_noted_future, (me, 1, &future, &fault));
    NOTE(sleep, lockgate_noted_future, (me, 1, &future, &fault));
    NOTE(send, lockgate_noted_future, (me, 1, LOCKGATE_NEXT_STEP, 1, text, &future, &fault));
    NOTE(spawn, lockgate_noted_future, (me, &own_future, &fault));
    NOTE(spawn_blocking, lockgate_noted_future, (me, (lockgate_closure){count, &called}, &fault));
    NOTE(process, lockgate_process_exit_future, (me, &spec, &future, &fault));
    NOTE(cancel, lockgate_noted_future, (me, 1, 0, text, &future, &fault));
    NOTE(inbox, lockgate_json_future, (me, 1, &future, &fault));
    NOTE(events, lockgate_json_future, (me, 1, 0, 1, &future, &fault));
    NOTE(append, lockgate_noted_future, (me, 1, text, text, &future, &fault));
    NOTE(tools_changed, lockgate_noted_future, (me, &fault));
    fprintf(told, "%d dropped, %d called\n", dropped, called);
}

/* What a thread needs that outlives its instance. */
typedef struct lingering {
    const lockgate_host_table *host;
    uint64_t number;
    char path[256];
} lingering;

/* Waits for the file `<path>.gone`, calls the host, and writes what it is told to `path`. */
static void *linger(void *state) {
    lingering *it = state;
    char other[sizeof it->path + 8];
    snprintf(other, sizeof other, "%s.gone", it->path);
    while (access(other, F_OK) != 0) nanosleep(&(struct timespec){0, 1000000}, NULL);
    /* Written aside and moved, so that whoever sees it sees all of it. */
    snprintf(other, sizeof other, "%s.aside", it->path);
    FILE *told = fopen(other, "w");
    if (told != NULL) {
        call_all(it->host, it->number, told);
        fclose(told);
        rename(other, it->path);
    }
    free(it);
    return NULL;
}

/* ---- The life of an instance ---- */

static lockgate_status create(const lockgate_create_args *args, const lockgate_instance **instance,
                              lockgate_buf *fault) {
    seams *made = calloc(1, sizeof *made);
    char config[512] = {0};
    if (made == NULL || args->config.len >= sizeof config) {
        free(made);
        return fault_of(fault, "the configuration is too large");
    }
    memcpy(config, args->config.ptr, args->config.len);
    char breach[256] = {0};
    sscanf(config, "{\"at\":\"%31[^\"]\",\"breach\":\"%255[^\"]\"}", made->at, breach);
    made->is_late = strncmp(breach, "late-", 5) == 0;
    strcpy(made->breach, breach + (made->is_late ? 5 : 0));
    made->host = args->host;
    made->number = args->instance;
    *instance = (const lockgate_instance *)made;
    return LOCKGATE_READY;
}

static lockgate_status start(const lockgate_instance *instance, lockgate_buf *fault) {
    const seams *it = own(instance);
    if (!breaks_at(it, "retired")) return LOCKGATE_READY;
    lingering *state = malloc(sizeof *state);
    if (state == NULL) return fault_of(fault, "out of memory");
    *state = (lingering){it->host, it->number, {0}};
    strcpy(state->path, it->breach);
    pthread_t thread;
    if (pthread_create(&thread, NULL, linger, state) != 0) return fault_of(fault, "no thread");
    pthread_detach(thread);
    return LOCKGATE_READY;
}

static lockgate_status tools(const lockgate_instance *instance, const lockgate_tool_sink *sink,
                             lockgate_buf *fault) {
    (void)fault;
    seams *it = (seams *)instance;
    for (int at = 0; at < 2; at++) {
        it->tools[at] = ECHO;
        it->tools[at].state = it;
    }
    it->tools[1].name = (lockgate_str)LOCKGATE_STR("meet");
    it->tools[1].execute = meet;
    sink->add(sink->state, &it->tools[0]);
    sink->add(sink->state, &it->tools[1]);
    return LOCKGATE_READY;
}

static lockgate_status quiesce(const lockgate_instance *instance, lockgate_buf *fault) {
    (void)instance, (void)fault;
    return LOCKGATE_READY;
}

static void destroy(const lockgate_instance *instance) { free((seams *)instance); }

static lockgate_status no_state(const lockgate_instance *instance, lockgate_saved_state *out,
                                lockgate_buf *fault) {
    (void)instance, (void)out, (void)fault;
    return LOCKGATE_NEXT;
}

static const void *no_extension(lockgate_str id) {
    (void)id;
    return NULL;
}

static const lockgate_plugin_root ROOT = {
    .header = LOCKGATE_HEADER(LOCKGATE_PLUGIN_ROOT_FIELDS),
    .name = LOCKGATE_STR("c-seams"),
    .version = LOCKGATE_STR("0.1.0"),
    .create = create,
    .start = start,
    .tools = tools,
    .quiesce = quiesce,
    .destroy = destroy,
    .save_state = no_state,
    .extension = no_extension,
    .session_start = {session_start_list, 1},
    .prompt_submit = {prompt_submit_list, 1},
    .pre_step = {pre_step_list, 1},
    .turn_stopping = {turn_stopping_list, 1},
    .pre_execute = {pre_execute_list, 1},
    .guard = {guard_list, 1},
    .execute = {execute_list, 1},
    .post_execute = {post_execute_list, 1},
    .tool_result = {tool_result_list, 1},
};

#define IN_MANIFEST(seam, name, required)                                                          \
    "{\"seam\":\"" seam "\",\"name\":\"" name "\",\"priority\":0,\"required\":" required "}"

LOCKGATE_PLUGIN(
    c_seams,
    "{\"name\":\"c-seams\",\"version\":\"0.1.0\"," LOCKGATE_MANIFEST_KEYS
    ",\"symbol\":\"LOCKGATE_PLUGIN_V1__c_seams\",\"tools\":true,\"listeners\":["
    IN_MANIFEST("session-start", "greet", "false") ","
    IN_MANIFEST("prompt-submit", "admit", "true") ","
    IN_MANIFEST("pre-step", "propose", "true") ","
    IN_MANIFEST("turn-stopping", "stop", "false") ","
    IN_MANIFEST("pre-execute", "gate", "true") ","
    IN_MANIFEST("guard", "guard", "true") ","
    IN_MANIFEST("execute", "around", "false") ","
    IN_MANIFEST("post-execute", "review", "true") ","
    IN_MANIFEST("tool-result", "observe", "false") "]}",
    &ROOT);
