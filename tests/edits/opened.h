/* SPDX-License-Identifier: Apache-2.0 */
/* opened.h: what an edit opens, over whole answers of GET /sim/reach: every address and every port,
 * also those that no Service asks for.  Pure.
 *
 * judge.h asks whether the clients of a Service are served at its ports.  Here is the other side:
 * a client is served at no address and no port where neither the Service before the edit nor the
 * one after it lets the client in, and nothing else changes for other Services and for users. */
#ifndef TRIMTAB_TESTS_EDITS_OPENED_H
#define TRIMTAB_TESTS_EDITS_OPENED_H

#include "tests/edits/judge.h"

/* At every moment of the history: at an address of the Service, a client is served only at a port
 * where it was served before, or is in the end, or that the Service asks for; at all other
 * addresses the clients are those of before. */
void opened_course(const struct judge *j, struct json_object *after,
                   struct json_object *reach_after);
/* E6, the edit is over: an address that the status does not name serves no client, unless it did
 * before and was not one of the Service.  While something is refused, the new load balancer may
 * serve already without its health check, so that the status does not name it yet. */
void opened_end(const struct judge *j, struct json_object *after, struct json_object *reach_after);
/* E2, the edit has been taken back: each port of each address serves the clients of before, neither
 * fewer nor more.  Where the Service has another address, that one counts, and its former one
 * serves no client. */
void opened_back(const struct judge *j, struct json_object *after, struct json_object *reach_after);

#endif
