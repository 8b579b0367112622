/* SPDX-License-Identifier: Apache-2.0 */
/* announce_rules.c: the schedule of announcements (announce_rules.h). */
#include "providers/local/director/announce_rules.h"

#include <string.h>

#include "common/base/attr.h"

static const int64_t burst_ms[] = {0, 100, 1000, 2000, 5000};

static void enter(struct local_announcement *e, enum local_announce_phase phase, int64_t now_ms)
{
    e->phase = (uint8_t)phase;
    e->step = 0;
    e->start_ms = e->next_ms = now_ms;
}

void local_announcement_begin(struct local_announcement *e, bool probe, int64_t now_ms)
{
    e->last_ms = -1;
    enter(e, probe ? LOCAL_PHASE_PROBE : LOCAL_PHASE_BURST, now_ms);
}

void local_announcement_again(struct local_announcement *e, int64_t now_ms)
{
    bool here = e->phase == LOCAL_PHASE_BURST || e->phase == LOCAL_PHASE_REST;

    enter(e, here ? LOCAL_PHASE_BURST : LOCAL_PHASE_PROBE, now_ms);
}

enum local_announce_act local_announcement_due(const struct local_announcement *e, int64_t now_ms)
{
    if (now_ms < e->next_ms) {
        return LOCAL_ACT_NOTHING;
    }
    if (e->phase == LOCAL_PHASE_PROBE) {
        return e->step < LOCAL_PROBES ? LOCAL_ACT_PROBE : LOCAL_ACT_LISTEN;
    }
    return e->phase == LOCAL_PHASE_IN_USE ? LOCAL_ACT_PROBE : LOCAL_ACT_ANNOUNCE;
}

bool local_announcement_can_wait(const struct local_announcement *e)
{
    return e->phase == LOCAL_PHASE_REST || (e->phase == LOCAL_PHASE_BURST && e->step > 0);
}

/* Announcements that a busy thread missed are not made up for: the next one is in the future. */
static void announced(struct local_announcement *e, int64_t now_ms)
{
    e->last_ms = now_ms;
    if (e->phase == LOCAL_PHASE_BURST) {
        do {
            e->step++;
        } while (e->step < ARRAY_LEN(burst_ms) && e->start_ms + burst_ms[e->step] <= now_ms);
        if (e->step < ARRAY_LEN(burst_ms)) {
            e->next_ms = e->start_ms + burst_ms[e->step];
            return;
        }
        e->phase = LOCAL_PHASE_REST;
    }
    e->next_ms = e->refresh_ms > 0 ? now_ms + e->refresh_ms : LOCAL_ANNOUNCE_NEVER;
}

void local_announcement_did(struct local_announcement *e, enum local_announce_act act,
                            int64_t now_ms)
{
    if (act == LOCAL_ACT_ANNOUNCE) {
        announced(e, now_ms);
    } else if (act == LOCAL_ACT_PROBE) {
        if (e->phase == LOCAL_PHASE_IN_USE) {
            enter(e, LOCAL_PHASE_PROBE, now_ms);
        }
        e->step++;
        e->next_ms = now_ms + LOCAL_PROBE_EVERY_MS;
    }
}

void local_announcement_heard(struct local_announcement *e, const uint8_t mac[6], int64_t now_ms)
{
    if (mac == NULL) {
        memset(e->mac, 0, sizeof e->mac);
        enter(e, LOCAL_PHASE_BURST, now_ms);
        return;
    }
    enter(e, LOCAL_PHASE_IN_USE, now_ms);
    e->next_ms = now_ms + LOCAL_IN_USE_AGAIN_MS;
    memcpy(e->mac, mac, sizeof e->mac);
}

bool local_pace_take(struct local_pace *p, unsigned n, int64_t now_ms, int64_t *ret_when_ms)
{
    if (p->frames == 0 || now_ms - p->from_ms >= 1000) {
        *p = (struct local_pace){.from_ms = now_ms};
    }
    if (p->frames + n > LOCAL_FRAMES_PER_S) {
        *ret_when_ms = p->from_ms + 1000;
        return false;
    }
    p->frames += n;
    return true;
}
