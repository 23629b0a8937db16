/* Items in a row, of which the oldest go and new ones come: what is live moves to the front once the end is reached. */

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

/* Room for more items behind the last, or less room where most of it is empty. What is live stays the same, also if
   memory runs out: then 0. */
SE_INLINE int se_buffer_reserve(se_buffer *buffer, ptrdiff_t more) {
    if (buffer->last + more <= buffer->room) return 1;
    const ptrdiff_t live = buffer->last - buffer->first, needed = live + more, room = needed + needed / 2 + 64;
    if (3 * needed > 2 * buffer->room && !se_buffer_resize(buffer, room)) return 0;
    memmove(buffer->items, buffer->items + buffer->first * buffer->size, (size_t)(live * buffer->size));
    buffer->first = 0;
    buffer->last = live;
    return buffer->room <= 3 * room || se_buffer_resize(buffer, room);
}

/* Put items of so many bytes at a place with room, from anywhere in the buffer too. Floats of four bytes become
   floats of eight where these are held. */
SE_INLINE void se_buffer_put(se_buffer *buffer, ptrdiff_t at, const void *items, ptrdiff_t size, ptrdiff_t count) {
    char *to = buffer->items + at * buffer->size;
    if (size == buffer->size && count) memmove(to, items, (size_t)(count * size));
    for (ptrdiff_t i = 0; size < buffer->size && i < count; i++) ((double *)to)[i] = ((const float *)items)[i];
}

/* The same item so many times. */
static void se_buffer_fill(se_buffer *buffer, ptrdiff_t at, const void *item, ptrdiff_t count) {
    for (; count; count--) se_buffer_put(buffer, at++, item, buffer->size, 1);
}

/* Copy live items, from one to before another. */
static void se_buffer_get(const se_buffer *buffer, ptrdiff_t start, ptrdiff_t stop, void *to) {
    if (start < stop)
        memcpy(to, buffer->items + (buffer->first + start) * buffer->size, (size_t)((stop - start) * buffer->size));
}

/* Floats of four bytes become floats of eight. 0 if memory ran out. */
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
