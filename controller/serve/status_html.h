/* SPDX-License-Identifier: Apache-2.0 */
/* status_html.h: what the parts of the page /status share.  Private to status_html*.c. */
#ifndef TRIMTAB_SERVE_STATUS_HTML_H
#define TRIMTAB_SERVE_STATUS_HTML_H

#include "controller/status/status.h"

/* Appends a text from outside, escaped. */
void status_html_text(struct str_buf *b, const char *s);
/* The same; a line may end between the parts of the name. */
void status_html_name(struct str_buf *b, const char *s);

/* --- status_html_inside.c --------------------------------------------------------------------- */
/* The section about what is behind the Service inside the cluster: a picture, and the
 * same as tables. */
void status_html_inside(struct str_buf *b, const struct status_view *v,
                        const struct status_service *s);

#endif
