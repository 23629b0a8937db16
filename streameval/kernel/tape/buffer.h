/* se_buffer: a queue of items in one array; live items move to the front when the end is reached. storing.pyx owns seven. */

#ifndef STREAMEVAL_BUFFER_H
#define STREAMEVAL_BUFFER_H

#include "platform.h"

typedef struct {
    char *items;
    ptrdiff_t size; /* of an item in bytes */
    ptrdiff_t first, last, room;
} se_buffer;

static void se_buffer_free(se_buffer *buffer) {
    free(buffer->items);
    buffer->items = NULL;
    buffer->first = buffer->last = buffer->room = 0;
}

static int se_buffer_resize(se_buffer *buffer, ptrdiff_t room) {
    char *items = (char *)realloc(buffer->items, (size_t)(room * buffer->size));
    if (!items) return 0;
    buffer->items = items;
    buffer->room = room;
    return 1;
}

/* Make room for `more` items after the last; shrink the array if most of it is empty. 0 if memory ran out, and then live
   items are unchanged. */
SE_INLINE int se_buffer_reserve(se_buffer *buffer, ptrdiff_t more) {
    if (buffer->last + more <= buffer->room) return 1;
    const ptrdiff_t live = buffer->last - buffer->first, needed = live + more, room = needed + needed / 2 + 64;
    if (3 * needed > 2 * buffer->room && !se_buffer_resize(buffer, room)) return 0;
    memmove(buffer->items, buffer->items + buffer->first * buffer->size, (size_t)(live * buffer->size));
    buffer->first = 0;
    buffer->last = live;
    return buffer->room <= 3 * room || se_buffer_resize(buffer, room);
}

/* Write `count` items of `size` bytes at a position with room; `items` may be in the same buffer. Floats of four bytes are
   widened if the buffer holds doubles. */
SE_INLINE void se_buffer_put(se_buffer *buffer, ptrdiff_t at, const void *items, ptrdiff_t size, ptrdiff_t count) {
    char *to = buffer->items + at * buffer->size;
    if (size == buffer->size && count) memmove(to, items, (size_t)(count * size));
    for (ptrdiff_t i = 0; size < buffer->size && i < count; i++) ((double *)to)[i] = ((const float *)items)[i];
}

/* Write the same item `count` times. */
static void se_buffer_fill(se_buffer *buffer, ptrdiff_t at, const void *item, ptrdiff_t count) {
    for (; count; count--) se_buffer_put(buffer, at++, item, buffer->size, 1);
}

/* Copy the live items from `start` to before `stop`. */
static void se_buffer_get(const se_buffer *buffer, ptrdiff_t start, ptrdiff_t stop, void *to) {
    if (start < stop)
        memcpy(to, buffer->items + (buffer->first + start) * buffer->size, (size_t)((stop - start) * buffer->size));
}

/* Convert floats of four bytes to doubles. 0 if memory ran out. */
static int se_buffer_widen(se_buffer *buffer) {
    se_buffer wide = {NULL, sizeof(double), 0, 0, 0};
    const ptrdiff_t live = buffer->last - buffer->first;
    if (!se_buffer_resize(&wide, buffer->room + 1)) return 0;
    if (live) se_buffer_put(&wide, 0, buffer->items + buffer->first * buffer->size, buffer->size, live);
    wide.last = live;
    se_buffer_free(buffer);
    *buffer = wide;
    return 1;
}

#endif
