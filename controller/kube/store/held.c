/* SPDX-License-Identifier: Apache-2.0 */
/* held.c: see held.h.  Both forms come from malloc, so the lowest bit of a pointer is free. */
#include "controller/kube/store/held.h"

#include "common/base/str.h"
#include "controller/kube/store/small.h"

#define SMALL ((uintptr_t)1)

static bool is_small(struct kube_held h)
{
    return (h.bits & SMALL) != 0;
}

static struct kube_small *small_of(struct kube_held h)
{
    return (struct kube_small *)(h.bits & ~SMALL);
}

static struct kube_object *whole_of(struct kube_held h)
{
    return (struct kube_object *)h.bits;
}

struct kube_held kube_held_none(void)
{
    return (struct kube_held){0};
}

bool kube_held_is_none(struct kube_held h)
{
    return h.bits == 0;
}

struct kube_held kube_held_take(struct kube_object *o, bool small)
{
    struct kube_small *s = small ? kube_small_of(o) : NULL;
    if (s == NULL) {
        return (struct kube_held){(uintptr_t)o};
    }
    kube_object_unref(o);
    return (struct kube_held){(uintptr_t)s | SMALL};
}

struct kube_held kube_held_of(struct kube_object *o)
{
    return kube_held_take(kube_object_ref(o), o->small != NULL);
}

struct kube_held kube_held_ref(struct kube_held h)
{
    if (is_small(h)) {
        (void)kube_small_ref(small_of(h));
    } else if (h.bits != 0) {
        (void)kube_object_ref(whole_of(h));
    }
    return h;
}

void kube_held_unref(struct kube_held h)
{
    if (is_small(h)) {
        kube_small_unref(small_of(h));
    } else {
        kube_object_unref(whole_of(h));
    }
}

struct kube_object *kube_held_object(struct kube_held h)
{
    return is_small(h) ? kube_small_read(small_of(h)) : kube_object_ref(whole_of(h));
}

const char *kube_held_key(struct kube_held h)
{
    return is_small(h) ? kube_small_key(small_of(h)) : whole_of(h)->key;
}

static const char *uid_of(struct kube_held h, char room[UUID_TEXT])
{
    return is_small(h) ? kube_small_uid(small_of(h), room) : whole_of(h)->uid;
}

bool kube_held_has_uid(struct kube_held h, const char *uid)
{
    char room[UUID_TEXT];
    return str_eq(uid_of(h, room), uid);
}

bool kube_held_same_uid(struct kube_held a, struct kube_held b)
{
    char room[UUID_TEXT];
    return kube_held_has_uid(a, uid_of(b, room));
}

const char *kube_held_version(struct kube_held h)
{
    return is_small(h) ? kube_small_version(small_of(h)) : whole_of(h)->resource_version;
}

const char *kube_held_service(struct kube_held h)
{
    return is_small(h) ? kube_small_service(small_of(h)) : whole_of(h)->slice->service;
}

bool kube_held_is_unreadable(struct kube_held h)
{
    return !is_small(h) && whole_of(h)->unreadable != NULL;
}
