/* SPDX-License-Identifier: Apache-2.0 */
/* format.c: texts and whole numbers without libc's printf (format.h).
 *
 *     %s  %.*s  %c  %%        %d  %i  %u  %x  with l, ll or z, and with a width padded with zeros
 *
 * A format that holds anything else goes to vsnprintf(3) as a whole, from its beginning. */
#include "common/base/format.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#define DIGITS_MAX 24 /* of 64 bits, and a sign */

/* In a struct, because a va_list may be an array, which would be passed by its address. */
struct args {
    va_list ap;
};
struct output {
    char *at;
    size_t room;
    size_t len; /* of the whole text, also of what has no room */
};

static void put(struct output *o, const char *text, size_t n)
{
    if (o->len < o->room) {
        size_t left = o->room - o->len;
        memcpy(o->at + o->len, text, n < left ? n : left);
    }
    o->len += n;
}

/* One conversion behind its '%'. */
struct conversion {
    bool cut;       /* ".*" */
    unsigned width; /* padded with zeros; 0: none */
    unsigned longs; /* how many l stand before the letter: 0 to 2 */
    bool size;      /* z does */
    char letter;
};

static const char *read_conversion(const char *p, struct conversion *ret)
{
    *ret = (struct conversion){0};
    if (p[0] == '.' && p[1] == '*') {
        ret->cut = true;
        p += 2;
    } else if (p[0] == '0' && p[1] >= '1' && p[1] <= '9') {
        ret->width = (unsigned)(p[1] - '0');
        p += 2;
    }
    ret->size = *p == 'z';
    p += ret->size;
    for (; *p == 'l' && ret->longs < 2 && !ret->size; p++) {
        ret->longs++;
    }
    ret->letter = *p;
    return p + (*p != '\0');
}

static void put_number(struct output *o, const struct conversion *c, uint64_t magnitude,
                       bool negative)
{
    static const char digits[] = "0123456789abcdef";
    char text[DIGITS_MAX];
    size_t at = sizeof text;
    unsigned base = c->letter == 'x' ? 16 : 10;
    do {
        text[--at] = digits[magnitude % base];
        magnitude /= base;
    } while (magnitude > 0);
    while (sizeof text - at + negative < c->width) {
        text[--at] = '0';
    }
    if (negative) {
        text[--at] = '-';
    }
    put(o, text + at, sizeof text - at);
}

static void put_signed(struct output *o, const struct conversion *c, struct args *args)
{
    int64_t v = c->size         ? va_arg(args->ap, ssize_t)
                : c->longs == 2 ? va_arg(args->ap, long long)
                : c->longs == 1 ? va_arg(args->ap, long)
                                : va_arg(args->ap, int);
    put_number(o, c, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, v < 0);
}

static void put_unsigned(struct output *o, const struct conversion *c, struct args *args)
{
    uint64_t v = c->size         ? va_arg(args->ap, size_t)
                 : c->longs == 2 ? va_arg(args->ap, unsigned long long)
                 : c->longs == 1 ? va_arg(args->ap, unsigned long)
                                 : va_arg(args->ap, unsigned int);
    put_number(o, c, v, false);
}

static void put_text(struct output *o, struct args *args, bool cut)
{
    int most = cut ? va_arg(args->ap, int) : -1;
    const char *text = va_arg(args->ap, const char *);
    if (most >= 0 && text != NULL) {
        put(o, text, strnlen(text, (size_t)most));
    } else if (text != NULL) {
        put(o, text, strlen(text));
    } else if (most < 0 || most >= 6) { /* as glibc */
        put(o, "(null)", 6);
    }
}

/* False: it is one for libc.  The arguments before it are used up then. */
static bool convert(struct output *o, const struct conversion *c, struct args *args)
{
    char byte;
    bool plain = c->width == 0 && c->longs == 0 && !c->size;
    if (c->letter == 's' && plain) {
        put_text(o, args, c->cut);
        return true;
    }
    if (c->cut) {
        return false;
    }
    switch (c->letter) {
    case 'd':
    case 'i':
        put_signed(o, c, args);
        return true;
    case 'u':
    case 'x':
        put_unsigned(o, c, args);
        return true;
    case 'c':
        byte = plain ? (char)va_arg(args->ap, int) : '\0';
        put(o, &byte, plain);
        return plain;
    case '%':
        put(o, "%", plain);
        return plain;
    default:
        return false;
    }
}

static bool format_quick(struct output *o, const char *fmt, struct args *args)
{
    for (;;) {
        const char *percent = strchrnul(fmt, '%');
        put(o, fmt, (size_t)(percent - fmt));
        if (*percent == '\0') {
            return o->len <= INT_MAX;
        }
        struct conversion c;
        fmt = read_conversion(percent + 1, &c);
        if (!convert(o, &c, args)) {
            return false;
        }
    }
}

int format_text(char *out, size_t room, const char *fmt, va_list ap)
{
    struct output o = {.at = out, .room = room};
    struct args args;
    va_copy(args.ap, ap);
    bool done = format_quick(&o, fmt, &args);
    va_end(args.ap);
    if (!done) {
        return vsnprintf(out, room, fmt, ap);
    }
    if (room > 0) {
        out[o.len < room ? o.len : room - 1] = '\0';
    }
    return (int)o.len;
}
