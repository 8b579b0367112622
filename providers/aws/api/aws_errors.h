/* SPDX-License-Identifier: Apache-2.0 */
/* aws_errors.h: what AWS' refusals mean for us: retry, renew, give up, and with which code
 * (docs/spec/aws.md 2.8, 2.9, 3.3).
 *
 * Codes are compared exactly.  An answer without a code (HTML of a proxy, nothing at all) is judged
 * by its status alone.  Pure; aws_error_code() stands in aws_call.h. */
#ifndef TRIMTAB_AWS_ERRORS_H
#define TRIMTAB_AWS_ERRORS_H

#include "providers/aws/api/aws_call.h"

/* Fills *err from an answer that is no success: code, status, reason (AWS' code), "CODE: AWS' text
 * (request ID)".  `root` is its body, NULL when that was no XML.  Returns the code. */
int aws_error_of_answer(enum aws_api api, const char *action, int status,
                        const struct aws_node *root, struct err *err);
/* The element Error of a body, wherever it is; NULL: it is no refusal. */
const struct aws_node *aws_error_find(const struct aws_node *root);
/* The same request may be sent again (2.9). */
bool aws_error_is_retried(int status, const char *code);
/* Too many requests: counts for the delay across requests (2.10). */
bool aws_error_is_throttle(const char *code);
/* A code for a wrong request time (2.8); it may have other causes. */
bool aws_error_is_of_time(const char *code);

#endif
