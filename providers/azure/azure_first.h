/* SPDX-License-Identifier: Apache-2.0 */
/* azure_first.h: the first load balancer of a Service, when Azure refuses it for its text.
 *
 * A new Service gets its public IP first, then its balancer, then its rules in the security group
 * and its private link service.  What Azure refuses late (a service tag, a probe's path, a setting
 * of a link) leaves the parts before it, which serve no client and cost money.  A Service that has
 * never been served gives back in the same sync what this process has made for it.  The same wish
 * is not tried again before a day has passed, or, where the reason is not known, half an hour, an
 * hour, … a day; an edit is tried at once.  Other refusals (a right, a quota, a name in use) may
 * end at any moment: what was made stays for the next try, and the message says so.
 * Source: docs/adr/0083.  One thread; the memory is the handle's (azure_handle.h, `firsts`). */
#ifndef TRIMTAB_AZURE_FIRST_H
#define TRIMTAB_AZURE_FIRST_H

#include "providers/azure/sync/azure_sync.h"

/* A Service that had nothing when this process saw it first, and that has not been served since. */
struct azure_first {
    char *uid;
    bool unclean;     /* something that was written for it may be there */
    char *pips;       /* IDs of the public IPs that were made for it, blank separated; "": none */
    unsigned unknown; /* bad requests for an unknown reason in a row, for `unknown_wish` */
    uint64_t unknown_wish; /* a digest as below */
    /* the last refusal of its text */
    uint64_t wish;    /* digest of the Service as it was refused; 0: there was none */
    int64_t until_ms; /* of the clock: the wish is not tried before */
    int64_t until_us; /* the same by the wall clock, for the message */
    unsigned tries;   /* of this wish, refused */
    struct err err;   /* as Azure gave it */
};
/* As map_new() has it. */
void azure_first_free(void *first);

/* A digest of what the Service asks for, not 0: a refusal is remembered for it. */
uint64_t azure_first_wish(const struct azure_item *it);
/* At the beginning, for an ENSURE: a Service that has an address is no new one (any more).  The
 * code of the last refusal if it is too early to try this wish again; else ERR_OK. */
int azure_first_check(struct azure_sync *y, const struct azure_item *it,
                      struct err *err) _warn_unused_;
/* After a stage has read balancers: notes Services without a frontend, if that was read in this
 * very sync. */
void azure_first_note(struct azure_sync *y);
/* As lb_flow.wrote: what was made for them. */
void azure_first_wrote(struct azure_sync *y, const struct lb_op *op, unsigned outcome,
                       const struct err *err);
/* Has this process made the public IP for the Service? */
bool azure_first_made(const struct azure_sync *y, const struct azure_item *it, const char *id);
/* An ENSURE or DELETE of it goes well. */
void azure_first_served(struct azure_sync *y, const struct azure_item *it);
/* At the end of a failure: adds to its message what stays for the next try. */
void azure_first_say(struct azure_sync *y, const struct azure_item *it, struct err *err);

/* Takes back what was made for Services whose text was refused; an element of lb_flow.retreats. */
extern const struct lb_stage azure_first_stages[];
#define AZURE_FIRST_STAGES 5
bool azure_first_retreats(struct lb_sync *s, struct lb_item *item);
void azure_first_ended(struct lb_sync *s, struct lb_item *item, bool done);

#endif
