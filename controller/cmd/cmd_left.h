/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_left.h: Services that went, or lost their type, while no controller ran, and that no
 * finalizer held back: the next controller takes their load balancers away, so a plan has them,
 * too. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_LEFT_H
#define TRIMTAB_CONTROLLER_CMD_CMD_LEFT_H

#include "controller/cmd/cmd_session.h"

/* For a command that is about all Services (no names, no manifests), with the provider open: asks
 * it for them (list_left) and adds their keys to s->wanted, and those that are gone to s->gone.
 * Blocks as long as the provider.  Not ERR_OK: they are not known, *err says why. */
int cmd_left_add(struct cmd_session *s, struct err *err) _warn_unused_;

/* host_hooks.on_left; `call_arg` is the session, or NULL: not of cmd_left_add(). */
void cmd_left_note(void *call_arg, const struct tt_service *service);

#endif
