/* SPDX-License-Identifier: Apache-2.0 */
/* abi_codes.c: proof at compile time that the two spellings of a result code are one number, and
 * that the structs of the plugin ABI have the size that plugins were built with.
 *
 * Inside the tree a failure is an ERR_ code (common/base/err.h); at the plugin boundary it is a TT_
 * code (trimtab/types.h).  Neither header may include the other, so nothing but this file would
 * notice that they have drifted apart.  A size that changes here means: append a member, raise
 * TRIMTAB_ABI_MINOR, and write the new size down.  Sizes are those of the LP64 machines we ship
 * for.  No code. */
#include "common/base/err.h"

#include <assert.h>
#include <stddef.h>
#include <trimtab/provider.h>

#define SAME_CODE(name) static_assert((int)ERR_##name == TT_##name, #name " differs")

SAME_CODE(OK);
SAME_CODE(INVALID);
SAME_CODE(IMPLEMENTED_ELSEWHERE);
SAME_CODE(NOT_FOUND);
SAME_CODE(CONFLICT);
SAME_CODE(IN_USE);
SAME_CODE(FORBIDDEN);
SAME_CODE(QUOTA);
SAME_CODE(THROTTLED);
SAME_CODE(IN_PROGRESS);
SAME_CODE(AUTH);
SAME_CODE(TRANSIENT);
SAME_CODE(CANCELLED);
SAME_CODE(BUG);
SAME_CODE(EXISTS);
static_assert(ERR_MAX == TT_EXISTS + 1, "a code is missing on one side");

#if defined(__LP64__)
static_assert(sizeof(struct tt_kv) == 16, "leaf structs never change");
static_assert(sizeof(struct tt_port) == 48, "leaf structs never change");
static_assert(sizeof(struct tt_port_status) == 24, "leaf structs never change");
static_assert(sizeof(struct tt_ingress) == 40, "leaf structs never change");
static_assert(sizeof(struct tt_condition) == 48, "leaf structs never change");
static_assert(sizeof(struct tt_taint) == 24, "leaf structs never change");
static_assert(sizeof(struct tt_endpoint) == 64, "leaf structs never change");
static_assert(sizeof(struct tt_endpoint_port) == 32, "leaf structs never change");
static_assert(sizeof(struct tt_field) == 24, "leaf structs never change");
/* Where 1.1 ended; what 1.2 brought stands behind, or where 1.1 had room that was always 0. */
static_assert(offsetof(struct tt_host, result_own) == 288, "1.1 was built with this size");
static_assert(offsetof(struct tt_provider, node_digest) == 256, "1.1 was built with this size");
static_assert(offsetof(struct tt_operation, n_after) == 96, "1.2 was built with this size");
/* Where 1.2 ended. */
static_assert(offsetof(struct tt_host, report_resource) == 320, "1.2 was built with this size");
static_assert(sizeof(struct tt_owned) == 80, "1.3 was built with this size");
/* Where 1.3 ended. */
static_assert(offsetof(struct tt_host, result_row) == 328, "1.3 was built with this size");
static_assert(sizeof(struct tt_explain_row) == 80, "1.4 was built with this size");
static_assert(sizeof(struct tt_open_args) == 152, "1.1 to 1.4: 128; 1.5 to 1.7: 136");
/* Where 1.9 ended. */
static_assert(offsetof(struct tt_host, service_again) == 352, "1.9 was built with this size");
/* Where 1.11 ended. */
static_assert(offsetof(struct tt_provider, nodes_digest) == 328, "1.11 was built with this size");
/* Where 1.12 ended. */
static_assert(offsetof(struct tt_host, result_nobody) == 368, "1.12 was built with this size");
/* Where 1.13 ended. */
static_assert(offsetof(struct tt_operation, api_kind) == 112, "1.13 was built with this size");
#endif
