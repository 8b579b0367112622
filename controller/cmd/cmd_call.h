/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_call.h: calling an optional, read-only operation of a provider, for one Service or
 * for a batch. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_CALL_H
#define TRIMTAB_CONTROLLER_CMD_CMD_CALL_H

#include "controller/cmd/cmd_session.h"

typedef int32_t(cmd_call_fn)(void *provider, const struct tt_call *call,
                             const struct tt_batch *batch);

/* Services that the provider wants to see at once, and how it went with each. */
struct cmd_batch {
    const char *key;             /* batch_key's text; "": a Service by itself */
    const char *const *services; /* keys */
    size_t n;
    struct err *errs;      /* n of them; filled */
    struct cmd_said *said; /* n of them; filled */
};
/* The answer of explain() for one Service; lives in the session's arena. */
struct cmd_said {
    const char *text; /* what result_text() was given, or NULL */
    const struct tt_explain_row *rows;
    size_t n_rows;
};
/* Returns the key of the batch that the controller would put the Service into; "" alone. */
const char *cmd_batch_key(const struct cmd_session *s, const char *key);
/* Calls `fn` (plan) once for all of them.  Verbs follow from the Services. */
void cmd_call_batch(struct cmd_session *s, const struct cmd_batch *batch, cmd_call_fn *fn);
/* Calls `fn` (plan or explain) with a batch of the one Service.  *ret (may be NULL) gets what
 * it said.  IMPLEMENTED_ELSEWHERE comes back as such, with its message. */
int cmd_call(struct cmd_session *s, const char *key, cmd_call_fn *fn, struct cmd_said *ret,
             struct err *err) _warn_unused_;
/* Returns the answer of the provider's validate() to the Service; ERR_OK when it has none. */
int cmd_validate(struct cmd_session *s, const char *key, struct err *err) _warn_unused_;
/* Is validate() asked before a plan?  Not where the provider's plan makes its check. */
bool cmd_validates(const struct cmd_session *s);
/* Asks validate() about a Service that is to be planned, if the provider has it; ERR_OK for one
 * that goes away. */
int cmd_may_plan(struct cmd_session *s, const char *key, struct err *err) _warn_unused_;
/* Was its load balancer only taken over, as far as the Service says?  Values that it names
 * may be left then. */
bool cmd_is_taken_over(const struct cmd_session *s, const char *key);
/* TT_VERB_… that a sync of this Service would use. */
uint32_t cmd_verb(const struct cmd_session *s, const struct tt_service *svc);

#endif
