/* SPDX-License-Identifier: Apache-2.0 */
/* options_value.c: one value of a flag: from text to its type, with the errors of Go's strconv and
 * time packages. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "controller/options/options.h"

static char *go_quoted(struct arena *a, const char *text)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;

    str_append_go_quoted(&b, text);
    return str_buf_to_arena(&b, a);
}

static int read_bool(struct arena *a, const char *text, bool *out, const char **ret,
                     struct err *err)
{
    bool v = false;

    if (!str_to_go_bool(text, &v)) {
        return err_set(err, ERR_INVALID, "strconv.ParseBool: parsing %s: invalid syntax",
                       go_quoted(a, text));
    }
    if (out != NULL) {
        *out = v;
    }
    *ret = v ? "true" : "false";
    return ERR_OK;
}

static int read_int(struct arena *a, const char *text, int64_t *out, const char **ret,
                    struct err *err)
{
    const char *digits = text[0] == '-' || text[0] == '+' ? text + 1 : text;
    char *end = NULL;

    errno = 0;
    long long v = strtoll(digits[0] >= '0' && digits[0] <= '9' ? text : "", &end, 0);
    if (end == NULL || *end != '\0' || digits[0] < '0' || digits[0] > '9') {
        return err_set(err, ERR_INVALID, "strconv.ParseInt: parsing %s: invalid syntax",
                       go_quoted(a, text));
    }
    if (errno == ERANGE || v > INT32_MAX || v < INT32_MIN) {
        return err_set(err, ERR_INVALID, "strconv.ParseInt: parsing %s: value out of range",
                       go_quoted(a, text));
    }
    if (out != NULL) {
        *out = v;
    }
    *ret = arena_printf(a, "%lld", v);
    return ERR_OK;
}

static int read_float(struct arena *a, const char *text, double *out, const char **ret,
                      struct err *err)
{
    char *end = NULL;
    double v = strtod(text, &end);

    if (*text == '\0' || strspn(text, "+-.0123456789eE") != strlen(text) || *end != '\0' ||
        !isfinite(v)) {
        return err_set(err, ERR_INVALID, "strconv.ParseFloat: parsing %s: invalid syntax",
                       go_quoted(a, text));
    }
    if (out != NULL) {
        *out = v;
    }
    *ret = arena_printf(a, "%g", v);
    return ERR_OK;
}

static int read_duration(struct arena *a, const char *text, int64_t *out, const char **ret,
                         struct err *err)
{
    int64_t ns = 0;
    char canonical[40];

    if (duration_parse(text, &ns, err) != ERR_OK) {
        return ERR_INVALID;
    }
    if (out != NULL) {
        *out = ns / 1000000;
    }
    duration_format(ns, canonical);
    *ret = arena_strdup(a, canonical);
    return ERR_OK;
}

static void list_append(struct arena *a, const char *text, bool split, bool first,
                        struct option_list *out)
{
    size_t n_new = 1;
    char **parts = NULL;

    if (split) {
        parts = str_split(a, text, ',', &n_new);
        n_new = text[0] == '\0' ? 0 : n_new;
    }
    size_t n_old = first ? 0 : out->n;
    const char **items = ARENA_ARRAY(a, const char *, n_old + n_new);
    for (size_t i = 0; i < n_old; i++) {
        items[i] = out->items[i];
    }
    for (size_t i = 0; i < n_new; i++) {
        items[n_old + i] = split ? parts[i] : arena_strdup(a, text);
    }
    *out = (struct option_list){.items = items, .n = n_old + n_new};
}

static int read_version(struct arena *a, const char *text, const char **out, const char **ret,
                        struct err *err)
{
    bool v = false;

    if (str_to_go_bool(text, &v)) {
        *ret = v ? "true" : "false";
    } else if (strcmp(text, "raw") == 0 || (text[0] == 'v' && text[1] >= '0' && text[1] <= '9')) {
        *ret = arena_strdup(a, text);
    } else {
        return err_set(err, ERR_INVALID, "strconv.ParseBool: parsing %s: invalid syntax",
                       go_quoted(a, text));
    }
    if (out != NULL) {
        *out = *ret;
    }
    return ERR_OK;
}

int option_read(struct arena *a, enum option_type type, const char *text, bool first, void *out,
                const char **ret_text, struct err *err)
{
    struct option_list scratch = {0};

    switch (type) {
    case OPTION_BOOL:
        return read_bool(a, text, out, ret_text, err);
    case OPTION_INT:
        return read_int(a, text, out, ret_text, err);
    case OPTION_FLOAT:
        return read_float(a, text, out, ret_text, err);
    case OPTION_DURATION:
        return read_duration(a, text, out, ret_text, err);
    case OPTION_VERSION:
        return read_version(a, text, out, ret_text, err);
    case OPTION_LIST:
    case OPTION_STRINGS:
        list_append(a, text, type == OPTION_LIST, first, out == NULL ? &scratch : out);
        *ret_text = arena_strdup(a, text);
        return ERR_OK;
    case OPTION_STRING:
    case OPTION_GATES:
        *ret_text = arena_strdup(a, text);
        if (out != NULL) {
            *(const char **)out = *ret_text;
        }
        return ERR_OK;
    }
    return err_set(err, ERR_BUG, "option of unknown type %d", (int)type);
}
