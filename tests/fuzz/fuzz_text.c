/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_text.c: the small readers of common/base: durations, times, addresses, networks, base64,
 * quoting, globs.
 *
 * What holds for every input: what is printed reads back as the same value. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/ip.h"
#include "common/base/log.h"
#include "common/base/str.h"
#include "common/data/json.h"

static void check_times(const char *s)
{
    int64_t value;
    int64_t again = 0;
    char text[40];
    if (duration_parse(s, &value, NULL) == ERR_OK) {
        duration_format(value, text);
        FUZZ_CHECK(duration_parse(text, &again, NULL) == ERR_OK && again == value);
    }
    if (time_parse_rfc3339(s, &value)) {
        time_format_micro(value, text);
        FUZZ_CHECK(time_parse_rfc3339(text, &again));
        /* an offset may lead out of the years 0000 to 9999, where printing clamps */
        FUZZ_CHECK(again == value || strncmp(text, "0000-01-01", 10) == 0 ||
                   strncmp(text, "9999-12-31", 10) == 0);
    }
}

static void check_addresses(const char *s)
{
    struct ip_addr ip;
    struct ip_addr ip_again;
    struct ip_net net;
    struct ip_net net_again;
    char text[IP_TEXT_MAX];
    if (ip_parse(s, &ip)) {
        FUZZ_CHECK(ip_parse_sloppy(s, &ip_again) && ip_eq(&ip, &ip_again));
    }
    if (ip_parse_sloppy(s, &ip)) {
        ip_format(&ip, text);
        FUZZ_CHECK(ip_parse(text, &ip_again) && ip_eq(&ip, &ip_again));
    }
    if (ip_net_parse_sloppy(s, &net)) {
        ip_net_format(&net, text);
        FUZZ_CHECK(ip_net_parse(text, &net_again) && ip_net_eq(&net, &net_again));
        struct ip_addr last = ip_net_last(&net);
        FUZZ_CHECK(ip_net_contains(&net, &last) && ip_net_contains(&net, &net.addr));
        FUZZ_CHECK(ip_net_nth(&net, 0, &ip) && ip_eq(&ip, &net.addr));
    }
}

static void check_encodings(struct arena *a, const char *s, size_t n)
{
    unsigned char *bytes;
    size_t len;
    for (int url = 0; url < 2; url++) {
        const char *text = str_base64_encode(a, s, n, url);
        FUZZ_CHECK(str_base64_decode(a, text, url, &bytes, &len) && len == n &&
                   memcmp(bytes, s, n) == 0);
        if (str_base64_decode(a, s, url, &bytes, &len)) {
            FUZZ_CHECK(len <= n);
        }
    }
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    struct json_object *o = NULL;
    str_append_json_quoted(&b, s);
    FUZZ_CHECK(json_parse_arena(a, b.data, b.len, NULL, &o, NULL) == ERR_OK);
    FUZZ_CHECK(!str_is_utf8(s, n) || strcmp(json_object_get_string(o), s) == 0);
    str_buf_reset(&b);
    str_append_go_quoted(&b, s);
    FUZZ_CHECK(str_is_utf8(b.data, b.len) && strpbrk(b.data, "\n\r\t\x7f") == NULL);
}

static void check_words(struct arena *a, const char *s, size_t n)
{
    struct err err = ERR_INIT;
    err_set(&err, ERR_INVALID, "%s", s);
    FUZZ_CHECK(err.message[0] != '\0' && str_is_utf8(err.message, strlen(err.message)));
    size_t items;
    char **split = str_split(a, s, ',', &items);
    FUZZ_CHECK(strcmp(str_join(a, (const char *const *)split, items, ","), s) == 0);
    FUZZ_CHECK(strlen(str_trim_unicode(a, s)) <= n && strlen(str_trim(a, s)) <= n);
    FUZZ_CHECK(str_glob("*", s));
    FUZZ_CHECK(str_distance(s, s) == 0);
    (void)str_glob(s, s);       /* `?` and `*` stand for themselves here, too */
    (void)log_vmodule_valid(s); /* only must not crash */
}

FUZZ_TARGET(text, const uint8_t *data, size_t size)
{
    if (size > 2048) {
        return 0;
    }
    struct arena *a = arena_new();
    const char *s = arena_strndup(a, (const char *)data, size);
    size_t n = s != NULL ? strlen(s) : 0;
    if (s != NULL) {
        check_times(s);
        check_addresses(s);
        check_encodings(a, s, n);
        check_words(a, s, n);
    }
    arena_free(a);
    return 0;
}
