/* Differences of compilers and processors: inlining, prefetching, vectors, 128-bit products. All headers include this. */

#ifndef STREAMEVAL_PLATFORM_H
#define STREAMEVAL_PLATFORM_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Sleep 0.1 ms without running Python code. Only waits of `fork` need this, and Windows has no `fork`. */
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

/* Vector instructions are chosen when the package runs, if the compiler can do that. */
#if defined(__x86_64__) && defined(__GNUC__)
#define SE_X86 1
#define SE_AVX2 __attribute__((target("avx2")))
static inline int se_has_avx2(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") != 0;
}
/* Not without VBMI: processors that have AVX-512 but no VBMI lower their clock for AVX-512. */
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

/* The upper half of a product XOR its lower half; for hashing. */
SE_INLINE uint64_t se_mixed(uint64_t a, uint64_t b) {
    uint64_t high;
    const uint64_t low = se_times(a, b, 0, &high);
    return low ^ high;
}

#endif
