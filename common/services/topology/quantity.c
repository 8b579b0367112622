/* SPDX-License-Identifier: Apache-2.0 */
/* quantity.c: quantities of Kubernetes; see quantity.h. */
#include "common/services/topology/quantity.h"

#include <stddef.h>

#include "common/base/attr.h"
#include "common/base/str.h"

#define NANO 1000000000u
/* The greatest quantity, in thousand-millionths. */
#define GREATEST ((ks_quantity_wide)INT64_MAX * NANO)
/* Digits that are kept of a number; those behind them only round up.  10^19 · 2^60 still fits. */
#define DIGITS_MAX 19
/* Exponents beyond this make any number 0 or the greatest. */
#define EXPONENT_MAX 1000

/* Digits with their decimal point gone: digits · 10^exponent, a little more when `more`. */
struct number {
    ks_quantity_wide digits;
    int kept; /* digits that count against DIGITS_MAX */
    int64_t exponent;
    bool more;
};

struct suffix {
    const char *text;
    int decimal; /* power of 10 */
    int binary;  /* power of 2 */
};
static const struct suffix suffixes[] = {
    {"", 0, 0},    {"n", -9, 0},  {"u", -6, 0},  {"m", -3, 0},  {"k", 3, 0},   {"M", 6, 0},
    {"G", 9, 0},   {"T", 12, 0},  {"P", 15, 0},  {"E", 18, 0},  {"Ki", 0, 10}, {"Mi", 0, 20},
    {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void add_digit(struct number *n, int digit, bool fraction)
{
    if (n->kept >= DIGITS_MAX) {
        n->more = n->more || digit != 0;
        n->exponent += fraction ? 0 : 1;
        return;
    }
    n->digits = n->digits * 10 + (unsigned)digit;
    n->kept += n->digits == 0 ? 0 : 1;
    n->exponent -= fraction ? 1 : 0;
}

/* Reads digits with at most one point among them; returns what follows, NULL when there
 * is no digit. */
static const char *read_digits(const char *s, struct number *n)
{
    bool any = false, fraction = false;
    for (; is_digit(*s) || (*s == '.' && !fraction); s++) {
        if (*s == '.') {
            fraction = true;
        } else {
            any = true;
            add_digit(n, *s - '0', fraction);
        }
    }
    return any ? s : NULL;
}

/* An exponent: "e3", "E-3". */
static bool read_exponent(const char *s, int64_t *ret)
{
    if ((*s != 'e' && *s != 'E') || s[1] == '\0') {
        return false;
    }
    bool plus = s[1] == '+';
    s += plus ? 2 : 1;
    return (is_digit(*s) || (*s == '-' && !plus)) && str_to_i64(s, ret) && *ret <= EXPONENT_MAX &&
           *ret >= -EXPONENT_MAX;
}

static bool read_suffix(const char *s, struct suffix *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        if (str_eq(s, suffixes[i].text)) {
            *ret = suffixes[i];
            return true;
        }
    }
    int64_t exponent = 0;
    bool ok = read_exponent(s, &exponent);
    *ret = (struct suffix){.decimal = (int)exponent};
    return ok;
}

/* digits · 10^exponent, rounded up, at most GREATEST. */
static ks_quantity_wide scaled(const struct number *n)
{
    ks_quantity_wide v = n->digits;
    bool more = n->more;
    for (int64_t e = n->exponent; e < 0 && v > 0; e++) {
        more = more || v % 10 != 0;
        v /= 10;
    }
    v += more ? 1 : 0;
    for (int64_t e = n->exponent; e > 0 && v > 0 && v < GREATEST; e--) {
        v *= 10;
    }
    return v > GREATEST ? GREATEST : v;
}

bool ks_quantity_parse(const char *s, struct ks_quantity *ret)
{
    struct number n = {.digits = 0};
    struct suffix suffix;
    if (s == NULL) {
        return false;
    }
    s = read_digits(s + (*s == '+' ? 1 : 0), &n);
    if (s == NULL || !read_suffix(s, &suffix)) {
        return false;
    }
    n.digits <<= suffix.binary;
    n.exponent += suffix.decimal + 9;
    ret->nano = scaled(&n);
    return true;
}

void ks_quantity_add(struct ks_quantity *sum, const struct ks_quantity *more)
{
    sum->nano += more->nano;
}

bool ks_quantity_is_zero(const struct ks_quantity *q)
{
    return q->nano == 0;
}

int64_t ks_quantity_milli(const struct ks_quantity *q)
{
    ks_quantity_wide milli = q->nano / (NANO / 1000) + (q->nano % (NANO / 1000) != 0 ? 1 : 0);
    return milli > INT64_MAX ? INT64_MAX : (int64_t)milli;
}
