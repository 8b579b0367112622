/* SPDX-License-Identifier: Apache-2.0 */
/* sync_board.c: what a sync writes on the board (board.h), for readers of /status.
 *
 * It decides nothing and reads nothing back. */
#include "controller/sync/sync_internal.h"

const char *sync_todo_word(enum sync_do todo)
{
    switch (todo) {
    case SYNC_ENSURE:
        return "ensure";
    case SYNC_UPDATE:
        return "update";
    case SYNC_NOTHING:
    case SYNC_LOOK:
    case SYNC_UNREADABLE:
    case SYNC_FORGET:
    case SYNC_KEEP:
        return "none";
    default:
        return "delete";
    }
}

void sync_board_begin(const struct sync_item *item)
{
    bool calls = item->todo != SYNC_NOTHING && item->todo != SYNC_LOOK &&
                 item->todo != SYNC_UNREADABLE && item->todo != SYNC_FORGET &&
                 item->todo != SYNC_KEEP;

    if (item->s->board != NULL && calls && item->todo != SYNC_DELETE_IF_EXISTS) {
        board_begin(item->s->board, item->key, sync_todo_word(item->todo));
    }
}

/* Nothing is left, and nothing is wanted. */
static bool is_over(const struct sync_item *item)
{
    bool deletes = item->todo == SYNC_DELETE || item->todo == SYNC_DELETE_IF_EXISTS ||
                   item->todo == SYNC_DELETE_VANISHED;

    return item->todo == SYNC_FORGET || (deletes && item->err.code == ERR_OK);
}

void sync_board_kept(const struct sync_item *item, const char *message)
{
    if (item->s->board != NULL) {
        board_end(
            item->s->board, item->key,
            &(struct board_end){
                .state = BOARD_FAILED, .code = TT_CONFLICT, .message = message, .delay_ms = -1});
    }
}

void sync_board_end(const struct sync_batch *b, const struct sync_item *item,
                    const struct sync_outcome *outcome, int64_t delay_ms)
{
    const struct syncer *s = item->s;
    bool ok = item->err.code == ERR_OK;

    if (s->board == NULL || item->todo == SYNC_KEEP || (item->todo == SYNC_NOTHING && ok)) {
        return;
    }
    if (is_over(item)) {
        board_drop(s->board, item->key);
        return;
    }
    enum board_state failed = outcome->retry == RETRY_SLOW ? BOARD_FAILED : BOARD_RETRYING;
    enum board_state fine = item->elsewhere ? BOARD_ELSEWHERE : BOARD_READY;
    board_end(s->board, item->key,
              &(struct board_end){
                  .state = ok               ? fine
                           : outcome->waits ? BOARD_SYNCING
                                            : failed,
                  .took_ms = clock_now_ms(s->clock) - b->started_ms,
                  .calls = item->requests,
                  .code = item->err.code,
                  .message = ok ? NULL : item->err.message,
                  .nobody = ok ? NULL : sync_stands_nobody(item),
                  .delay_ms = delay_ms,
                  .part = item->todo == SYNC_UPDATE,
              });
}
