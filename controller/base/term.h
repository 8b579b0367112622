/* SPDX-License-Identifier: Apache-2.0 */
/* term.h: what a terminal can do, decided in one place for every text of every command: colour,
 * moves of the cursor, width.
 *
 * Only a terminal gets any of these.  TERM=dumb, or no TERM, means a terminal that shows
 * bytes and nothing else. */
#ifndef TRIMTAB_CONTROLLER_TERM_H
#define TRIMTAB_CONTROLLER_TERM_H

#include <stdbool.h>
#include <stddef.h>

struct term {
    bool color; /* escape sequences for colours may be written */
    bool moves; /* so may those that go back in the line or erase it: progress */
    /* for str_buf.columns: width of the terminal, at least TERM_COLUMNS_MIN; 0: not a terminal */
    size_t columns;
};
#define TERM_COLUMNS_MIN ((size_t)40)

/* Where it is decided from.  Texts may be NULL: the variable is not set. */
struct term_facts {
    bool is_terminal;
    const char *term;     /* $TERM */
    const char *no_color; /* $NO_COLOR: any text but "" switches colour off */
    const char *columns;  /* $COLUMNS: a number counts before the terminal's own width */
    size_t width;         /* as the terminal says; 0: it does not */
    bool wants_no_color;  /* --no-color */
};
/* Pure. */
struct term term_decide(const struct term_facts *facts);
/* The same for a file descriptor, with the process's environment. */
struct term term_of(int fd, bool wants_no_color);

#endif
