/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_call.h: calling an optional, read-only operation of a provider for one Service. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_CALL_H
#define TRIMTAB_CONTROLLER_CMD_CMD_CALL_H

#include "controller/cmd/cmd_session.h"

/* Calls `fn` (plan or explain) with a batch of the one Service.  The verb follows from the Service.  *ret_text gets what
 * result_text() was given, or NULL.  IMPLEMENTED_ELSEWHERE comes back as such, with its message. */
int cmd_call(struct cmd_session *s, const char *key,
             int32_t (*fn)(void *provider, const struct tt_call *call,
                           const struct tt_batch *batch),
             const char **ret_text, struct err *err) _warn_unused_;
/* What the provider's validate() says of the Service; ERR_OK when it has none. */
int cmd_validate(struct cmd_session *s, const char *key, struct err *err) _warn_unused_;
/* TT_VERB_… that a sync of this Service would use. */
uint32_t cmd_verb(const struct cmd_session *s, const struct tt_service *svc);

#endif
