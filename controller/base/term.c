/* SPDX-License-Identifier: Apache-2.0 */
/* term.c: what a terminal can do; see the header. */
#include "controller/base/term.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/str.h"

#define COLUMNS_MAX 10000

static size_t width_of(const struct term_facts *f)
{
    uint64_t n;
    if (f->columns != NULL && str_to_u64(f->columns, &n) && n > 0 && n <= COLUMNS_MAX) {
        return (size_t)n;
    }
    return f->width > 0 ? f->width : STR_COLUMNS;
}

struct term term_decide(const struct term_facts *f)
{
    bool dumb = str_is_empty(f->term) || str_eq(f->term, "dumb");
    size_t width = width_of(f);
    if (!f->is_terminal) {
        return (struct term){0};
    }
    return (struct term){
        .color = !dumb && str_is_empty(f->no_color) && !f->wants_no_color,
        .moves = !dumb,
        .columns = width < TERM_COLUMNS_MIN ? TERM_COLUMNS_MIN : width,
    };
}

struct term term_of(int fd, bool wants_no_color)
{
    struct winsize size = {0};
    struct term_facts f = {
        .is_terminal = isatty(fd) == 1,
        .term = getenv("TERM"),
        .no_color = getenv("NO_COLOR"),
        .columns = getenv("COLUMNS"),
        .wants_no_color = wants_no_color,
    };
    if (f.is_terminal && ioctl(fd, TIOCGWINSZ, &size) == 0) {
        f.width = size.ws_col;
    }
    return term_decide(&f);
}
