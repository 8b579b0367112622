/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_word_rules.h: the shapes of names in Kubernetes objects, with the API server's words for what
 * is wrong.
 *
 * Each calls `say` once per complaint, in the server's order.  Source: apimachinery util/validation
 * of Kubernetes 1.36 (recorded answers 038, 041).  Pure. */
#ifndef TRIMTAB_CONTROLLER_CMD_CMD_WORD_RULES_H
#define TRIMTAB_CONTROLLER_CMD_CMD_WORD_RULES_H

#include "common/base/arena.h"

/* `detail` lives in the arena, or as long as the program. */
typedef void(cmd_say_fn)(void *arg, const char *detail);
struct cmd_say {
    struct arena *a;
    cmd_say_fn *say;
    void *arg;
};
void cmd_check_label(const struct cmd_say *to, const char *s);
void cmd_check_subdomain(const struct cmd_say *to, const char *s);
/* [domain/]Name */
void cmd_check_qualified(const struct cmd_say *to, const char *s);
void cmd_check_label_value(const struct cmd_say *to, const char *s);
/* The name of a pod's port. */
void cmd_check_port_name(const struct cmd_say *to, const char *s);

/* Returns the complaint about a range of addresses, in the server's words; NULL: it is a CIDR. */
const char *cmd_cidr_fault(const char *cidr);

#endif
