/* SPDX-License-Identifier: Apache-2.0 */
/* azure_text.c: numbers and switches of annotations (azure_text.h).  Pure. */
#include "providers/azure/model/azure_text.h"
#include "common/base/str.h"

bool azure_text_i32(struct arena *a, const char *s, int32_t *ret)
{
    const char *text = str_trim_unicode(a, s);
    int64_t n;
    if (text[0] == '+' && text[1] >= '0' && text[1] <= '9') {
        text++;
    }
    if (!str_to_i64(text, &n) || n < INT32_MIN || n > INT32_MAX) {
        return false;
    }
    *ret = (int32_t)n;
    return true;
}

bool azure_text_true(const char *s)
{
    return s != NULL && str_eq_nocase(s, "true");
}
