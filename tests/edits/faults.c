/* SPDX-License-Identifier: Apache-2.0 */
/* faults.c: the faults of an edit's writes (trial.h): refused once, for good, lost, or the
 * controller dies.
 *
 * Once refused for a missing right, an edit is carried out within minutes.  "For good" holds for
 * the body of the call: the cloud refuses the same body again until the fault is healed, and takes
 * others, above all the one that puts the former state back.  A missing permission refuses every
 * call of the kind, from the edit on; one that is withdrawn, from that call on.
 *
 * Two faults at once, of which a restart is one: the controller dies before the call, and the next
 * process is refused; or it is refused, nothing of the kind is taken, so that nothing can be put
 * back, and the next process finds that only the new is refused. */
#include "tests/edits/trial.h"

#define AWS_CODE(code)                                                                             \
    "{\"do\":\"refuse\",\"status\":400,\"body\":{\"Code\":\"" code "\",\"Message\":\"No.\"}}"
#define GCE_REASON(status, reason)                                                                 \
    "{\"do\":\"refuse\",\"status\":" status ",\"body\":{\"error\":{\"code\":" status               \
    ",\"message\":\"No.\",\"errors\":[{\"reason\":\"" reason "\",\"message\":\"No.\"}]}}}"
#define ARM_CODE(status, code)                                                                     \
    "{\"do\":\"refuse\",\"status\":" status ",\"body\":{\"error\":{\"code\":\"" code               \
    "\",\"message\":\"No.\"}}}"

const struct fault_kind edit_faults[] = {
    {"once-503", EFFECT_REFUSED, 503, SCOPE_CLOUD},
    {"once-400", EFFECT_REFUSED, 400, SCOPE_WRITES_BUT_AWS},
    {"once-403", EFFECT_REFUSED, 403, SCOPE_WRITES_OF_ANY},
    {"lost", EFFECT_LOST, 0, SCOPE_CLOUD},
    {"killed-before", EFFECT_KILLED_BEFORE, 0, SCOPE_CLOUD},
    {"killed-after", EFFECT_KILLED_AFTER, 0, SCOPE_CLOUD},
    {"for-good-400", EFFECT_NEVER, 400, SCOPE_WRITES_BUT_AWS},
    {"for-good-403", EFFECT_NEVER, 403, SCOPE_CLOUD},
    {"no-permission", EFFECT_WITHOUT, 403, SCOPE_CLOUD},
    {"withdrawn-permission", EFFECT_DOWN, 403, SCOPE_CLOUD},
    {"for-good-404", EFFECT_NEVER, 404, SCOPE_MAKES_BUT_AWS},
    {"for-good-409", EFFECT_NEVER, 409, SCOPE_WRITES_BUT_AWS},
    {"for-good-412", EFFECT_NEVER, 412, SCOPE_CLOUD_WRITES},
    {"for-good-429", EFFECT_NEVER, 429, SCOPE_WRITES_BUT_AWS},
    {"for-good-quota-gce", EFFECT_NEVER, 0, SCOPE_CLOUD_WRITES, GCE_REASON("403", "quotaExceeded")},
    {"for-good-quota-azure", EFFECT_NEVER, 0, SCOPE_AZURE_WRITES,
     ARM_CODE("400", "PublicIPCountLimitReached")},
    {"for-good-quota-aws", EFFECT_NEVER, 0, SCOPE_AWS_ADDS, AWS_CODE("LimitExceeded")},
    {"for-good-invalid-aws", EFFECT_NEVER, 0, SCOPE_AWS, AWS_CODE("ValidationError")},
    {"for-good-throttled-aws", EFFECT_NEVER, 0, SCOPE_AWS, AWS_CODE("Throttling")},
    {"killed-for-good-400", EFFECT_KILLED_NEVER, 400, SCOPE_MAKES_BUT_AWS},
    {"killed-for-good-aws", EFFECT_KILLED_NEVER, 0, SCOPE_AWS_ADDS, AWS_CODE("ValidationError")},
    {"stuck-400", EFFECT_STUCK, 400, SCOPE_MAKES_BUT_AWS},
    {"stuck-aws", EFFECT_STUCK, 0, SCOPE_AWS_ADDS, AWS_CODE("ValidationError")},
    {0},
};
