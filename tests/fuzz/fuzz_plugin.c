/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_plugin.c: descriptors as a hostile or broken plugin may hand them over.
 *
 * The input is read as numbers and texts from which a descriptor is made, in memory that is exactly
 * as large as the descriptor says: reading behind it is found by ASan.  Pointers are NULL or right:
 * a plugin is trusted with the process, not with the sense of what it says.
 * What holds: a descriptor that is accepted has everything that the controller will use unasked. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "common/base/arena.h"
#include "common/base/str.h"
#include "controller/host/plugin.h"

struct input {
    const uint8_t *p;
    size_t n;
    struct arena *a;
};

static uint8_t take_byte(struct input *in)
{
    if (in->n == 0) {
        return 0;
    }
    in->n--;
    return *in->p++;
}

/* Bytes up to the next line feed; "~" is NULL. */
static const char *take_text(struct input *in)
{
    const uint8_t *end = in->n > 0 ? memchr(in->p, '\n', in->n) : NULL;
    size_t len = end != NULL ? (size_t)(end - in->p) : in->n;
    const char *text = arena_strndup(in->a, (const char *)in->p, len);
    in->p += len;
    in->n -= len;
    (void)take_byte(in);
    return strcmp(text, "~") == 0 ? NULL : text;
}

/* A table of `n` texts, or NULL. */
static const char *const *take_texts(struct input *in, uint32_t *ret_n)
{
    uint8_t n = take_byte(in);
    *ret_n = n;
    if (n > 8) {
        return NULL;
    }
    const char **items = ARENA_ARRAY(in->a, const char *, n);
    for (uint8_t i = 0; i < n; i++) {
        items[i] = take_text(in);
    }
    return items;
}

static const struct tt_option *take_options(struct input *in, uint32_t *ret_n)
{
    uint8_t n = take_byte(in);
    *ret_n = n;
    if (n > 8) {
        return NULL;
    }
    struct tt_option *items = ARENA_ARRAY(in->a, struct tt_option, n);
    for (uint8_t i = 0; i < n; i++) {
        items[i].type = take_byte(in);
        items[i].name = take_text(in);
        items[i].default_text = take_text(in);
        items[i].help = take_text(in);
    }
    return items;
}

static int32_t nothing(void)
{
    return TT_OK;
}

/* The six mandatory functions and the two of batches, by the bits of `there`. */
static void set_functions(struct tt_provider *d, uint8_t there)
{
    /* Never called, so the wrong type does no harm. */
    void (*fn)(void) = (void (*)(void))nothing;
    d->open = (there & 1) != 0 ? NULL : (__typeof__(d->open))fn;
    d->close = (there & 2) != 0 ? NULL : (__typeof__(d->close))fn;
    d->get_load_balancer = (there & 4) != 0 ? NULL : (__typeof__(d->get_load_balancer))fn;
    d->ensure_load_balancer = (there & 8) != 0 ? NULL : (__typeof__(d->ensure_load_balancer))fn;
    d->update_load_balancer = (there & 16) != 0 ? NULL : (__typeof__(d->update_load_balancer))fn;
    d->ensure_load_balancer_deleted =
        (there & 32) != 0 ? NULL : (__typeof__(d->ensure_load_balancer_deleted))fn;
    d->batch_key = (there & 64) == 0 ? NULL : (__typeof__(d->batch_key))fn;
    d->reconcile_batch = (there & 128) == 0 ? NULL : (__typeof__(d->reconcile_batch))fn;
}

static void check_accepted(const struct tt_provider *d)
{
    FUZZ_CHECK(d->abi_major == TRIMTAB_ABI_MAJOR && d->size == sizeof *d);
    FUZZ_CHECK(strcmp(d->name, "fuzz") == 0 && str_is_utf8(d->version, strlen(d->version)));
    FUZZ_CHECK(d->open != NULL && d->close != NULL && d->get_load_balancer != NULL);
    FUZZ_CHECK(d->ensure_load_balancer != NULL && d->update_load_balancer != NULL);
    FUZZ_CHECK(d->ensure_load_balancer_deleted != NULL);
    FUZZ_CHECK((d->batch_key == NULL) == (d->reconcile_batch == NULL));
    for (uint32_t i = 0; i < d->n_options; i++) {
        FUZZ_CHECK(d->options[i].name[0] != '\0' && d->options[i].type >= TT_OPTION_STRING);
    }
    for (uint32_t i = 0; i < d->n_classes; i++) {
        FUZZ_CHECK(d->classes[i][0] != '\0');
    }
}

FUZZ_TARGET(plugin, const uint8_t *data, size_t size)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    struct input in = {.p = data, .n = size, .a = a};
    struct tt_provider full = {0};
    full.abi_major = take_byte(&in);
    full.abi_minor = take_byte(&in);
    /* 0: the right size; else something between nothing and a little more than we know. */
    uint8_t units = take_byte(&in);
    full.size = units == 0 ? sizeof full : (size_t)units * 2;
    set_functions(&full, take_byte(&in));
    full.name = take_text(&in);
    full.version = take_text(&in);
    full.options = take_options(&in, &full.n_options);
    full.classes = take_texts(&in, &full.n_classes);
    full.finalizers = take_texts(&in, &full.n_finalizers);
    full.event_reasons = take_texts(&in, &full.n_event_reasons);

    size_t least = offsetof(struct tt_provider, name); /* what every version has */
    size_t bytes = full.size > least ? full.size : least;
    struct tt_provider *found = calloc(1, bytes);
    if (found == NULL) {
        return 0;
    }
    memcpy(found, &full, bytes < sizeof full ? bytes : sizeof full);
    struct tt_provider accepted;
    struct err err = ERR_INIT;
    if (plugin_check(found, "fuzz", "fuzz.so", &accepted, &err) == ERR_OK) {
        check_accepted(&accepted);
    } else {
        FUZZ_CHECK(strncmp(err.message, "fuzz.so: ", 9) == 0);
    }
    free(found);
    return 0;
}
