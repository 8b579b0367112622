/* SPDX-License-Identifier: Apache-2.0 */
/* announce_rules.h: when an address is announced on a link: the first time, again, and after each
 * change of the link.  Pure.
 *
 *   PROBE      three probes, 200 ms apart: does another host have the address?  Left out for an
 *              address that was held before
 *   BURST      announcements 0, 0.1, 1, 2 and 5 s after the takeover; a carrier that returns and a
 *              new MAC begin another burst
 *   REST       an announcement every `refresh`
 *   IN_USE     another host answered: the address is not announced; probes begin anew after a
 *              minute
 *
 * The first announcement of a burst goes at once; later ones are paced: at most LOCAL_FRAMES_PER_S
 * frames a second on a link. */
#ifndef TRIMTAB_LOCAL_DIRECTOR_ANNOUNCE_RULES_H
#define TRIMTAB_LOCAL_DIRECTOR_ANNOUNCE_RULES_H

#include <stdbool.h>
#include <stdint.h>

#define LOCAL_FRAMES_PER_S     1000
#define LOCAL_PROBES           3
#define LOCAL_PROBE_EVERY_MS   200
#define LOCAL_IN_USE_AGAIN_MS  60000
#define LOCAL_ANNOUNCE_NEVER   INT64_MAX
#define LOCAL_ANNOUNCE_REFRESH 60000 /* of an address that is in no pool any more */

enum local_announce_phase {
    LOCAL_PHASE_PROBE = 0,
    LOCAL_PHASE_BURST,
    LOCAL_PHASE_REST,
    LOCAL_PHASE_IN_USE,
};
enum local_announce_act {
    LOCAL_ACT_NOTHING = 0,
    LOCAL_ACT_PROBE,    /* send a probe */
    LOCAL_ACT_LISTEN,   /* has another host answered? */
    LOCAL_ACT_ANNOUNCE, /* send the frames that say where the address is */
};
/* One address on one link; whose array this is knows the address. */
struct local_announcement {
    uint8_t phase;      /* enum local_announce_phase */
    uint8_t step;       /* probes sent, or announcements of this burst */
    uint8_t mac[6];     /* of the host that answered, until none does any more; else 0 */
    int link;           /* index */
    int32_t refresh_ms; /* 0: announced on changes only; a day at most */
    int64_t start_ms;   /* of the phase; monotonic, as all moments here */
    int64_t next_ms;    /* when an act is due; LOCAL_ANNOUNCE_NEVER: when something changes */
    int64_t last_ms;    /* of the last announcement; -1: none */
};

/* Begins with probes, or with a burst. */
void local_announcement_begin(struct local_announcement *e, bool probe, int64_t now_ms);
/* The link came back, or has another MAC: a new burst.  An address that is probed, or in use
 * elsewhere, is probed anew. */
void local_announcement_again(struct local_announcement *e, int64_t now_ms);
enum local_announce_act local_announcement_due(const struct local_announcement *e, int64_t now_ms);
/* True for an announcement that pacing may put off. */
bool local_announcement_can_wait(const struct local_announcement *e);
/* The act was done (or failed: then it is tried at the next moment of the schedule). */
void local_announcement_did(struct local_announcement *e, enum local_announce_act act,
                            int64_t now_ms);
/* Of LOCAL_ACT_LISTEN.  `mac` NULL: no other host answered. */
void local_announcement_heard(struct local_announcement *e, const uint8_t mac[6], int64_t now_ms);

/* Frames of the current second on a link. */
struct local_pace {
    int64_t from_ms;
    unsigned frames;
};
/* Takes n frames from the second's budget; false: the budget is used up until *ret_when_ms. */
bool local_pace_take(struct local_pace *p, unsigned n, int64_t now_ms, int64_t *ret_when_ms);

#endif
