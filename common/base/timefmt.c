/* SPDX-License-Identifier: Apache-2.0 */
/* timefmt.c: moments as RFC 3339 text and back.
 *
 * Calendar arithmetic is done here (proleptic Gregorian, always UTC) and not by libc, whose
 * functions depend on the environment.  Reading follows Go's time.Parse(time.RFC3339): 'T' and 'Z'
 * in upper case, no second 60, a fraction of one digit or more.  Years outside 0000-9999 are
 * clamped when printed.  Pure. */
#include "common/base/timefmt.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define US_PER_S      INT64_C(1000000)
#define S_PER_DAY     INT64_C(86400)
#define FIRST_WALL_US (INT64_C(-62167219200) * US_PER_S) /* 0000-01-01 */
#define LAST_WALL_US                                                                               \
    (INT64_C(253402300800) * US_PER_S - INT64_C(1)) /* 9999-12-31 23:59:59.999999 */

struct civil {
    int year, month, day, hour, minute, second, micro;
};

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_in_month(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

/* Days from 1970-01-01, counted in eras of 400 years that begin on 1 March. */
static int64_t days_from_civil(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static void civil_from_days(int64_t days, struct civil *c)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t doe = days - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    c->day = (int)(doy - (153 * mp + 2) / 5 + 1);
    c->month = (int)(mp < 10 ? mp + 3 : mp - 9);
    c->year = (int)(yoe + era * 400 + (c->month <= 2));
}

static void civil_from_wall(int64_t wall_us, struct civil *c)
{
    wall_us = wall_us < FIRST_WALL_US ? FIRST_WALL_US : wall_us;
    wall_us = wall_us > LAST_WALL_US ? LAST_WALL_US : wall_us;
    int64_t micro = ((wall_us % US_PER_S) + US_PER_S) % US_PER_S;
    int64_t seconds = (wall_us - micro) / US_PER_S;
    int64_t of_day = ((seconds % S_PER_DAY) + S_PER_DAY) % S_PER_DAY;
    civil_from_days((seconds - of_day) / S_PER_DAY, c);
    c->hour = (int)(of_day / 3600);
    c->minute = (int)(of_day / 60 % 60);
    c->second = (int)(of_day % 60);
    c->micro = (int)micro;
}

void time_format_rfc3339(int64_t wall_us, char out[32])
{
    struct civil c;
    civil_from_wall(wall_us, &c);
    (void)snprintf(out, 32, "%04u-%02u-%02uT%02u:%02u:%02uZ", (unsigned)c.year % 10000u,
                   (unsigned)c.month % 100u, (unsigned)c.day % 100u, (unsigned)c.hour % 100u,
                   (unsigned)c.minute % 100u, (unsigned)c.second % 100u);
}

void time_format_micro(int64_t wall_us, char out[40])
{
    struct civil c;
    civil_from_wall(wall_us, &c);
    char seconds[32];
    time_format_rfc3339(wall_us, seconds);
    seconds[19] = '\0'; /* without the Z */
    (void)snprintf(out, 40, "%s.%06uZ", seconds, (unsigned)c.micro % 1000000u);
}

/* Exactly `n` decimal digits. */
static bool read_digits(const char **s, int n, int *ret)
{
    int value = 0;
    for (int i = 0; i < n; i++) {
        char c = **s;
        if (c < '0' || c > '9') {
            return false;
        }
        value = value * 10 + (c - '0');
        (*s)++;
    }
    *ret = value;
    return true;
}

static bool read_char(const char **s, char want)
{
    if (**s != want) {
        return false;
    }
    (*s)++;
    return true;
}

static bool read_date_and_time(const char **s, struct civil *c)
{
    return read_digits(s, 4, &c->year) && read_char(s, '-') && read_digits(s, 2, &c->month) &&
           read_char(s, '-') && read_digits(s, 2, &c->day) && read_char(s, 'T') &&
           read_digits(s, 2, &c->hour) && read_char(s, ':') && read_digits(s, 2, &c->minute) &&
           read_char(s, ':') && read_digits(s, 2, &c->second) && c->month >= 1 && c->month <= 12 &&
           c->day >= 1 && c->day <= days_in_month(c->year, c->month) && c->hour <= 23 &&
           c->minute <= 59 && c->second <= 59;
}

/* 1 to 9 digits behind a dot; what is below a microsecond is cut. */
static bool read_fraction(const char **s, int *ret_micro)
{
    *ret_micro = 0;
    if (!read_char(s, '.')) {
        return true;
    }
    int digits = 0;
    int scale = 100000;
    for (int digit; digits < 9 && read_digits(s, 1, &digit); digits++) {
        *ret_micro += digit * scale;
        scale /= 10;
    }
    return digits > 0;
}

static bool read_offset(const char **s, int *ret_seconds)
{
    if (read_char(s, 'Z')) {
        *ret_seconds = 0;
        return true;
    }
    int sign = **s == '-' ? -1 : 1;
    int hours;
    int minutes;
    if (!(read_char(s, '+') || read_char(s, '-')) || !read_digits(s, 2, &hours) ||
        !read_char(s, ':') || !read_digits(s, 2, &minutes) || hours > 23 || minutes > 59) {
        return false;
    }
    *ret_seconds = sign * (hours * 3600 + minutes * 60);
    return true;
}

_Bool time_parse_rfc3339(const char *s, int64_t *ret_wall_us)
{
    struct civil c = {0};
    int offset;
    if (s == NULL || !read_date_and_time(&s, &c) || !read_fraction(&s, &c.micro) ||
        !read_offset(&s, &offset) || *s != '\0') {
        return false;
    }
    int64_t seconds = days_from_civil(c.year, c.month, c.day) * S_PER_DAY + (int64_t)c.hour * 3600 +
                      c.minute * 60 + c.second - offset;
    *ret_wall_us = seconds * US_PER_S + c.micro;
    return true;
}
