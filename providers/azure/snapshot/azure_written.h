/* SPDX-License-Identifier: Apache-2.0 */
/* azure_written.h: public IPs that this process has written a moment ago: they count before lists
 * show them.
 *
 * Azure answers a list of public IPs from a copy that lags behind by seconds, sometimes by minutes;
 * a public IP that is read by its name is right (Azure/azure-cli issues 14482 and 17760).  For some
 * minutes a list is corrected: one that was deleted here is taken out, one that was made here is
 * put in, and an older version of one that was changed here is replaced by the answer of the
 * write.  A version that is not known as older counts as newer, as when a frontend takes it.
 * Source: docs/adr/0073.  One thread, as the handle. */
#ifndef TRIMTAB_AZURE_WRITTEN_H
#define TRIMTAB_AZURE_WRITTEN_H

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/data/json.h"

struct azure_written;
struct azure_written *azure_written_new(struct clock *clock);
void azure_written_free(struct azure_written *w);
/* `doc`: Azure's answer, of which a reference is taken, or NULL: the public IP is gone.
 * `before`: etag of the version that was written over; NULL or "": not known. */
void azure_written_note(struct azure_written *w, const char *id, struct json_object *doc,
                        const char *before);
/* The list of that collection with all of it; as given where nothing is to be corrected.  Lives as
 * long as the arena. */
struct json_object *azure_written_correct(struct azure_written *w, struct arena *a,
                                          const char *scope, struct json_object *list);

#endif
