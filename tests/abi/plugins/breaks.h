/* SPDX-License-Identifier: Apache-2.0 */
/* breaks.h: the ways in which a plugin can be wrong, each with the name of the file that shows it.
 *
 * broken.c is built once.  run_plugin_test.py copies the module to WAY.so for each way, and the
 * module finds its way by the name under which the controller loaded it.  A missing symbol needs a
 * module of its own:  no_symbol.c. */
#ifndef TRIMTAB_TESTS_ABI_BREAKS_H
#define TRIMTAB_TESTS_ABI_BREAKS_H

/* Nothing is wrong: LATER is built with a later header, OLDER knows the mandatory members only,
 * OWN_AFFAIR manages finalizers and events of its Services itself, SMALL_BATCHES takes two Services
 * in one batch. */
#define BREAKS_NOTHING(WAY)                                                                        \
    WAY(RIGHT, "right")                                                                            \
    WAY(LATER, "later")                                                                            \
    WAY(OLDER, "older")                                                                            \
    WAY(OWN_AFFAIR, "own-affair")                                                                  \
    WAY(SMALL_BATCHES, "small-batches")

/* The descriptor: the controller does not start. */
#define BREAKS_DESCRIPTOR(WAY)                                                                     \
    WAY(WRONG_MAJOR, "wrong-major")                                                                \
    WAY(TOO_SMALL, "too-small")                                                                    \
    WAY(SIZE_ZERO, "size-zero")                                                                    \
    WAY(NAME_NULL, "name-null")                                                                    \
    WAY(NAME_OTHER, "name-other")                                                                  \
    WAY(NAME_BAD, "name-bad")                                                                      \
    WAY(VERSION_LONG, "version-long")                                                              \
    WAY(NO_OPEN, "no-open")                                                                        \
    WAY(NO_CLOSE, "no-close")                                                                      \
    WAY(NO_GET, "no-get")                                                                          \
    WAY(NO_ENSURE, "no-ensure")                                                                    \
    WAY(NO_UPDATE, "no-update")                                                                    \
    WAY(NO_DELETE, "no-delete")                                                                    \
    WAY(HALF_BATCH, "half-batch")                                                                  \
    WAY(OPTIONS_NULL, "options-null")                                                              \
    WAY(OPTION_NAMELESS, "option-nameless")                                                        \
    WAY(OPTION_TYPE, "option-type")                                                                \
    WAY(OPTION_BINARY, "option-binary")                                                            \
    WAY(OPTION_TAKEN, "option-taken")                                                              \
    WAY(METRIC_BLANK, "metric-blank")                                                              \
    WAY(DESCRIPTOR_NULL, "descriptor-null")

/* open(): the controller does not start. */
#define BREAKS_OPEN(WAY)                                                                           \
    WAY(OPEN_FAILS, "open-fails")                                                                  \
    WAY(OPEN_SILENT, "open-silent")                                                                \
    WAY(OPEN_GARBAGE, "open-garbage")                                                              \
    WAY(OPEN_LONG_MESSAGE, "open-long-message")

/* Results: the Service gets an event, the controller continues.  EVENT_LONG loses only its event:
 * the Service gets its address. */
#define BREAKS_RESULT(WAY)                                                                         \
    WAY(CODE_GARBAGE, "code-garbage")                                                              \
    WAY(CODE_NEGATIVE, "code-negative")                                                            \
    WAY(CODE_UNDECLARED, "code-undeclared")                                                        \
    WAY(MESSAGE_LONG, "message-long")                                                              \
    WAY(MESSAGE_BINARY, "message-binary")                                                          \
    WAY(FAIL_SILENT, "fail-silent")                                                                \
    WAY(INGRESS_NONE, "ingress-none")                                                              \
    WAY(INGRESS_EMPTY, "ingress-empty")                                                            \
    WAY(INGRESS_LONG, "ingress-long")                                                              \
    WAY(INGRESS_MODE, "ingress-mode")                                                              \
    WAY(INGRESS_MANY, "ingress-many")                                                              \
    WAY(INGRESS_WORD, "ingress-word")                                                              \
    WAY(CONDITION_WORD, "condition-word")                                                          \
    WAY(REFUSED_SPEC, "refused-spec")                                                              \
    WAY(RESULT_MISSING, "result-missing")                                                          \
    WAY(EVENT_LONG, "event-long")

/* Ends of the process in ensure(): the last line names provider, call and Service.  CALL_HANGS
 * never comes back. */
#define BREAKS_CRASH(WAY)                                                                          \
    WAY(CRASH_SEGV, "crash-segv")                                                                  \
    WAY(CRASH_STACK, "crash-stack")                                                                \
    WAY(CRASH_BUS, "crash-bus")                                                                    \
    WAY(CRASH_FPE, "crash-fpe")                                                                    \
    WAY(CRASH_ABORT, "crash-abort")                                                                \
    WAY(CRASH_EXIT, "crash-exit")                                                                  \
    WAY(CALL_HANGS, "call-hangs")

/* explain(): the command says what is wrong.  Right are EXPLAIN_ROWS, with a row that is longer and
 * one of a section that this host does not know, and EXPLAIN_TEXT, a plugin of 1.3. */
#define BREAKS_EXPLAIN(WAY)                                                                        \
    WAY(EXPLAIN_ROWS, "explain-rows")                                                              \
    WAY(EXPLAIN_TEXT, "explain-text")                                                              \
    WAY(EXPLAIN_BINARY, "explain-binary")                                                          \
    WAY(EXPLAIN_SMALL, "explain-small")                                                            \
    WAY(EXPLAIN_MANY, "explain-many")

#define BREAKS(WAY)                                                                                \
    BREAKS_NOTHING(WAY)                                                                            \
    BREAKS_DESCRIPTOR(WAY)                                                                         \
    BREAKS_OPEN(WAY)                                                                               \
    BREAKS_RESULT(WAY)                                                                             \
    BREAKS_CRASH(WAY)                                                                              \
    BREAKS_EXPLAIN(WAY)

#endif
