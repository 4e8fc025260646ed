/*
 * A device in another process: maps the file of a queue that Java has created and writes numbered entries into it, as the text
 * in cqring.h says. Arguments: file, capacity, bytes per entry, first sequence, entries to write.
 */
#define _POSIX_C_SOURCE 200809L
#include "cqring.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static const time_t patience_seconds = 60;

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t number(const char *text) {
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno != 0 || *end != 0) {
        fail(text);
    }
    return value;
}

static time_t now_seconds(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) {
        fail("clock");
    }
    return now.tv_sec;
}

/* False if the ring stays full. */
static bool await_slot(struct cqring_region *region, uint64_t sequence, uint64_t capacity) {
    time_t since = 0;
    /* Edge CQ-CREDIT, device end. Partner: CompletionQueue.publishConsumed. */
    while (sequence - atomic_load_explicit(&region->consumer_sequence, memory_order_acquire) == capacity) {
        if (since == 0) {
            since = now_seconds();
        } else if (now_seconds() - since > patience_seconds) {
            return false;
        }
        sched_yield();
    }
    return true;
}

static void fill(void *slot, uint64_t stride, uint64_t n) {
    uint64_t length = cqring_length((uint32_t) n + 1, (uint32_t) ~n);
    uint64_t detail = cqring_detail(n & 0xFF, CQRING_FLAG_IMMEDIATE | CQRING_FLAG_GRH, (uint32_t) (n & 0xFFFFFF));
    if (stride == CQRING_SHORT_BYTES) {
        struct cqring_entry32 *entry = slot;
        entry->work_request_id = n * 31;
        entry->length = length;
        entry->detail = detail;
        return;
    }
    struct cqring_entry128 *entry = slot; /* the 64-byte entry is its first half */
    entry->timestamp = ~n;
    entry->work_request_id = n * 31;
    entry->length = length;
    entry->detail = detail;
    uint64_t words = (stride - CQRING_PAYLOAD_OFFSET) / 8;
    for (uint64_t i = 0; i < words; i++) {
        entry->payload[i] = n * 1000 + i;
    }
}

int main(int count, char **arguments) {
    if (count != 6) {
        fprintf(stderr, "usage: cq_device FILE CAPACITY STRIDE START ENTRIES\n");
        return 2;
    }
    uint64_t capacity = number(arguments[2]);
    uint64_t stride = number(arguments[3]);
    uint64_t start = number(arguments[4]);
    uint64_t entries = number(arguments[5]);
    unsigned lap_shift = (unsigned) __builtin_ctzll(capacity);
    int file = open(arguments[1], O_RDWR);
    if (file < 0) {
        fail(arguments[1]);
    }
    void *memory =
        mmap(NULL, CQRING_FIRST_SLOT + capacity * stride, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
        fail("mmap");
    }
    struct cqring_region *region = memory;
    for (uint64_t n = 0; n < entries; n++) {
        uint64_t sequence = start + n;
        if (!await_slot(region, sequence, capacity)) {
            fprintf(stderr, "no slot becomes free: nobody polls, at entry %llu\n", (unsigned long long) n);
            return 3;
        }
        void *slot = cqring_slot(memory, sequence, capacity, stride);
        fill(slot, stride, n);
        uint64_t header = cqring_header(
            CQRING_OP_RECV_IMM, (unsigned) (n & 1), (uint32_t) n, (uint32_t) (n * 7 & 0xFFFFFF), (unsigned) (n % 5));
        /* Edge CQ-OWN, device end. Partner: CompletionQueue.header. */
        atomic_store_explicit(
            (_Atomic uint64_t *) slot, header | cqring_phase(sequence, lap_shift), memory_order_release);
        /* Edge CQ-COUNT, device end. Partner: CompletionQueue.size. */
        atomic_store_explicit(&region->producer_sequence, sequence + 1, memory_order_release);
    }
    return 0;
}
