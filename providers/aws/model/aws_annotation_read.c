/* SPDX-License-Identifier: Apache-2.0 */
/* aws_annotation_read.c: values of annotations: text, lists, numbers, booleans.
 *
 * Numbers and booleans are Go's (strconv), because upstream's users write what it takes; numbers
 * that do not fit 32 bits and negative ones are refused, where upstream would have cut or sent them
 * (docs/spec/aws.md 8.1, 13 row 39, 15 row 6).  Part of aws_annotations.h.  Pure. */
#include "providers/aws/model/aws_annotations.h"

#include <stdio.h>

#include "common/base/str.h"
#include "common/lb/service_rules.h"

#define KEY_MAX 128

const char *aws_annotation(const struct tt_service *s, const char *name)
{
    char key[KEY_MAX];
    int n = snprintf(key, sizeof(key), AWS_ANNOTATION "%s", name);
    return n > 0 && (size_t)n < sizeof(key) ? svc_annotation(s, key) : NULL;
}

const char *aws_annotation_filled(const struct tt_service *s, const char *name)
{
    const char *value = aws_annotation(s, name);
    return str_is_empty(value) ? NULL : value;
}

struct aws_texts aws_pieces(struct arena *a, const char *text, bool keep_blank)
{
    size_t n;
    size_t used = 0;
    char **items = str_split(a, text, ',', &n);
    for (size_t i = 0; i < n; i++) {
        char *piece = str_trim_unicode(a, items[i]);
        if (keep_blank || piece[0] != '\0') {
            items[used++] = piece;
        }
    }
    return (struct aws_texts){.items = (const char *const *)items, .n = used};
}

bool aws_number(const char *text, int64_t *ret)
{
    return str_to_i64(text, ret);
}

int aws_annotation_refuse(const struct tt_service *s, const char *name, const char *want,
                          struct err *err)
{
    return err_set(err, ERR_INVALID, "annotation " AWS_ANNOTATION "%s: \"%s\": want %s", name,
                   str_nonnull(aws_annotation(s, name)), want);
}

int aws_annotation_i32(const struct tt_service *s, const char *name, int32_t min, int32_t *ret,
                       struct err *err)
{
    const char *value = aws_annotation(s, name);
    int64_t n;
    if (value == NULL) {
        return ERR_OK;
    }
    if (!aws_number(value, &n) || n < min || n > INT32_MAX) {
        char want[64];
        (void)snprintf(want, sizeof(want), "a whole number of %d or more", (int)min);
        return aws_annotation_refuse(s, name, want, err);
    }
    *ret = (int32_t)n;
    return ERR_OK;
}

int aws_annotation_bool(const struct tt_service *s, const char *name, bool *ret, struct err *err)
{
    const char *value = aws_annotation_filled(s, name);
    if (value == NULL || str_to_go_bool(value, ret)) {
        return ERR_OK;
    }
    return aws_annotation_refuse(s, name, "true or false", err);
}
