/* SPDX-License-Identifier: Apache-2.0 */
/* unreachable.h: messages for an API server that does not answer or refuses our credentials, with
 * the first place to look.
 *
 * The advice follows from the error: a certificate that does not verify is a matter of the CA, one
 * of trimtab that is refused a matter of the user, all else a matter of the address.  Pure. */
#ifndef TRIMTAB_KUBE_UNREACHABLE_H
#define TRIMTAB_KUBE_UNREACHABLE_H

#include <stdbool.h>

#include "controller/kube/client/config.h"

/* "cannot reach the API server URL: WHY TRIED; check … in kc, context "prod"".  `why` is what
 * http.h said, `tried` "" or " (tried 3 times in 4 s)".  The reason is
 * `why`'s.  Returns why->code. */
int kube_unreachable(const struct kube_config *c, const struct err *why, const char *tried,
                     struct err *ret);
/* Trouble that the same request will meet again until a person fixes something: a refused
 * connection, a name that does not resolve, certificates, credentials, rights, an object that does
 * not exist.  For commands that answer once: the controller tries again all the same. */
bool kube_trouble_is_final(const struct err *err);
/* Adds to a 401, and to credentials or certificates that could not even be sent, whose they are;
 * leaves other errors as they are.  Returns err->code. */
int kube_advise_refusal(const struct kube_config *c, struct err *err);

#endif
