/* SPDX-License-Identifier: Apache-2.0 */
/* watch_rules.c: when the director looks whether others have changed something (watch_rules.h). */
#include "providers/local/director/watch_rules.h"

/* 0: it comes when a change causes it, and at no other time. */
static const int64_t periods[LOCAL_LOOKS] = {
    [LOCAL_LOOK_HOLDS] = LOCAL_ALL_MS,
    [LOCAL_LOOK_ROUND] = LOCAL_ROUND_MS,
    [LOCAL_LOOK_MACHINE] = LOCAL_ALL_MS,
    [LOCAL_LOOK_FIGURES] = LOCAL_FIGURES_MS,
};

static int64_t next_of(enum local_look what, int64_t now_ms)
{
    return periods[what] == 0 ? LOCAL_WATCH_NEVER : now_ms + periods[what];
}

void local_watch_begin(struct local_watch_due *w, int64_t now_ms)
{
    *w = (struct local_watch_due){.told = {false}};
    for (int i = 0; i < LOCAL_LOOKS; i++) {
        /* This machine is checked right at the start. */
        w->at_ms[i] = i == LOCAL_LOOK_MACHINE ? now_ms : next_of(i, now_ms);
    }
}

void local_watch_told(struct local_watch_due *w, enum local_event_kind kind)
{
    bool lost = kind == LOCAL_EVENT_LOST;

    w->told[LOCAL_LOOK_TABLE] |= lost || kind == LOCAL_EVENT_TABLE;
    /* A link that goes down takes routes along without a word. */
    w->told[LOCAL_LOOK_HOLDS] |= lost || kind == LOCAL_EVENT_HOLD || kind == LOCAL_EVENT_LINK;
}

static int64_t due_ms(const struct local_watch_due *w, int what)
{
    int64_t at_ms = w->told[what] ? 0 : w->at_ms[what];

    return at_ms > w->not_before_ms[what] ? at_ms : w->not_before_ms[what];
}

bool local_watch_is_due(const struct local_watch_due *w, enum local_look what, int64_t now_ms)
{
    return due_ms(w, (int)what) <= now_ms;
}

/* 1, 2, 4 … seconds after failures; ten times what it took, so that it is rare when it is dear. */
static int64_t pause_ms(unsigned failed, bool told, int64_t took_ms)
{
    int64_t pause = told || failed > 0 ? LOCAL_LOOK_PAUSE_MS : 0;

    for (unsigned i = 1; i < failed && pause < LOCAL_LOOK_WAIT_MS; i++) {
        pause *= 2;
    }
    pause = pause > LOCAL_LOOK_WAIT_MS ? LOCAL_LOOK_WAIT_MS : pause;
    return pause > 10 * took_ms ? pause : 10 * took_ms;
}

void local_watch_did(struct local_watch_due *w, enum local_look what, bool well, int64_t began_ms,
                     int64_t ended_ms)
{
    bool told = w->told[what];

    w->failed[what] = well ? 0 : w->failed[what] + 1;
    w->told[what] = told && !well; /* it is made again */
    w->at_ms[what] = next_of(what, began_ms);
    w->not_before_ms[what] = ended_ms + pause_ms(w->failed[what], told, ended_ms - began_ms);
}

int64_t local_watch_next_ms(const struct local_watch_due *w)
{
    int64_t next_ms = LOCAL_WATCH_NEVER;

    for (int i = 0; i < LOCAL_LOOKS; i++) {
        next_ms = due_ms(w, i) < next_ms ? due_ms(w, i) : next_ms;
    }
    return next_ms;
}
