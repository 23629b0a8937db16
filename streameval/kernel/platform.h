/* What compilers call the same thing by different names. */

#ifndef STREAMEVAL_PLATFORM_H
#define STREAMEVAL_PLATFORM_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A tenth of a millisecond, in which no code of Python runs. Windows has no forks, for which alone something waits so. */
#if defined(_WIN32)
static inline void se_pause(void) {}
#else
#include <unistd.h>
static inline void se_pause(void) { usleep(100); }
#endif

#if defined(__GNUC__)
#define SE_INLINE static inline __attribute__((always_inline))
#define SE_APART static __attribute__((noinline))
#define SE_RARELY(truth) __builtin_expect(!!(truth), 0)
#define SE_FETCH(memory, writes) __builtin_prefetch(memory, writes)
#else
#define SE_INLINE static inline
#define SE_APART static
#define SE_RARELY(truth) (truth)
#define SE_FETCH(memory, writes) (void)(memory)
#endif

/* Vectors are chosen when the package runs, where that is possible. */
#if defined(__x86_64__) && defined(__GNUC__)
#define SE_X86 1
#define SE_AVX2 __attribute__((target("avx2")))
static inline int se_has_avx2(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") != 0;
}
/* Processors that have AVX-512 without VBMI lower their clock for it. */
static inline int se_has_avx512(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vpopcntdq");
}
#else
#define SE_AVX2
static inline int se_has_avx2(void) { return 0; }
static inline int se_has_avx512(void) { return 0; }
#endif

/* a * b + c, which is below 2**128; its upper half goes to `high`. */
SE_INLINE uint64_t se_times(uint64_t a, uint64_t b, uint64_t c, uint64_t *high) {
#if defined(__SIZEOF_INT128__)
    const unsigned __int128 sum = (unsigned __int128)a * b + c;
    *high = (uint64_t)(sum >> 64);
    return (uint64_t)sum;
#else
    const uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    const uint64_t low = al * bl, m1 = ah * bl + (low >> 32), m2 = al * bh + (uint32_t)m1;
    const uint64_t product = m2 << 32 | (uint32_t)low;
    *high = ah * bh + (m1 >> 32) + (m2 >> 32) + (product + c < c);
    return product + c;
#endif
}

/* Both halves of a product, one over the other. */
SE_INLINE uint64_t se_mixed(uint64_t a, uint64_t b) {
    uint64_t high;
    const uint64_t low = se_times(a, b, 0, &high);
    return low ^ high;
}

#endif
