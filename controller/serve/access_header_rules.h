/* SPDX-License-Identifier: Apache-2.0 */
/* access_header_rules.h: the user that an aggregation proxy names in headers.
 *
 * Called only after the proxy's certificate was verified: these headers are worth nothing without
 * it.
 * Source: controller.md §3.6 (1); apiserver/pkg/authentication/request/headerrequest.  Pure. */
#ifndef TRIMTAB_SERVE_ACCESS_HEADER_RULES_H
#define TRIMTAB_SERVE_ACCESS_HEADER_RULES_H

#include "controller/serve/access.h"
#include "controller/serve/access_rules.h"

#define ACCESS_HEADERS_MAX 64 /* names in one of the lists below */

/* Names of headers, without case.  Immutable; borrowed. */
struct access_header_names {
    struct option_list user;    /* the first one that has a value counts */
    struct option_list uid;     /* likewise */
    struct option_list groups;  /* all values of all of them */
    struct option_list extra;   /* prefixes: the rest of a header's name is the key */
    struct option_list allowed; /* common names of the proxy's certificate; none: any */
};

/* True with the user in *ret; false when no header names one.  INVALID (in *err, and false): more
 * than the caps allow. */
bool access_header_user(const struct access_request *req, const struct access_header_names *names,
                        struct access_user *ret, struct err *err);
/* True when a certificate of that common name may speak for others. */
bool access_header_cn_allowed(const struct access_header_names *names, const char *cn);

#endif
