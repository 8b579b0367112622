/* SPDX-License-Identifier: Apache-2.0 */
/* duration.c: Go's text form of durations, in both directions.
 *
 * Flags, config files and annotations carry it, so every accepted and every refused input is Go's
 * (time.ParseDuration, time.Duration.String), with its limits: whole parts and sums up to 2^63 ns,
 * fraction digits beyond what 63 bits hold are ignored, -2^63 ns is allowed.  Pure. */
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/str.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LIMIT (UINT64_C(1) << 63) /* magnitude of the smallest int64_t */

struct unit {
    const char *name;
    uint64_t ns;
};
static const struct unit units[] = {
    {"ns", 1},
    {"us", 1000},
    {"\xC2\xB5s", 1000}, /* U+00B5 micro sign */
    {"\xCE\xBCs", 1000}, /* U+03BC Greek mu */
    {"ms", 1000000},
    {"s", 1000000000},
    {"m", UINT64_C(60) * 1000000000},
    {"h", UINT64_C(3600) * 1000000000},
};

enum part_result {
    PART_OK = 0,
    PART_INVALID,
    PART_NO_UNIT,
    PART_BAD_UNIT,
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits before the dot: more than 2^63 is an error. */
static bool read_whole(const char **s, uint64_t *ret)
{
    uint64_t value = 0;
    for (; is_digit(**s); (*s)++) {
        if (value > LIMIT / 10) {
            return false;
        }
        value = value * 10 + (uint64_t)(**s - '0');
        if (value > LIMIT) {
            return false;
        }
    }
    *ret = value;
    return true;
}

/* Digits behind the dot as value/scale; the first digit that does not fit and all after
 * it are ignored. */
static void read_fraction(const char **s, uint64_t *ret, double *ret_scale)
{
    uint64_t value = 0;
    double scale = 1;
    bool full = false;
    for (; is_digit(**s); (*s)++) {
        uint64_t next = value * 10 + (uint64_t)(**s - '0');
        full = full || value > (LIMIT - 1) / 10 || next > LIMIT;
        if (!full) {
            value = next;
            scale *= 10;
        }
    }
    *ret = value;
    *ret_scale = scale;
}

static uint64_t unit_ns(const char *s, size_t n)
{
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (strlen(units[i].name) == n && memcmp(units[i].name, s, n) == 0) {
            return units[i].ns;
        }
    }
    return 0;
}

/* One number with its unit, added to *sum.  *ret_unit is where the unit began. */
static enum part_result read_part(const char **s, uint64_t *sum, const char **ret_unit)
{
    uint64_t whole;
    uint64_t fraction = 0;
    double scale = 1;
    const char *start = *s;
    if ((**s != '.' && !is_digit(**s)) || !read_whole(s, &whole)) {
        return PART_INVALID;
    }
    bool has_digits = *s != start;
    if (**s == '.') {
        const char *dot = (*s)++;
        read_fraction(s, &fraction, &scale);
        has_digits = has_digits || *s != dot + 1;
    }
    if (!has_digits) {
        return PART_INVALID;
    }
    *ret_unit = *s;
    while (**s != '\0' && **s != '.' && !is_digit(**s)) {
        (*s)++;
    }
    if (*s == *ret_unit) {
        return PART_NO_UNIT;
    }
    uint64_t ns = unit_ns(*ret_unit, (size_t)(*s - *ret_unit));
    if (ns == 0) {
        return PART_BAD_UNIT;
    }
    if (whole > LIMIT / ns) {
        return PART_INVALID;
    }
    whole *= ns;
    if (fraction > 0) {
        whole += (uint64_t)((double)fraction * ((double)ns / scale)); /* below one unit */
    }
    *sum += whole; /* 2^63 + 2^63 wraps to 0 and passes, as in Go */
    return whole > LIMIT || *sum > LIMIT ? PART_INVALID : PART_OK;
}

static int refuse(struct err *err, const char *what, const char *text)
{
    struct str_buf quoted _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append_go_quoted(&quoted, text);
    return err_set(err, ERR_INVALID, "time: %s %s", what, str_buf_text(&quoted));
}

static int refuse_unit(struct err *err, const char *unit, size_t n, const char *text)
{
    struct str_buf what _cleanup_(str_buf_done) = STR_BUF_INIT;
    char *name = xstrndup(unit, n);
    str_append(&what, "unknown unit ");
    str_append_go_quoted(&what, name);
    str_append(&what, " in duration");
    free(name);
    return refuse(err, str_buf_text(&what), text);
}

int duration_parse(const char *s, int64_t *ret_ns, struct err *err)
{
    const char *text = s;
    bool negative = *s == '-';
    s += *s == '-' || *s == '+';
    if (strcmp(s, "0") == 0) {
        *ret_ns = 0;
        return ERR_OK;
    }
    uint64_t sum = 0;
    enum part_result result = *s == '\0' ? PART_INVALID : PART_OK;
    const char *unit = s;
    while (result == PART_OK && *s != '\0') {
        result = read_part(&s, &sum, &unit);
    }
    if (result == PART_NO_UNIT) {
        return refuse(err, "missing unit in duration", text);
    }
    if (result == PART_BAD_UNIT) {
        return refuse_unit(err, unit, (size_t)(s - unit), text);
    }
    if (result != PART_OK || sum > LIMIT - (negative ? 0 : 1)) {
        return refuse(err, "invalid duration", text);
    }
    *ret_ns = (int64_t)(negative ? 0 - sum : sum);
    return ERR_OK;
}

/* Each line of the log has a duration, and printf() takes most of its time. */
static void append_whole(struct str_buf *b, uint64_t value, const char *unit)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    str_append_n(b, digits + at, sizeof digits - at);
    str_append(b, unit);
}

/* value/scale as a decimal number without trailing zeros; scale is a power of ten. */
static void append_decimal(struct str_buf *b, uint64_t value, uint64_t scale)
{
    append_whole(b, value / scale, "");
    uint64_t rest = value % scale;
    if (rest != 0) {
        str_append_c(b, '.');
    }
    while (rest != 0) {
        rest *= 10;
        str_append_c(b, (char)('0' + rest / scale));
        rest %= scale;
    }
}

void duration_format(int64_t ns, char out[40])
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    uint64_t magnitude = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    if (ns < 0) {
        str_append_c(&b, '-');
    }
    if (magnitude == 0) {
        str_append(&b, "0s");
    } else if (magnitude < 1000) {
        append_whole(&b, magnitude, "ns");
    } else if (magnitude < 1000000) {
        append_decimal(&b, magnitude, 1000);
        str_append(&b, "\xC2\xB5s");
    } else if (magnitude < 1000000000) {
        append_decimal(&b, magnitude, 1000000);
        str_append(&b, "ms");
    } else {
        uint64_t minutes = magnitude / 1000000000 / 60;
        if (minutes >= 60) {
            append_whole(&b, minutes / 60, "h");
        }
        if (minutes > 0) {
            append_whole(&b, minutes % 60, "m");
        }
        append_decimal(&b, magnitude - minutes * 60 * 1000000000, 1000000000);
        str_append_c(&b, 's');
    }
    memcpy(out, b.data, b.len + 1); /* at most 26 bytes */
}
