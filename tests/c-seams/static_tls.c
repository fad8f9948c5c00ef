/* A plugin in C with static thread-local storage, of which a process has a fixed amount. */
#include "lockgate.h"

#include <string.h>

#if !defined(REASON)
#define REASON "not here"
#endif

static __thread int calls __attribute__((tls_model("initial-exec")));

static lockgate_status gate(const lockgate_instance *instance,
                            const lockgate_pre_execute_args *args,
                            lockgate_pre_tool_decision *out,
                            lockgate_pre_tool_decision_future *future, lockgate_buf *fault) {
    (void)instance, (void)args, (void)future, (void)fault;
    calls += 1;
    out->verdict = LOCKGATE_PRE_TOOL_DENY;
    out->text = (lockgate_buf){REASON, strlen(REASON), NULL, NULL};
    return LOCKGATE_READY;
}

static const lockgate_pre_execute_listener GATE = {
    LOCKGATE_HEADER(LOCKGATE_LISTENER_FIELDS), LOCKGATE_STR("gate"), 0, LOCKGATE_REQUIRED, gate};
static const lockgate_pre_execute_listener *const GATES[] = {&GATE};

static lockgate_status create(const lockgate_create_args *args, const lockgate_instance **instance,
                              lockgate_buf *fault) {
    (void)args, (void)fault;
    static const char one = 0;
    *instance = (const lockgate_instance *)(const void *)&one;
    return LOCKGATE_READY;
}

static lockgate_status nothing(const lockgate_instance *instance, lockgate_buf *fault) {
    (void)instance, (void)fault;
    return LOCKGATE_READY;
}

static lockgate_status tools(const lockgate_instance *instance, const lockgate_tool_sink *sink,
                             lockgate_buf *fault) {
    (void)instance, (void)sink, (void)fault;
    return LOCKGATE_READY;
}

static void destroy(const lockgate_instance *instance) { (void)instance; }

static lockgate_status save_state(const lockgate_instance *instance, lockgate_saved_state *out,
                                  lockgate_buf *fault) {
    (void)instance, (void)out, (void)fault;
    return LOCKGATE_NEXT;
}

static const void *extension(lockgate_str id) {
    (void)id;
    return NULL;
}

static const lockgate_plugin_root ROOT = {
    .header = LOCKGATE_HEADER(LOCKGATE_PLUGIN_ROOT_FIELDS),
    .name = LOCKGATE_STR("static-tls"),
    .version = LOCKGATE_STR("0.1.0"),
    .create = create,
    .start = nothing,
    .tools = tools,
    .quiesce = nothing,
    .destroy = destroy,
    .save_state = save_state,
    .extension = extension,
    .pre_execute = {GATES, 1},
};

LOCKGATE_PLUGIN(
    static_tls,
    "{\"name\":\"static-tls\",\"version\":\"0.1.0\"," LOCKGATE_MANIFEST_KEYS
    ",\"symbol\":\"LOCKGATE_PLUGIN_V1__static_tls\",\"listeners\":["
    "{\"seam\":\"pre-execute\",\"name\":\"gate\",\"priority\":0,\"required\":true}]}",
    &ROOT);
