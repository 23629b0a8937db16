/* What compilers call the same thing by different names. */

#ifndef STREAMEVAL_PLATFORM_H
#define STREAMEVAL_PLATFORM_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

#if defined(__GNUC__)
#define SE_INLINE static inline __attribute__((always_inline))
#define SE_APART static __attribute__((noinline))
#define SE_RARELY(truth) __builtin_expect(!!(truth), 0)
#else
#define SE_INLINE static inline
#define SE_APART static
#define SE_RARELY(truth) (truth)
#endif

/* Vectors are chosen when the package runs, where that is possible. */
#if defined(__x86_64__) && defined(__GNUC__)
#define SE_X86 1
#endif

/* Both halves of a product, one over the other. */
SE_INLINE uint64_t se_mixed(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#elif defined(_MSC_VER) && defined(_M_X64)
    uint64_t high, low = _umul128(a, b, &high);
    return low ^ high;
#else
    const uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    const uint64_t ll = al * bl, lh = al * bh, hl = ah * bl;
    const uint64_t middle = (ll >> 32) + (uint32_t)lh + (uint32_t)hl;
    return (a * b) ^ (ah * bh + (lh >> 32) + (hl >> 32) + (middle >> 32));
#endif
}

#endif
